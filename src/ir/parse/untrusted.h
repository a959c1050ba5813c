#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far the compiler trusts KIR text.
enum class Trust : uint8_t {
  Everything,  ///< kernelc printed it, or its author vouches for it
  Nothing,     ///< code made from it stays within its own memory, whatever the text says
};

/// Something in a text that the compiler would have to trust, because it can neither be checked
/// nor removed.
struct Assumed {
  enum class What : uint8_t {
    /// The op accesses memory without checks, as ops on loops, scratch memory, vectors and slots do.
    BelowTileLevel,
    Plan,       ///< only passes may put the op into a program
    Attribute,  ///< the op has an attribute that is an assumption
    Workgroup,  ///< the function states how many GPU threads a workgroup has
  };
  What what;
  const Function* function;
  const Op* op = nullptr;
  AttrKey attribute = AttrKey::Access;
};

/// Returns the first assumption of each function.
std::vector<Assumed> FindAssumptions(const Module& module);

/// For each access that is checked at run time and has no source text, sets a text that messages can quote.
void NameGuards(Module& module);

/// Removes what the text claims without proof. Accesses are checked at run time until check-bounds proves
/// them again. Blocks are checked to be no longer than their axes. Loops lose their common domain if their
/// blocks may differ. Tensors that programs allocate or return start with zeros. FindAssumptions must have
/// found nothing in the module.
void ForgetAssumptions(Module& module);

}  // namespace kdl::ir
