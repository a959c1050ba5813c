#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far the compiler trusts KIR text.
enum class Trust : uint8_t {
  Everything,  ///< kernelc printed it, or its author guarantees that it is correct
  Nothing,     ///< code generated from it accesses only its own memory, whatever the text says
};

/// A property stated in KIR text that the compiler would have to trust, because it can neither be checked nor
/// be ignored.
struct Assumed {
  enum class What : uint8_t {
    /// The op accesses memory without checks. This is true for ops on loops, scratch memory, vectors and
    /// slots.
    BelowTileLevel,
    Plan,       ///< the op is in a program, but only passes may create it there
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

/// For each access that is checked at run time and has no source text, sets a text for messages to quote.
void NameGuards(Module& module);

/// Removes what the text states without proof. Accesses are checked at run time until check-bounds proves
/// them again. Blocks are checked to be no longer than their axes. Loops lose their common domain if their
/// blocks may differ. Tensors that programs allocate or return are initialized with zeros. FindAssumptions
/// must not have found any assumption in the module.
void ForgetAssumptions(Module& module);

}  // namespace kdl::ir
