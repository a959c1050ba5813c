#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// One thing that a stage does with pipes. Loops and branches without pipes are left out.
struct TrafficItem {
  enum class Kind : uint8_t { Push, Pop, Loop, Branch };
  Kind kind = Kind::Push;
  const ir::Op* op = nullptr;
  const ir::Value* pipe = nullptr;  ///< of a push or pop
  std::vector<TrafficItem> body;    ///< of a loop, or of a branch if its condition is true
  std::vector<TrafficItem> other;   ///< of a branch if its condition is false
};
using Traffic = std::vector<TrafficItem>;

Traffic TrafficOf(const ir::Region* region);

/// How often something happens on one core, as a sum of products. Each product is a sorted list of names.
/// Equal names are equal numbers, even in different stages.
using Count = std::map<std::vector<std::string>, int64_t>;

/// Whether the count depends on a number of iterations, or a bound, that only one stage knows. Such a count
/// never equals another.
bool IsPrivate(const Count& count);

/// A condition that stages can compare. Equal names are equal conditions, even in different stages, within
/// one iteration of the loops that they name.
struct Condition {
  std::string name;
  bool in_iteration = false;  ///< the name refers to an iteration of a loop
};

/// Returns the condition of a branch, or nothing if only one stage knows it.
std::optional<Condition> SharedCondition(const TrafficItem& branch);

/// Returns the number of iterations of a loop on one core.
Count IterationCount(const ir::Op* loop);

/// Returns a name for what a loop iterates over. Loops with equal names have the same iterations, with the
/// same numbers or blocks, even in different stages.
std::string IterationSpaceName(const ir::Op* loop);

/// Whether pushes and pops in a loop differ between iterations.
bool DiffersByIteration(const TrafficItem& loop);

/// Returns how many tiles of a pipe are pushed or popped. If the sides of a branch differ and only one stage
/// knows its condition, `conditional` is set to the first such branch.
Count TileCount(const Traffic& traffic, const ir::Value* pipe, const ir::Op*& conditional);

/// Returns how the tiles of a pipe belong to blocks, in the order in which a core runs them. If two stages
/// have equal lists, each block pops what the same block has pushed, for any number of cores.
std::vector<std::string> BlockOrderOf(const Traffic& traffic, const ir::Value* pipe);

using Example = std::map<std::string, int64_t>;  ///< sizes and scalar parameters, by name

/// Returns how many tiles of a pipe are pushed or popped on one core that runs all blocks, or nothing if
/// there are too many iterations.
std::optional<int64_t> TilesIn(const Traffic& traffic, const ir::Value* pipe,
                               const Example& example);

}  // namespace kdl::passes
