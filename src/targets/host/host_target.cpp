#include "targets/host/host_target.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/target_facts.h"
#include "kdl/kernel_abi.h"  // IWYU pragma: keep: isa.def
#include "support/result.h"
#include "targets/host/tile_selector.h"
#include "targets/spec.h"
#include "targets/targets.h"

namespace kdl::targets {

namespace {

struct Isa {
  std::string_view name;
  std::string_view arch;
  std::string_view triple;
  std::string_view cpu;
  std::string_view tune;
  std::string_view features;
  uint64_t required_features;
  int vector_bits;
  int vector_registers;
  int64_t l1_bytes;
  int64_t l2_bytes;
  int64_t last_level_bytes;
};

#define F(id) (uint64_t{1} << KDL_FEATURE_BIT_##id)
constexpr Isa kIsas[] = {
#define KDL_ISA(...) {__VA_ARGS__},
#include "targets/host/isa.def"
};
#undef F

#if defined(__aarch64__)
constexpr std::string_view kOwnArch = "aarch64";
#elif defined(__x86_64__)
constexpr std::string_view kOwnArch = "x86-64";
#else
#error "kernelc runs on x86-64 and on aarch64"
#endif

ir::TargetFacts FactsOf(const Isa& isa) {
  ir::TargetFacts facts;
  facts.kind = "host";
  facts.arch = isa.arch;
  facts.triple = isa.triple;
  facts.cpu = isa.cpu;
  facts.tune = isa.tune;
  facts.features = isa.features;
  facts.required_features = isa.required_features;
  facts.vector_bits = isa.vector_bits;
  facts.vector_registers = isa.vector_registers;
  facts.l1_bytes = isa.l1_bytes;
  facts.l2_bytes = isa.l2_bytes;
  facts.last_level_bytes = isa.last_level_bytes;
  return facts;
}

}  // namespace

std::string_view OwnArch() { return kOwnArch; }

Result<std::vector<Target>> MakeHostTarget(const Spec& spec) {
  std::optional<std::string_view> name;
  bool split_units = false;
  bool pipes_on_chip = false;
  for (const auto& [key, value] : spec.options) {
    if (key == "isa") name = value;
    if (key == "units" && value != "split") {
      return Failure{fmt::format("target '{}': units = {} is unknown; units = split acts as a "
                                 "device with separate matrix and vector units",
                                 spec.text, value),
                     FailureKind::Usage};
    }
    if (key == "pipes" && value != "chip") {
      return Failure{fmt::format("target '{}': pipes = {} is unknown; pipes = chip stands for a "
                                 "device whose pipes take no memory",
                                 spec.text, value),
                     FailureKind::Usage};
    }
    split_units |= key == "units";
    pipes_on_chip |= key == "pipes";
  }
  std::vector<Target> targets;
  for (const Isa& isa : kIsas) {
    if (name ? isa.name == *name : isa.arch == kOwnArch)
      targets.push_back({FactsOf(isa), MakeHostTileSelector(), spec.text});
  }
  for (Target& target : targets) {
    target.facts.split_units = split_units;
    target.facts.pipes_on_chip = pipes_on_chip;
  }
  if (!targets.empty()) return targets;
  std::string known;
  for (const Isa& isa : kIsas) fmt::format_to(std::back_inserter(known), " {}", isa.name);
  return Failure{
      fmt::format("target '{}': there is no isa '{}'; those known are:{}", spec.text, *name, known),
      FailureKind::Usage};
}

}  // namespace kdl::targets
