#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// What a stage does with pipes, in order; loops and branches without pipes are left out.
struct TrafficItem {
  enum class Kind : uint8_t { Push, Pop, Loop, Branch };
  Kind kind = Kind::Push;
  const ir::Op* op = nullptr;
  const ir::Value* pipe = nullptr;  ///< of a push or pop
  std::vector<TrafficItem> body;    ///< of a loop; of a branch where the condition holds
  std::vector<TrafficItem> other;   ///< of a branch where it does not
};
using Traffic = std::vector<TrafficItem>;

Traffic TrafficOf(const ir::Region* region);

/// How often something happens on one core, as a sum of products: each product is a list of names, ascending. Equal
/// names are equal numbers, in whichever stage they stand.
using Count = std::map<std::vector<std::string>, int64_t>;

/// A number of turns of a loop, or a bound, that depends on what only one stage knows: never equal to another.
bool IsPrivate(const Count& count);

/// Equal names are equal conditions, in whichever stage they stand, and in one turn of the loops that they name.
struct Condition {
  std::string name;
  bool in_iteration = false;  ///< it names a turn
};

/// Nothing: only one stage knows it.
std::optional<Condition> SharedCondition(const TrafficItem& branch);

/// The turns of a loop on one core.
Count IterationsOf(const ir::Op* loop);

/// Loops of equal names have the same turns, with the same numbers or blocks, in whichever stage they stand.
std::string WalkOf(const ir::Op* loop);

/// Whether what comes and goes in a turn of a loop depends on which turn that is.
bool DiffersByIteration(const TrafficItem& loop);

/// How many tiles of a pipe come and go; the first branch whose sides differ, by a condition that only one stage knows,
/// is left in `conditional`.
Count TilesOf(const Traffic& traffic, const ir::Value* pipe, const ir::Op*& conditional);

/// How the tiles of a pipe are spread over blocks, in the order in which a core runs these. If two stages are equal in it,
/// each block pops what the same block has pushed, whatever the number of cores is.
std::vector<std::string> BlockOrderOf(const Traffic& traffic, const ir::Value* pipe);

/// How many tiles of a pipe come and go on one core that does all the work. Nothing: too many turns.
using Example = std::map<std::string, int64_t>;  ///< sizes and scalar parameters, by name
std::optional<int64_t> TilesIn(const Traffic& traffic, const ir::Value* pipe,
                               const Example& example);

}  // namespace kdl::passes
