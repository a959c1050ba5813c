#include "targets/simt/traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "targets/simt/analysis/mma_shapes.h"

namespace kdl::simt {

std::vector<targets::Trait> SimtTraits(const SimtFacts& facts) {
  auto bytes = [](int64_t count) { return count == 0 ? "-" : fmt::to_string(count); };
  std::vector<std::string_view> instructions;
  for (const MmaShape& instruction : facts.mma_shapes)
    instructions.push_back(instruction.instruction->name);
  for (const ir::MatrixInstruction* instruction : facts.instructions)
    instructions.push_back(instruction->name);
  return {{"threads of a workgroup", fmt::to_string(facts.threads)},
          {"threads if products are large", fmt::to_string(facts.most_threads)},
          {"bytes of workgroup memory", bytes(facts.workgroup_bytes)},
          {"bytes of it for factors loaded ahead", bytes(facts.ring_bytes)},
          {"bytes of a product in a thread's registers", bytes(facts.held_bytes)},
          {"bytes of a load or store of a thread", bytes(facts.vector_bytes)},
          {"bytes of an asynchronous copy", bytes(facts.copy_bytes)},
          {"instructions", fmt::format("{}", fmt::join(instructions, " "))}};
}

}  // namespace kdl::simt
