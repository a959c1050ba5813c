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

/// A tile buffer as a buffer: one dimension for each of `axes`, outermost first, indexed from the start of the block. Elements that
/// differ in the last axis alone lie side by side. In panels, `panel` elements of the last axis stand together, and the panels
/// one after the other: the buffer has dimensions [last / panel, …, panel].
struct TileBuffer {
  ir::Value* buffer = nullptr;
  ir::AxisList axes;
  int64_t panel = 0;  ///< a power of two; 0: the last axis in one piece
  /// So many neighbours along the last axis make a group; in panels along the one before it:
  /// [last / panel, …, before / group, panel * group].
  int64_t group = 1;
  /// How far from the start of the block along each axis the tile begins, where it is a part; null: there.
  std::vector<ir::Value*> offsets;
  ir::Value* place = nullptr;  ///< of the one panel that the tile is brought to
};

/// The facts of a block, as scalars.
struct BlockFacts {
  ir::Value* start = nullptr;
  ir::Value* size = nullptr;
  ir::Value* index = nullptr;
  ir::Value* next =
      nullptr;  ///< where its loop's next turn starts; set of blocks with Rereads::rows()
  /// Of a cut's block: the block that is cut, where in it the block starts, and how many elements it may have.
  const ir::Value* whole = nullptr;
  ir::Value* offset = nullptr;
  int64_t most = 0;
};

/// A position inside the blocks of some axes, counted from their starts.
using Position = std::unordered_map<ir::AxisId, ir::Value*>;

/// The rows of a register block that may lack some: what lacks is the last one that exists once more, which nobody may see.
struct PartialRows {
  ir::Value* count = nullptr;  ///< of those that exist; null: all do
  Values numbers;              ///< of each row that of the one that it is; empty: its own

  ir::Value* Number(ir::Builder& b, int64_t row) const {
    return numbers.empty() ? b.I64(row) : numbers[static_cast<size_t>(row)];
  }
};

/// A tile whose elements stand in registers: rows by vectors, row by row; of its other axes one element.
struct RegisterTile {
  Values values;
  RegisterBlock block;
  RegisterBlock::Shape shape;
  Chunk chunk;
  PartialRows partial;
};

/// The positions of an axis that loops walk.
struct Window {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* size;  ///< hi - lo
};

/// Rebuilds a kernel's body without tiles. Reads the old body, writes the new one through `b`.
struct Expander : KernelShape {
  PassContext& context;
  ir::Module& module;
  ir::Builder b;
  ir::ValueMap scalars;                                           ///< old scalar or tensor -> new
  std::unordered_map<const ir::Value*, TileBuffer> tile_buffers;  ///< of old tile buffers
  std::unordered_map<const ir::Value*, RegisterTile> registers;   ///< of old tiles that folds make
  std::unordered_map<const ir::Value*, BlockFacts> blocks;        ///< of old blocks
  std::unordered_set<const ir::Value*> refused =
      {};  ///< buffers that lie otherwise than they are read
  std::unordered_set<const ir::Op*> unblocked = {};  ///< folds that are no register block
  Rereads rereads;                                   ///< of the old body

  ir::Value* Scalar(ir::Value* old) const;
  const BlockFacts& Facts(const ir::Op* at, ir::AxisId axis) const;
  /// The axis' valid elements.
  Window WindowOf(const ir::Op* at, ir::AxisId axis);
  ir::Type ScalarType(kdl::Scalar scalar) { return module.types().ScalarOf(scalar); }
  ir::Type TypeOf(kdl::Scalar scalar, int64_t lanes) {
    return module.types().Vector(scalar, lanes);
  }
};

// tile buffers.cpp
/// The part of the tile buffer that the tile is, where `at` brings it there or back.
TileBuffer PartOf(Expander& e, const ir::Op* at, const ir::Value* tile_buffer,
                  const ir::Value* tile);
/// The buffer of a tile buffer.
TileBuffer MakeTileBuffer(Expander& e, const ir::Value* tile_buffer);
/// Where the tile stands: the tile buffer, or part of it, that it is got from or put to; nothing: it has none.
std::optional<TileBuffer> FindTileBuffer(Expander& e, const ir::Value* tile);
TileBuffer TileBufferOf(Expander& e, const ir::Value* tile);
/// The same of a tile that is read or made in vectors along the axis: an error where its elements do not lie side by side.
TileBuffer TileBufferAlong(Expander& e, const ir::Value* tile, ir::AxisId axis);
/// Of the buffer's element at the position, or of the first one of its group.
Values FirstIndexOf(Expander& e, const TileBuffer& tile_buffer, const Position& position);
/// Whole groups of so many elements of the tile buffer's last axis, side by side; the position is that of the first element.
ir::Value* LoadGroups(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                      const Position& position, int64_t lanes);
void StoreGroups(Expander& e, ir::Value* value, const TileBuffer& tile_buffer,
                 const Position& position);
void CopyTile(Expander& e, const ir::Op* at, const TileBuffer& from, const TileBuffer& to,
              kdl::Scalar scalar);
