#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"
#include "passes/analysis/rereads.h"
#include "targets/cpu/analysis/kernel_shape.h"

namespace kdl::cpu {

/// A home as a buffer: one dimension for each of `axes`, outermost first, indexed from the start of the block. Elements that
/// differ in the last axis alone lie side by side. In panels, `panel` elements of the last axis stand together, and the panels
/// one behind the other: the buffer has dimensions [last / panel, …, panel].
struct Home {
  ir::Value* buffer = nullptr;
  ir::AxisList axes;
  int64_t panel = 0;  ///< a power of two; 0: the last axis in one piece
  /// Where the panel is known: the position along the last axis at which it begins, and its place in the buffer.
  ir::Value* first = nullptr;
  ir::Value* place = nullptr;
};

/// The facts of a blk, as scalars.
struct BlkFacts {
  ir::Value* start = nullptr;
  ir::Value* size = nullptr;
  ir::Value* index = nullptr;
  ir::Value* next =
      nullptr;  ///< where its loop's next turn starts; set of blks with Rereads::rows()
};

/// A position inside the blocks of some axes, counted from their starts.
using Position = std::unordered_map<ir::AxisId, ir::Value*>;

/// Elements that are side by side: `lanes` of them, of which those exist that the mask says; no mask: all. One lane is
/// a scalar and has no mask.
struct Piece {
  int64_t lanes = 1;
  ir::Value* mask = nullptr;
  ir::Value* count = nullptr;  ///< of those that exist; set where the mask is
};

/// Of a contraction whose home one nest reads behind the loop: where the loop is long, that nest follows in its last turn each
/// part of the tile as soon as the part is finished.
struct LastTurn {
  ir::Value* is_long;
  ir::Value* index;  ///< of the loop
  ir::Value* hi;
  ir::Value* step;
  const ir::Op* epilogue;
  const ir::Value* tile;  ///< what the nest has got of the home
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
  ir::ValueMap scalars;                              ///< old scalar or tensor -> new
  std::unordered_map<const ir::Value*, Home> homes;  ///< of old homes
  std::unordered_map<const ir::Value*, Home>
      given;  ///< of old tiles that stand somewhere else just now
  std::unordered_map<const ir::Value*, BlkFacts> blks;            ///< of old blks
  std::unordered_map<const ir::Op*, LastTurn> last_turns = {};    ///< of old contractions
  std::unordered_map<const ir::Op*, ir::Value*> long_loops = {};  ///< of those with an epilogue
  std::unordered_map<ir::AxisId, Window> windows = {};            ///< where not the whole block
  std::unordered_set<const ir::Value*> refused =
      {};           ///< buffers that lie otherwise than they are read
  Rereads rereads;  ///< of the old body

  ir::Value* Scalar(ir::Value* old) const;
  const BlkFacts& Facts(const ir::Op* at, ir::AxisId axis) const;
  /// What loops over the axis walk: its valid elements, or those of them that `windows` names.
  Window WindowOf(const ir::Op* at, ir::AxisId axis);
  ir::Type ScalarType(kdl::Scalar scalar) { return module.types().ScalarOf(scalar); }
  ir::Type TypeOf(kdl::Scalar scalar, int64_t lanes) {
    return module.types().Vector(scalar, lanes);
  }
};

// homes.cpp
/// The buffer of a home.
Home MakeHome(Expander& e, const ir::Value* home);
/// Where the tile stands: the home that it is got from or put to; null: it has none.
const Home* FindHome(const Expander& e, const ir::Value* tile);
const Home& HomeOf(const Expander& e, const ir::Value* tile);
/// The same of a tile that is read or made in vectors along the axis: an error where its elements do not lie side by side.
const Home& HomeAlong(Expander& e, const ir::Value* tile, ir::AxisId axis);
void CopyTile(Expander& e, const ir::Op* at, const Home& from, const Home& to, kdl::Scalar scalar);
/// The elements of a piece that begins at the position; along the home's last axis.
ir::Value* LoadPiece(Expander& e, const Home& home, kdl::Scalar scalar, const Position& position,
                     const Piece& piece = {});
void StorePiece(Expander& e, ir::Value* value, const Home& home, const Position& position,
                const Piece& piece = {});

// loops.cpp
using Values = std::vector<ir::Value*>;
struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  int64_t step = 1;
};
/// `body(index, carried)` gives the next carried values; the results are the last ones.
Values MakeLoop(Expander& e, const LoopBounds& bounds, const Values& inits,
                const std::function<Values(ir::Value*, const Values&)>& body);
/// Loops over the valid elements of the axes, outermost first, all carrying the same values.
Values MakeNest(Expander& e, const ir::Op* at, const ir::AxisList& axes, Position& position,
                const Values& inits, const std::function<Values(const Values&)>& body);
