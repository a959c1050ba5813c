#pragma once

#include <span>
#include <string_view>

#include "ir/module.h"

namespace kdl::fuzz {

/// A mistake that proofs could make, as an edit of what they are shown: they judge the edited module, and the kernel as it
/// was drawn runs. It says nothing of how the proofs work.
struct Fault {
  std::string_view name;
  /// Edits a module as irgen leaves it; false where the kernel has nothing of the kind.
  bool (*plant)(ir::Module& module);
};

std::span<const Fault> Faults();

}  // namespace kdl::fuzz
