#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/structured.h"
#include "targets/cpu/analysis/accumulators.h"
#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/analysis/rereads.h"

namespace kdl::cpu {

/// The memory of a tile buffer. It has one dimension for each of `axes`, outermost first, and is indexed from
/// the start of the block. Elements that differ only in the last axis are contiguous. With panels, `panel`
/// elements of the last axis are contiguous, and one panel follows another: the dimensions are [last / panel,
/// …, panel].
struct TileBuffer {
  ir::Value* buffer = nullptr;
  ir::AxisList axes;
  int64_t panel = 0;  ///< a power of two; 0 if there are no panels
  /// The number of adjacent elements along the last axis that form a group. With panels, groups are along the
  /// axis before the last: [last / panel, …, before / group, panel * group].
  int64_t group = 1;
  /// For a subtile, its start along each axis, counted from the start of the block; null if it starts where
  /// the block does.
  std::vector<ir::Value*> offsets;
  ir::Value* place = nullptr;  ///< the number of the panel, if the tile is in only one
};

/// The properties of a block, as scalars.
struct BlockFacts {
  ir::Value* start = nullptr;
  ir::Value* size = nullptr;
  ir::Value* index = nullptr;
  /// The start of the next iteration's block; set for blocks whose rows are read again.
  ir::Value* next = nullptr;
  /// For a block of a `split`, the original block; otherwise null.
  const ir::Value* whole = nullptr;
  /// The offset of this block in `whole`.
  ir::Value* offset = nullptr;
  /// The maximum number of elements that this block may have.
  int64_t most = 0;
};

/// A position along several axes, counted from the starts of their blocks.
using Position = std::unordered_map<ir::AxisId, ir::Value*>;

/// The rows of a register block, some of which may not exist. The last existing row is read in place of a
/// missing one, and the result for a missing row must not be used.
struct PartialRows {
  ir::Value* count = nullptr;  ///< the number of rows that exist; null if all of them do
  Values numbers;              ///< for each row, the existing row to use; if empty, each row itself

  ir::Value* Number(ir::Builder& b, int64_t row) const {
    return numbers.empty() ? b.I64(row) : numbers[static_cast<size_t>(row)];
  }
};

/// A tile in registers: rows of vectors, stored row by row. Along all axes other than those of the rows and
/// vectors, the tile has only one element.
struct RegisterTile {
  Values values;
  RegisterBlock block;
  RegisterBlock::Shape shape;
  Chunk chunk;
  PartialRows partial;
};

/// A range of positions along an axis, over which loops run.
struct Window {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* size;  ///< hi - lo
};

/// Rebuilds a kernel's body without tiles. Reads the old body and writes the new one through `b`.
struct Expander : KernelShape {
  PassContext& context;
  ir::Module& module;
  ir::Builder b;
  ir::ValueMap scalars;  ///< maps old scalars and tensors to new ones
  /// Maps old tile buffers to their memory.
  std::unordered_map<const ir::Value*, TileBuffer> tile_buffers;
  /// Maps old tiles that are results of reductions to registers.
  std::unordered_map<const ir::Value*, RegisterTile> registers;
  std::unordered_map<const ir::Value*, BlockFacts> blocks;  ///< maps old blocks to their properties
  /// Buffers for which an unsuitable layout has been reported.
  std::unordered_set<const ir::Value*> refused = {};
  /// Reductions that have been reported because they do not fit into registers.
  std::unordered_set<const ir::Op*> unblocked = {};
  Rereads rereads;  ///< the rows that the old body reads several times
  /// Ops that have performance remarks.
  std::unordered_set<const ir::Op*> noted = {};

