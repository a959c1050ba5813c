#pragma once

#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// How far a text is believed that says it is KIR.
enum class Trust : uint8_t {
  Everything,  ///< kernelc has printed it, or its author answers for it
  Nothing,     ///< whatever it says, what is made of it stays within the memory that it is given
};

/// Something in a text that would have to be believed, because nothing can check it and it cannot be taken back.
struct Assumed {
  enum class What : uint8_t {
    BelowTileLevel,  ///< the op touches memory without a check, as loops, scratch, vectors and slots do
    Plan,            ///< the op belongs to what passes make of a program
    Attribute,       ///< the op has an attribute that is an assumption
    Workgroup,       ///< the function says how many workers it has
  };
  What what;
  const Function* function;
  const Op* op = nullptr;
  AttrKey attribute = AttrKey::Access;
};

/// The first such thing of each function.
std::vector<Assumed> FindAssumptions(const Module& module);

/// Gives each access that is checked a text, which messages quote, where it has none.
void NameGuards(Module& module);

/// Takes back what the text claims and no one has proven: accesses are guarded, until check-bounds proves them anew, a block is
/// checked to be no longer than its axis, loops of one domain whose blocks may differ are of none, and what programs allocate or
/// return starts with zeros. FindAssumptions has found nothing.
void ForgetDynamicCounters(Module& module);

}  // namespace kdl::ir