/// The elements of a piece that begins at the position; along the tile buffer's last axis.
ir::Value* LoadChunk(Expander& e, const TileBuffer& tile_buffer, kdl::Scalar scalar,
                     const Position& position, const Chunk& chunk = {});
void StoreChunk(Expander& e, ir::Value* value, const TileBuffer& tile_buffer,
                const Position& position, const Chunk& chunk = {});
/// A scalar, or what stands at the position in the tile's tile buffer.
ir::Value* ReadAt(Expander& e, ir::Value* old, const Position& position, const Chunk& chunk = {});
/// +0 in as many lanes as there are in the type.
ir::Value* ZeroOf(Expander& e, ir::Type type);

// loops.cpp
/// Loops over the valid elements of the axes, outermost first, all carrying the same values.
Values MakeElementwiseLoop(Expander& e, const ir::Op* at, const ir::AxisList& axes,
                           Position& position, const Values& inits,
                           const std::function<Values(const Values&)>& body);
void MakeElementwiseLoop(Expander& e, const ir::Op* at, const ir::AxisList& axes,
                         Position& position, const std::function<void()>& body);
/// Over those that `window` names.
void MakeElementwiseLoop(Expander& e, const std::function<Window(ir::AxisId)>& window,
                         const ir::AxisList& axes, Position& position,
                         const std::function<void()>& body);
/// So many pieces take no loop where all are full.
inline constexpr int64_t kFewChunks = 4;
/// Loops over the window of one axis by pieces of `lanes`: full ones, then one with a mask. A few of which all are full
/// take no loop. What touches scratch only takes short axes one by one where no full piece fits.
void MakeChunks(Expander& e, ir::AxisId axis, const Window& window, int64_t lanes,
                Position& position, const std::function<void(const Chunk&)>& body, bool in_scratch);
/// Both, for what touches scratch only: the last of the axes by pieces.
void MakeChunksOf(Expander& e, const ir::Op* at, const ir::AxisList& axes, int64_t lanes,
                  Position& position, const std::function<void(const Chunk&)>& body);
/// The first `count` of `lanes` elements.
Chunk ChunkOf(Expander& e, ir::Value* count, int64_t lanes);
/// Elements of an axis, counted from its block's start.
struct Stretch {
  ir::AxisId axis;
  ir::Value* begin;
  ir::Value* end;
};
/// A loop over the full pieces of the stretch; where they end.
ir::Value* MakeFullChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                          const std::function<void(const Chunk&)>& body);
/// One piece with a mask, where the stretch, which is shorter than `lanes`, is not empty.
void MakeRestOfChunks(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Chunk&)>& body);
/// The largest multiple of `step`, a power of two, that is not above `size`.
ir::Value* RoundDown(Expander& e, ir::Value* size, int64_t step);

// access.cpp
/// A hint that the element is touched soon; it may lie outside.
void ExpandPrefetch(Expander& e, const ElementAccess& access, ir::IntentKind intent);
/// How many elements stand before the next one at which a piece of the access would be aligned.
ir::Value* AlignGap(Expander& e, const ElementAccess& access);

// elementwise loop.cpp, accumulate.cpp
/// An elementwise op on what `operand` gives for its operands, scalars and vectors.
ir::Value* ExpandInLanes(Expander& e, const ir::Op* op,
                         const std::function<ir::Value*(ir::Value*)>& operand);
void ExpandElementwiseLoop(Expander& e, const ir::Op* op);
/// The body of a elementwise loop for one piece, which reads `value` for elements of `tile`. It has no results and vectorizes.
void ExpandElementwiseLoopAt(Expander& e, const ir::Op* op, const Position& position,
                             const Chunk& chunk, const ir::Value* tile, ir::Value* value);
/// A reduction or contraction.
void ExpandFold(Expander& e, const ir::Op* op);

// combine.cpp
/// A fold or scan by a region, along an ascending chain.
void ExpandCombine(Expander& e, const ir::Op* op);

// registers.cpp
void StoreRegisters(Expander& e, const ir::Op* put);
/// The tile in registers that the elementwise loop reads; null: there is none.
const ir::Value* RegisterTileOf(const Expander& e, const ir::Op* elementwise);
/// The elementwise loop for each vector of the tile.
void ExpandElementwiseLoopOnRegisters(Expander& e, const ir::Op* elementwise,
                                      const ir::Value* tile);

// sliding_window.cpp
/// Makes the slide's tile, unless the one fold that reads it finds its elements in the window.
void ExpandSlidingWindow(Expander& e, const ir::Op* op);

// gather.cpp
void ExpandGather(Expander& e, const ir::Op* op);

// blocks.cpp
/// Of a make_block.
void NoteBlock(Expander& e, ir::Op* op);
/// How far from the start of the block of `whole` the one of `axis`, which walks it or blocks of it, starts; null: not at all. With a panel: from
/// that of the panel.
ir::Value* OffsetIn(Expander& e, const ir::Op* at, ir::AxisId axis, ir::AxisId whole,
                    int64_t panel = 0);

// split.cpp
void ExpandSplit(Expander& e, const ir::Op* op);

// control.cpp
/// All ops of an old block, to the builder's place; not the terminator.
void ExpandRegion(Expander& e, const ir::Region* region);

}  // namespace kdl::cpu
