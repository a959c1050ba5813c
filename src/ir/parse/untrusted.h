#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far KIR text is trusted.
enum class Trust : uint8_t {
  Everything,  ///< kernelc printed it, or its author vouches for it
  Nothing,     ///< whatever it says, code made from it stays within the memory that it is given
};

/// Something in a text that would have to be trusted, because it can neither be checked nor removed.
struct Assumed {
  enum class What : uint8_t {
    /// The op accesses memory without checks, as loops, scratch, vectors and slots do.
    BelowTileLevel,
    Plan,       ///< only passes may put the op into a program
    Attribute,  ///< the op has an attribute that is an assumption
    Workgroup,  ///< the function states its number of GPU threads
  };
  What what;
  const Function* function;
  const Op* op = nullptr;
  AttrKey attribute = AttrKey::Access;
};

/// Returns the first assumption of each function.
std::vector<Assumed> FindAssumptions(const Module& module);

/// Gives each checked access without a source text a text that messages can quote.
void NameGuards(Module& module);

/// Removes what the text claims without proof. Accesses become checked until check-bounds proves them again.
/// Blocks are checked to be no longer than their axes. Loops over one domain lose it if their blocks may
/// differ. Tensors that programs allocate or return start with zeros. FindAssumptions must have found
/// nothing.
void ForgetDynamicCounters(Module& module);

}  // namespace kdl::ir
