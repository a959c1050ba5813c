#pragma once

#include <map>
#include <optional>
#include <string>

#include "ir/module.h"

namespace kdl::passes {

/// The loop variables of a kernel that iterate over all numbers of a pack of dimensions, with the size of the pack: blocks
/// of a range, or i64 numbers.
using PackLoops = std::map<const ir::Value*, kdl::Size>;
PackLoops FindPackLoops(const ir::Function& kernel);

/// A place where a kernel needs the elements of a pack in the order of their numbers.
struct PackFault {
  const ir::Op* op = nullptr;
  std::string text;  ///< what the kernel does there, such as "it reduces over the pack A.."
};

/// Returns the first place where a kernel needs the elements of a pack in the order of their numbers, or nothing if it
/// treats each element by itself. Only in the second case can the blocks of a pack be blocks of its last dimension.
std::optional<PackFault> FindOrderedUse(const ir::Function& kernel);

}  // namespace kdl::passes
