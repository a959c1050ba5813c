#include "targets/cpu/facts.h"

#include "support/check.h"

namespace kdl::cpu {

const ProcessorFacts& ProcessorFactsOf(const passes::PassContext& context) {
  const auto* facts = dynamic_cast<const ProcessorFacts*>(context.facts);
  KDL_CHECK(facts, "a pass of the cpu family needs its facts");
  return *facts;
}

bool IsNative(const ProcessorFacts& facts, const ir::MatrixInstruction* instruction) {
  return Contains(facts.native, instruction);
}

}  // namespace kdl::cpu