  ir::Value* Scalar(ir::Value* old) const;
  const BlockFacts& Facts(const ir::Op* at, ir::AxisId axis) const;
  /// Returns the range of positions along the axis at which elements exist.
  Window WindowOf(const ir::Op* at, ir::AxisId axis);
  ir::Type ScalarType(kdl::Scalar scalar) { return module.types().ScalarOf(scalar); }
  ir::Type VectorType(kdl::Scalar scalar, int64_t lanes) {
    return module.types().Vector(scalar, lanes);
  }
};

// tile_buffers.cpp
/// Returns the part of `tile_buffer` that the op `at` accesses when it loads or stores the tile.
TileBuffer SubtileOf(Expander& e, const ir::Op* at, const ir::Value* tile_buffer,
                     const ir::Value* tile);
/// Allocates the memory of a tile buffer.
TileBuffer MakeTileBuffer(Expander& e, const ir::Value* tile_buffer);
/// Returns the buffer, or the part of a buffer, from which the tile is loaded or to which it is stored.
/// Returns nothing if the tile has no buffer.
std::optional<TileBuffer> FindTileBuffer(Expander& e, const ir::Value* tile);
TileBuffer TileBufferOf(Expander& e, const ir::Value* tile);
/// Returns the buffer, or the part of a buffer, of a tile that is read or written in vectors along the axis.
/// Reports an error if the tile's elements are not contiguous along that axis.
TileBuffer TileBufferAlong(Expander& e, const ir::Value* tile, ir::AxisId axis);
/// Returns the index of the element at the position, or that of the first element of its group.
Values FirstIndexOf(Expander& e, const TileBuffer& tile_buffer, const Position& position);
/// Load and store whole groups, for `lanes` adjacent elements along the last axis. The groups are contiguous,
/// and `position` is that of the first element.
ir::Value* LoadGroups(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                      const Position& position, int64_t lanes);
void StoreGroups(Expander& e, ir::Value* value, const TileBuffer& tile_buffer,
                 const Position& position);
void CopyTile(Expander& e, const ir::Op* at, const TileBuffer& from, const TileBuffer& to,
              kdl::Scalar scalar);
/// Load and store a chunk that begins at `position` and extends along the buffer's last axis.
ir::Value* LoadChunk(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                     const Position& position, const Chunk& chunk = {});
void StoreChunk(Expander& e, ir::Value* value, const TileBuffer& tile_buffer,
                const Position& position, const Chunk& chunk = {});
/// Returns a scalar, or the element of a tile at `position`.
ir::Value* ReadAt(Expander& e, ir::Value* old, const Position& position, const Chunk& chunk = {});
/// Returns +0 in all lanes of the type.
ir::Value* ZeroOf(Expander& e, ir::Type type);

// loops.cpp
/// Emits loops over the existing elements of the axes, outermost first. All loops carry the same values.
Values MakeElementwiseLoop(Expander& e, const ir::Op* at, const ir::AxisList& axes,
                           Position& position, const Values& inits,
                           const std::function<Values(const Values&)>& body);
void MakeElementwiseLoop(Expander& e, const ir::Op* at, const ir::AxisList& axes,
                         Position& position, const std::function<void()>& body);
/// Emits loops over the ranges of elements that `window` returns for the axes.
void MakeElementwiseLoop(Expander& e, const std::function<Window(ir::AxisId)>& window,
                         const ir::AxisList& axes, Position& position,
                         const std::function<void()>& body);
/// The maximum number of full chunks that are emitted without a loop.
inline constexpr int64_t kFewChunks = 4;
/// Emits a loop over the window of one axis in chunks of `lanes` elements: full chunks, and then one with a
/// mask. A few chunks that are all full need no loop. If the body accesses only scratch memory
/// (`in_scratch`), an axis that is too short for a full chunk is processed element by element.
void MakeChunks(Expander& e, ir::AxisId axis, const Window& window, int64_t lanes,
                Position& position, const std::function<void(const Chunk&)>& body, bool in_scratch);
/// Emits chunks along the last axis inside loops over the other axes, for a body that accesses only scratch
/// memory.
void MakeChunksOf(Expander& e, const ir::Op* at, const ir::AxisList& axes, int64_t lanes,
                  Position& position, const std::function<void(const Chunk&)>& body);
/// Returns a chunk of `lanes` elements of which the first `count` exist.
Chunk ChunkOf(Expander& e, ir::Value* count, int64_t lanes);
/// A range of elements of an axis, counted from the start of the axis's block.
struct Stretch {
  ir::AxisId axis;
  ir::Value* begin;
  ir::Value* end;
};
/// Emits a loop over the full chunks of the range and returns the position where they end.
ir::Value* MakeFullChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                          const std::function<void(const Chunk&)>& body);
/// Emits one chunk with a mask, unless the range is empty. The range must be shorter than `lanes`.
void MakeRestOfChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Chunk&)>& body);
/// Returns the largest multiple of `step`, a power of two, that does not exceed `size`.
ir::Value* RoundDown(Expander& e, ir::Value* size, int64_t step);

