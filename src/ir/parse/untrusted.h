#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far the compiler trusts KIR text.
enum class Trust : uint8_t {
  Everything,  ///< kernelc printed it, or its author guarantees that it is correct
  Nothing,     ///< its author may be malicious; the code must still access only its own memory
};

/// A statement in KIR text that the compiler would have to trust, because it can neither check nor ignore it.
struct Assumed {
  enum class What : uint8_t {
    /// The op is below the tile level, where memory accesses are not checked: a loop, or an op on scratch
    /// memory, vectors or slots of pipes.
    BelowTileLevel,
    Plan,       ///< the op is one that only passes may create in a program
    Attribute,  ///< the op has an attribute that is an assumption
    Workgroup,  ///< the function states how many GPU threads a workgroup has
  };
  What what;
  const Function* function;
  const Op* op = nullptr;
  AttrKey attribute = AttrKey::Access;
};

/// Returns the first assumption of each function that makes one.
std::vector<Assumed> FindAssumptions(const Module& module);

/// For each access that is checked at run time and has no source text, sets the string that messages quote.
void NameGuards(Module& module);

/// Removes what the text states without proof. Accesses are checked at run time until the pass check-bounds
/// proves them again. Blocks are checked to be no longer than their axes. Loops lose their common domain if
/// their blocks may differ. Tensors that programs allocate or return are initialized with zeros.
/// FindAssumptions must not have found any assumption in the module.
void ForgetAssumptions(Module& module);

}  // namespace kdl::ir
