#pragma once

#include <span>
#include <string_view>

#include "ir/module.h"

namespace kdl::fuzz {

/// A mistake that proofs could make, simulated by an edit of their input. The proofs judge the edited module,
/// but the original kernel runs. This needs no knowledge of how the proofs work.
struct Fault {
  std::string_view name;
  /// Edits a module as irgen produces it. Returns false if the kernel has nothing to edit.
  bool (*plant)(ir::Module& module);
};

std::span<const Fault> Faults();

}  // namespace kdl::fuzz
