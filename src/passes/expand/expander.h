#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/views.h"

namespace kdl::passes {

/// Where a tile lives: scratch with one dimension for each axis, ascending, indexed from the start of the block.
struct Home {
  ir::Value* buffer = nullptr;
  ir::AxisList axes;
};

/// The facts of a blk, as scalars.
struct BlkFacts {
  ir::Value* start = nullptr;
  ir::Value* size = nullptr;
  ir::Value* index = nullptr;
};

/// A position inside the blocks of some axes, counted from their starts.
using Position = std::unordered_map<ir::AxisId, ir::Value*>;

/// Rebuilds a kernel's body without tiles. Reads the old body, writes the new one through `b`.
struct Expander {
  ir::Module& module;
  ir::Function& function;
  ir::Builder b;
  ir::ValueMap scalars;                                 ///< old scalar or tensor -> new
  std::unordered_map<const ir::Value*, Home> homes;     ///< of old tiles
  std::unordered_map<const ir::Value*, BlkFacts> blks;  ///< of old blks

  ir::Value* Scalar(ir::Value* old) const;
  const BlkFacts& Facts(const ir::Op* at, ir::AxisId axis) const;
  ir::Type ScalarType(kdl::Scalar scalar) { return module.types().ScalarOf(scalar); }
};

// homes.cpp
/// A new buffer for a tile of this type.
Home NewHome(Expander& e, ir::Type tile);
/// The home of result `i` of `op`, made here unless what the tile will be copied into can take it at once.
Home ResultHome(Expander& e, const ir::Op* op, size_t i);
/// Whether `op` is the last that looks at `operand`, so that its result may stand in the same place.
bool DiesAt(const ir::Value* operand, const ir::Op* op);
void CopyTile(Expander& e, const ir::Op* at, const Home& from, const Home& to, kdl::Scalar scalar);
ir::Value* LoadElement(Expander& e, const Home& home, kdl::Scalar scalar, const Position& position);
void StoreElement(Expander& e, ir::Value* value, const Home& home, const Position& position);

// loops.cpp
using Values = std::vector<ir::Value*>;
/// `body(index, carried)` gives the next carried values; the results are the last ones.
Values MakeLoop(Expander& e, ir::Value* hi, const Values& inits,
                const std::function<Values(ir::Value*, const Values&)>& body);
/// Loops over the valid elements of the axes, outermost first, all carrying the same values.
Values MakeNest(Expander& e, const ir::Op* at, const ir::AxisList& axes, Position& position,
                const Values& inits, const std::function<Values(const Values&)>& body);
/// `if condition` with one result of each kind of value that `then` and `otherwise` give.
Values MakeIf(Expander& e, ir::Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise);

// access.cpp
/// The element of a load or store with scalar operands `index` (new values); guards, masks and `else` become checks and
/// branches.
struct ElementAccess {
  const ir::Op* op;
  ir::Value* tensor;
  Values index;
  ir::Value* otherwise = nullptr;
  ir::Value* mask = nullptr;
};
ir::Value* ExpandLoad(Expander& e, const ElementAccess& access, kdl::Scalar scalar);
void ExpandStore(Expander& e, const ElementAccess& access, ir::Value* value);

// nest.cpp, reduce.cpp, contract.cpp
void ExpandNest(Expander& e, const ir::Op* op);
void ExpandReduce(Expander& e, const ir::Op* op);
void ExpandContract(Expander& e, const ir::Op* op);

// control.cpp
/// All ops of an old block, to the builder's place; not the terminator.
void ExpandBlock(Expander& e, const ir::Block* block);

/// The element of an old tile or scalar.
ir::Value* ElementOf(Expander& e, ir::Value* old, const Position& position);

}  // namespace kdl::passes