/// So many pieces take no loop where all are full.
inline constexpr int64_t kFewPieces = 4;
/// Loops over the valid elements of one axis by pieces of `lanes`: full ones, then one with a mask. A few of which all
/// are full take no loop. What touches scratch only takes short axes one by one where no full piece fits.
void MakePieces(Expander& e, const ir::Op* at, ir::AxisId axis, int64_t lanes, Position& position,
                const std::function<void(const Piece&)>& body, bool in_scratch = false);
/// Elements of an axis, counted from its block's start.
struct Stretch {
  ir::AxisId axis;
  ir::Value* begin;
  ir::Value* end;
};
/// A loop over the full pieces of the stretch; where they end.
ir::Value* MakeFullPieces(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                          const std::function<void(const Piece&)>& body);
/// One piece with a mask, where the stretch, which is shorter than `lanes`, is not empty.
void MakeRestOfPieces(Expander& e, const Stretch& stretch, int64_t lanes, Position& position,
                      const std::function<void(const Piece&)>& body);
/// `if condition` with one result of each kind of value that `then` and `otherwise` give.
Values MakeIf(Expander& e, ir::Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise);
/// The largest multiple of `step`, a power of two, that is not above `size`.
ir::Value* RoundDown(Expander& e, ir::Value* size, int64_t step);

// access.cpp
/// The elements of a load or store with operands `index` (new values); guards, masks and `else` become checks and
/// branches. With several lanes the elements are side by side, and the indices those of the first.
struct ElementAccess {
  const ir::Op* op;
  ir::Value* tensor;
  Values index;
  ir::Value* otherwise = nullptr;
  ir::Value* mask = nullptr;
  Piece piece;
  bool past_caches = false;  ///< of a store of a full vector, which is aligned
};
ir::Value* ExpandLoad(Expander& e, const ElementAccess& access, kdl::Scalar scalar);
void ExpandStore(Expander& e, const ElementAccess& access, ir::Value* value);
void ExpandUpdate(Expander& e, const ElementAccess& access, ir::Value* value);
/// A hint that the element is touched soon; it may lie outside.
void ExpandPrefetch(Expander& e, const ElementAccess& access, ir::IntentKind intent);
/// How many elements stand before the next one at which a piece of the access would be aligned.
ir::Value* AlignGap(Expander& e, const ElementAccess& access);

/// Whether the op makes a home or says what stands in one, and computes nothing.
inline bool IsPlacing(const ir::Op* op) {
  return op->kind() == ir::OpKind::Home || op->kind() == ir::OpKind::Get ||
         op->kind() == ir::OpKind::Put || op->kind() == ir::OpKind::Move;
}

// late_pack.cpp
/// The nest that makes what is got, where it runs panel by panel inside the one contraction that reads it; else null.
const ir::Op* LatePackOf(const Expander& e, const ir::Value* tile);
bool IsLatePack(const Expander& e, const ir::Op* nest);

// epilogue.cpp
/// A nest behind a loop that runs inside the loop's last turn, for what one contraction has made.
struct Epilogue {
  const ir::Op* nest;
  const ir::Op* contraction;
  const ir::Value* tile;  ///< what the nest has got of the contraction's home
};
std::optional<Epilogue> EpilogueOf(const Expander& e, const ir::Op* loop);
/// The loop whose last turn runs the nest; null where none does.
const ir::Op* LoopOfEpilogue(const Expander& e, const ir::Op* nest);

// nest.cpp, accumulate.cpp
void ExpandNest(Expander& e, const ir::Op* op);
/// The body of a nest for one piece, which reads `value` for elements of `tile`. It has no results and vectorizes.
void ExpandNestAt(Expander& e, const ir::Op* op, const Position& position, const Piece& piece,
                  const ir::Value* tile, ir::Value* value);
/// Asks for the memory that the nest reads, which is wanted later; only where rows of it are loaded piece by piece.
void PrefetchLoads(Expander& e, const ir::Op* op);
/// Asks for the memory that the nest writes in one piece.
void PrefetchStoresAt(Expander& e, const ir::Op* op, const Position& position, const Piece& piece);
/// A reduction or contraction.
void ExpandFold(Expander& e, const ir::Op* op);

// slide.cpp
/// Makes the slide's tile, unless the one fold that reads it finds its elements in the window.
void ExpandSlide(Expander& e, const ir::Op* op);

// take.cpp
void ExpandTake(Expander& e, const ir::Op* op);

// blks.cpp
/// Of a make_blk.
void NoteBlk(Expander& e, ir::Op* op);

// control.cpp
/// All ops of an old block, to the builder's place; not the terminator.
void ExpandBlock(Expander& e, const ir::Block* block);

}  // namespace kdl::cpu
