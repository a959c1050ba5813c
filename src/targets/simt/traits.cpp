#include "targets/simt/traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>

#include "targets/simt/analysis/mma_shapes.h"

namespace kdl::simt {

std::vector<targets::Trait> SimtTraits(const SimtFacts& facts) {
  auto number = [](std::string name, int64_t value, std::string variable) {
    std::string text = value == 0 ? "-" : fmt::to_string(value);
    return targets::Trait{std::move(name), std::move(text), std::move(variable), value};
  };
  std::vector<std::string_view> instructions;
  for (const MmaShape& instruction : facts.mma_shapes)
    instructions.push_back(instruction.instruction->name);
  for (const ir::MatrixInstruction* instruction : facts.instructions)
    instructions.push_back(instruction->name);
  return {number("threads of a workgroup", facts.threads, "threads"),
          number("threads if products are large", facts.most_threads, "most_threads"),
          number("bytes of workgroup memory", facts.workgroup_bytes, "workgroup_bytes"),
          number("bytes of it for factors loaded ahead", facts.ring_bytes, "ring_bytes"),
          number("bytes of a product in a thread's registers", facts.held_bytes, "held_bytes"),
          number("bytes of a load or store of a thread", facts.vector_bytes, "vector_bytes"),
          number("bytes of an asynchronous copy", facts.copy_bytes, "copy_bytes"),
          {"instructions", fmt::format("{}", fmt::join(instructions, " "))}};
}

}  // namespace kdl::simt
