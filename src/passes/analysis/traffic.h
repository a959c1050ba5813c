#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// A push, a pop, or a loop or branch that contains pushes or pops. Other loops and branches are omitted.
struct TrafficItem {
  enum class Kind : uint8_t { Push, Pop, Loop, Branch };
  Kind kind = Kind::Push;
  const ir::Op* op = nullptr;
  const ir::Value* pipe = nullptr;  ///< the pipe of a push or pop
  std::vector<TrafficItem> body;   ///< the items of a loop, or of a branch if its condition is true
  std::vector<TrafficItem> other;  ///< the items of a branch if its condition is false
};
using Traffic = std::vector<TrafficItem>;

Traffic TrafficOf(const ir::Region* region);

/// The number of times that something happens on one core, as a sum of products. Each product is a sorted
/// list of names with an integer factor. Equal names denote equal numbers, even in different stages.
using Count = std::map<std::vector<std::string>, int64_t>;

/// Returns whether the count depends on a number of iterations, or on a bound, that only one stage knows.
/// Such a count never equals another count.
bool IsPrivate(const Count& count);

/// A condition that stages can compare. Equal names denote equal conditions, even in different stages,
/// within one iteration of the loops that they name.
struct Condition {
  std::string name;
  bool in_iteration = false;  ///< whether the name refers to an iteration of a loop
};

/// Returns the condition of a branch, or nothing if only one stage knows it.
std::optional<Condition> SharedCondition(const TrafficItem& branch);

/// Returns the number of iterations of a loop on one core.
Count IterationCount(const ir::Op* loop);

/// Returns a name for the range or domain of a loop. Loops with equal names have the same iterations, with
/// the same numbers or blocks, even in different stages.
std::string IterationSpaceName(const ir::Op* loop);

/// Returns whether different iterations of a loop have different pushes and pops.
bool DiffersByIteration(const TrafficItem& loop);

/// Returns the number of tiles of a pipe that are pushed or popped. If the two sides of a branch differ and
/// only one stage knows its condition, `conditional` is set to the first such branch.
Count TileCount(const Traffic& traffic, const ir::Value* pipe, const ir::Op*& conditional);

/// Returns the blocks to which the tiles of a pipe belong, in the order in which a core runs the blocks. If
/// two stages have equal lists, each block pops what the same block has pushed, for any number of cores.
std::vector<std::string> BlockOrderOf(const Traffic& traffic, const ir::Value* pipe);

using Example = std::map<std::string, int64_t>;  ///< sizes and scalar parameters, by name

/// Returns the number of tiles of a pipe that are pushed or popped if one core runs all blocks; nothing if
/// there are too many iterations.
std::optional<int64_t> TilesIn(const Traffic& traffic, const ir::Value* pipe,
                               const Example& example);

}  // namespace kdl::passes
