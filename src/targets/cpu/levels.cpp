#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/llvm/own_features.h"
#include "kdl/kernel_abi.h"  // IWYU pragma: keep: isa.def
#include "support/check.h"
#include "targets/cpu/facts.h"
#include "targets/cpu/family.h"
#include "targets/cpu/instructions.h"
#include "targets/cpu/tile_selector.h"
#include "targets/hosts.h"

namespace kdl::cpu {

namespace {

using targets::Spec;
using targets::Target;

struct Isa {
  std::string_view name;
  std::string_view arch;
  std::string_view cpu;
  std::string_view tune;
  std::string_view features;
  uint64_t required_features;
  int vector_bits;
  int vector_registers;
  int64_t l1_bytes;
  int64_t l2_bytes;
  int64_t last_level_bytes;
  bool asks_for_reads;
};

#define F(id) (uint64_t{1} << KDL_FEATURE_BIT_##id)
constexpr Isa kIsas[] = {
#define KDL_ISA(...) {__VA_ARGS__},
#include "targets/cpu/isa.def"
};
#undef F

/// Whether the instruction-set level has these x86 features. Levels of other architectures always have
/// equivalent features.
bool HasAll(const Isa& isa, uint64_t of_x86) {
  return isa.arch != "x86-64" || (isa.required_features & of_x86) == of_x86;
}
bool HasFma(const Isa& isa) { return HasAll(isa, uint64_t{1} << KDL_FEATURE_BIT_X86_FMA); }
bool HasHalf(const Isa& isa) { return HasAll(isa, uint64_t{1} << KDL_FEATURE_BIT_X86_F16C); }

/// The name of the best level of the machine on which kernelc runs.
constexpr std::string_view kNative = "native";

bool IsMeant(const Isa& isa, const std::optional<std::string_view>& name) {
  if (name && *name != kNative) return isa.name == *name;
  uint64_t on_request =
      isa.arch == kX86 ? features::kAmx | features::kAvx512Fp16 : features::kSve256;
  bool is_asked_for = (isa.required_features & on_request) != 0;
  return isa.arch == targets::OwnArch() && HasFma(isa) && HasHalf(isa) && !is_asked_for;
}

/// A key of a device spec that accepts only one value.
struct Option {
  std::string_view key;
  std::string_view value;
  std::string_view meaning;
};
constexpr Option kOptions[] = {
    {"engines", "split", "models a device with separate matrix and vector engines"},
    {"pipes", "chip", "models a device whose pipes take no memory"},
    {"dot", "portable", "uses no instructions whose results differ on other processors"}};

/// The settings that a spec's keys request.
struct Wanted {
  std::optional<std::string_view> isa;
  bool split_engines = false;
  bool pipes_on_chip = false;
  /// Whether instructions may be used that add terms in an order that other processors do not use.
  bool own_orders = true;
};

Result<Wanted> WantedBy(const Spec& spec) {
  Wanted wanted;
  for (const auto& [key, value] : spec.options) {
    if (key == "isa") wanted.isa = value;
    for (const Option& option : kOptions) {
      if (key != option.key || value == option.value) continue;
      return Failure{fmt::format("target '{}': {} = {} is unknown; {} = {} {}", spec.text, key,
                                 value, key, option.value, option.meaning),
                     FailureKind::Usage};
    }
    wanted.own_orders &= key != "dot";
    wanted.split_engines |= key == "engines";
    wanted.pipes_on_chip |= key == "pipes";
  }
  return wanted;
}

/// Returns the name of the last level before `isa` that has the same LLVM cpu and only features that `isa`
/// also has. Compared with that level, `isa` only adds instructions.
std::string ExtendedBy(const Isa& isa) {
  std::string found;
  for (const Isa& other : kIsas) {
    if (other.name == isa.name) break;
    bool is_part = (other.required_features & ~isa.required_features) == 0;
    bool is_same =
        other.cpu == isa.cpu && other.arch == isa.arch && other.vector_bits == isa.vector_bits;
    if (is_same && is_part) found = other.name;
  }
  return found;
}

/// Returns the size of the narrowest elements that the level's vector instructions can load and store with a
/// mask.
int64_t LeastMaskedBytes(const Isa& isa) {
  auto has = [&](uint64_t features) { return (isa.required_features & features) == features; };
  constexpr int64_t kNever = 16;
  if (isa.arch == kX86) return has(features::kAvx512Bw) ? 1 : has(features::kAvx2) ? 4 : kNever;
  return isa.arch == kAarch64 && has(features::kSve256) ? 1 : kNever;
}

/// Returns the size of the narrowest elements of vectors that the level can compress. Levels with AVX2, but without
/// AVX-512, permute lanes by numbers from a table (codegen/llvm/ops/compress.cpp).
int64_t LeastCompressedBytes(const Isa& isa) {
  constexpr int64_t kNever = 16;
  return isa.arch == kX86 && (isa.required_features & features::kAvx2) != 0 ? 4 : kNever;
}

ProcessorFacts LevelFacts(const Isa& isa, const Wanted& wanted) {
  std::optional<codegen::Processor> host = targets::HostProcessor(isa.arch);
  KDL_CHECK(host, "the architecture of isa {} is not in hosts.def", isa.name);
  ProcessorFacts facts;
  facts.arch = isa.arch;
  facts.level = isa.name;
  facts.required_features = isa.required_features;
  facts.vector_bits = isa.vector_bits;
  facts.extends = ExtendedBy(isa);
  facts.split_engines = wanted.split_engines;
  facts.pipes_on_chip = wanted.pipes_on_chip;
  facts.processor = std::move(*host);
  facts.processor.level = isa.name;
  facts.processor.cpu = isa.cpu;
  facts.processor.tune = isa.tune;
  facts.processor.features = isa.features;
  facts.processor.required_features = isa.required_features;
  bool is_x86 = isa.arch == kX86;
  facts.processor.computes_half =
      (isa.required_features & (is_x86 ? features::kAvx512Fp16 : features::kFp16)) != 0;
  bool has_scalable = isa.arch == kAarch64 && (isa.required_features & features::kSve256) != 0;
  facts.processor.scalable_bits = has_scalable ? isa.vector_bits : 0;
  facts.processor.has_fma = HasFma(isa);
  facts.processor.has_half = HasHalf(isa);
  for (const Instruction& row : kInstructions) {
    bool has = isa.arch == row.arch && (isa.required_features & row.features) == row.features;
    bool is_portable =
        row.instruction->order == ir::StepOrder::Any || Contains(kDefined, row.instruction);
    if (!has || Contains(facts.native, row.instruction) || !(is_portable || wanted.own_orders))
      continue;
    facts.native.push_back(row.instruction);
    const ir::MatrixInstruction& by = row.by ? *row.by : *row.instruction;
    facts.processor.steps.push_back({.instruction = row.instruction->name,
                                     .depth = row.instruction->depth,
                                     .intrinsic = row.intrinsic,
                                     .sums = row.sums,
                                     .of_types = row.arch == kAarch64,
                                     .tiles = row.tiles,
                                     .a = row.instruction->a,
                                     .takes = {by.a, by.b},
                                     .taken = by.depth,
                                     .scalable = row.scalable});
  }
  facts.instructions = facts.native;
  for (const ir::MatrixInstruction* instruction : kDefined) {
    if (!Contains(facts.instructions, instruction)) facts.instructions.push_back(instruction);
  }
  facts.vector_registers = isa.vector_registers;
  facts.l1_bytes = isa.l1_bytes;
  facts.l2_bytes = isa.l2_bytes;
  facts.last_level_bytes = isa.last_level_bytes;
  facts.asks_for_reads = isa.asks_for_reads;
  facts.has_exact_extrema = isa.arch != kX86;
  facts.least_masked_bytes = LeastMaskedBytes(isa);
  facts.least_compressed_bytes = LeastCompressedBytes(isa);
  return facts;
}

/// Returns the spec that names only this level. Its kind is `host`, because all kinds of CPU targets use the
/// host's code.
std::string LevelSpec(const Spec& spec, const Isa& isa) {
  Spec of_level;
  of_level.kind = "host";
  of_level.options = {{"isa", std::string(isa.name)}};
  for (const auto& option : spec.options) {
    if (std::ranges::find(kOptions, option.first, &Option::key) != std::end(kOptions))
      of_level.options.push_back(option);
  }
  return ToString(of_level);
}

/// Returns the last of the levels, which are listed from the lowest up, that this machine can run.
Result<std::vector<Target>> BestOwnLevel(const Spec& spec, std::vector<Target> levels) {
  uint64_t features = codegen::OwnFeatures();
  std::erase_if(levels, [&](const Target& level) {
    return (level.facts->required_features & ~features) != 0;
  });
  if (levels.empty()) {
    return Failure{fmt::format("target '{}': kernelc generates no code for this processor; a level "
                               "that it can run may be slow, such as x86-64-v2",
                               spec.text),
                   FailureKind::Usage};
  }
  levels.erase(levels.begin(), levels.end() - 1);
  return levels;
}

}  // namespace

Result<std::vector<Target>> MakeLevels(const Spec& spec) {
  Result<Wanted> wanted = WantedBy(spec);
  if (!wanted) return wanted.failure();
  std::vector<Target> levels;
  for (const Isa& isa : kIsas) {
    if (!IsMeant(isa, wanted->isa)) continue;
    auto facts = std::make_shared<const ProcessorFacts>(LevelFacts(isa, *wanted));
    levels.push_back({&kFamily, facts, MakeTileSelector(*facts), LevelSpec(spec, isa), ""});
  }
  if (wanted->isa == kNative) return BestOwnLevel(spec, std::move(levels));
  if (!levels.empty()) return levels;
  std::string known;
  for (const Isa& isa : kIsas) fmt::format_to(std::back_inserter(known), " {}", isa.name);
  return Failure{fmt::format("target '{}': unknown isa '{}'; the known ones are:{}", spec.text,
                             *wanted->isa, known),
                 FailureKind::Usage};
}

}  // namespace kdl::cpu