// access.cpp
/// Emits a hint that the element will be accessed soon. The element may be out of bounds.
void ExpandPrefetch(Expander& e, const ElementAccess& access, ir::IntentKind intent);
/// Emits the number of elements from the current one to the next one at which a chunk of the access is
/// aligned.
ir::Value* AlignGap(Expander& e, const ElementAccess& access);

// elementwise_loop.cpp, accumulate.cpp
/// Expands an elementwise op. `operand` returns the new value of an old operand, as a scalar or a vector.
ir::Value* ExpandInLanes(Expander& e, const ir::Op* op,
                         const std::function<ir::Value*(ir::Value*)>& operand);
void ExpandElementwiseLoop(Expander& e, const ir::Op* op);
/// Expands the body of an elementwise loop for one chunk, using `value` for the elements of `tile`. The loop
/// must have no results and must vectorize.
void ExpandElementwiseLoopAt(Expander& e, const ir::Op* op, const Position& position,
                             const Chunk& chunk, const ir::Value* tile, ir::Value* value);
/// Expands a reduction or contraction.
void ExpandFold(Expander& e, const ir::Op* op);

// combine.cpp
/// Expands a reduction or scan with a region, in sequential order.
void ExpandCombine(Expander& e, const ir::Op* op);
/// Returns the accumulators of a reduction or scan with a region after one more step. They are scalars, or
/// vectors of `lanes` elements.
Values StepOnce(Expander& e, const ir::Op* op, const Values& accumulators, const Values& terms,
                int64_t lanes);

// registers.cpp
void StoreRegisters(Expander& e, const ir::Op* put);
/// Returns the tile in registers that the elementwise loop reads, or null if there is none.
const ir::Value* RegisterTileOf(const Expander& e, const ir::Op* elementwise);
/// Expands the elementwise loop, once for each vector of the tile.
void ExpandElementwiseLoopOnRegisters(Expander& e, const ir::Op* elementwise,
                                      const ir::Value* tile);

// sliding_window.cpp
/// Makes the tile of a `sliding_window`, unless its only reader is a reduction that reads the elements from
/// the window.
void ExpandSlidingWindow(Expander& e, const ir::Op* op);

// gather.cpp
void ExpandGather(Expander& e, const ir::Op* op);

// block_facts.cpp
/// Records the properties of the block that a `make_block` creates.
void NoteBlock(Expander& e, ir::Op* op);
/// Returns the offset of the block of `axis` in the block of `whole` that contains it; null if both start at
/// the same place. If `panel` is not 0, returns the offset from the start of the panel.
ir::Value* OffsetIn(Expander& e, const ir::Op* at, ir::AxisId axis, ir::AxisId whole,
                    int64_t panel = 0);

// split.cpp
void ExpandSplit(Expander& e, const ir::Op* op);

// control.cpp
/// Expands an op on scalars that is not in an elementwise loop.
void ExpandScalarOp(Expander& e, ir::Op* op);
/// Expands all ops of an old region except its terminator, at the builder's position.
void ExpandRegion(Expander& e, const ir::Region* region);

}  // namespace kdl::cpu
