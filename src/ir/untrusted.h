#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far a text is believed that says it is KIR.
enum class Trust : uint8_t {
  Everything,  ///< kernelc has printed it, or its author answers for it
  Nothing,     ///< whatever it says, what is made of it stays within the memory that it is given
};

/// The ops that touch memory without a check, as loops, scratch, vectors and slots do: one a function, the first.
std::vector<const Op*> OpsBelowTileLevel(const Module& module);

/// Gives each access that is checked a text, which messages quote, where it has none.
void NameGuards(Module& module);

/// Takes back what the text claims and no one has proven: accesses are guarded, until check-bounds proves them anew, and a
/// block is checked to be no longer than its axis. There are no ops below tile level.
void ForgetClaims(Module& module);

}  // namespace kdl::ir
