#include "targets/simt/traits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "targets/simt/analysis/matrix_units.h"

namespace kdl::simt {

std::vector<targets::Trait> TraitsOf(const SimtFacts& facts) {
  auto bytes = [](int64_t count) { return count == 0 ? "-" : fmt::to_string(count); };
  std::vector<std::string_view> units;
  for (const MatrixUnit& unit : facts.matrix_units) units.push_back(unit.unit->name);
  for (const ir::Unit* unit : facts.units) units.push_back(unit->name);
  return {{"workers of a team", fmt::to_string(facts.workers)},
          {"workers where products are large", fmt::to_string(facts.most_workers)},
          {"bytes near a team", bytes(facts.near_bytes)},
          {"bytes of them for factors on their way", bytes(facts.ring_bytes)},
          {"bytes of a product in a worker's registers", bytes(facts.held_bytes)},
          {"bytes that a worker moves at once", bytes(facts.vector_bytes)},
          {"bytes copied past the registers at once", bytes(facts.copy_bytes)},
          {"units", fmt::format("{}", fmt::join(units, " "))}};
}

}  // namespace kdl::simt
