#include "core/processor.h"

#include "kdl/kernel_abi.h"
#include "system/processor_features.h"

namespace kdl::runtime {

namespace {

struct Level {
  std::string_view arch;
  std::string_view name;
  std::uint64_t features;
};

constexpr std::uint64_t Bit(kdl_feature_bit bit) { return std::uint64_t{1} << bit; }

constexpr std::uint64_t kV2 = Bit(KDL_FEATURE_BIT_X86_SSE42) | Bit(KDL_FEATURE_BIT_X86_POPCNT);
constexpr std::uint64_t kV3 = kV2 | Bit(KDL_FEATURE_BIT_X86_AVX2) | Bit(KDL_FEATURE_BIT_X86_FMA) |
                              Bit(KDL_FEATURE_BIT_X86_BMI2) | Bit(KDL_FEATURE_BIT_X86_F16C);
constexpr std::uint64_t kV4 = kV3 | Bit(KDL_FEATURE_BIT_X86_AVX512F) |
                              Bit(KDL_FEATURE_BIT_X86_AVX512BW) |
                              Bit(KDL_FEATURE_BIT_X86_AVX512DQ) |
                              Bit(KDL_FEATURE_BIT_X86_AVX512VL) | Bit(KDL_FEATURE_BIT_X86_AVX512CD);

constexpr std::uint64_t kTiles = Bit(KDL_FEATURE_BIT_X86_AMX_TILE) |
                                 Bit(KDL_FEATURE_BIT_X86_AMX_INT8) |
                                 Bit(KDL_FEATURE_BIT_X86_AMX_BF16);
constexpr std::uint64_t kV3Vnni = kV3 | Bit(KDL_FEATURE_BIT_X86_AVXVNNI);
constexpr std::uint64_t kV4Vnni = kV4 | Bit(KDL_FEATURE_BIT_X86_AVX512VNNI);
constexpr std::uint64_t kV4Bf16 = kV4Vnni | Bit(KDL_FEATURE_BIT_X86_AVX512BF16);

constexpr std::uint64_t kDotprod = Bit(KDL_FEATURE_BIT_AARCH64_DOTPROD);
constexpr std::uint64_t kI8mm = kDotprod | Bit(KDL_FEATURE_BIT_AARCH64_I8MM);
constexpr std::uint64_t kBf16Level = kI8mm | Bit(KDL_FEATURE_BIT_AARCH64_BF16);
constexpr std::uint64_t kSve256Level = kBf16Level | Bit(KDL_FEATURE_BIT_AARCH64_SVE256);

constexpr Level kLevels[] = {
    {"x86-64", "x86-64-v2", kV2},
    {"x86-64", "x86-64-v3", kV3},
    {"x86-64", "x86-64-v3-vnni", kV3Vnni},
    {"x86-64", "x86-64-v4", kV4},
    {"x86-64", "x86-64-v4-vnni", kV4Vnni},
    {"x86-64", "x86-64-v4-bf16", kV4Bf16},
    {"x86-64", "x86-64-v4-amx", kV4Vnni | kTiles},
    {"x86-64", "x86-64-v4-fp16", kV4 | Bit(KDL_FEATURE_BIT_X86_AVX512FP16)},
    {"aarch64", "armv8-a", 0},
    {"aarch64", "armv8-a-fp16", Bit(KDL_FEATURE_BIT_AARCH64_FP16)},
    {"aarch64", "armv8-a-dotprod", kDotprod},
    {"aarch64", "armv8-a-i8mm", kI8mm},
    {"aarch64", "armv8-a-bf16", kBf16Level},
    {"aarch64", "armv8-a-sve256", kSve256Level}};
constexpr std::string_view kNative = "native";

}  // namespace

const char* ProcessorArch() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
#error "the host device does not know this architecture yet"
#endif
}

std::uint64_t ProcessorFeatures() {
  std::uint64_t features = 0;
#if defined(__x86_64__)
#define KDL_SYSTEM_FEATURE(ID, bit, arch, spelling)
#define KDL_FEATURE(ID, bit, arch, spelling) \
  if (__builtin_cpu_supports(spelling)) features |= std::uint64_t{1} << (bit);
#include "kdl/abi.def"
  if (MayUseTiles()) features |= kTiles;
#elif defined(__aarch64__)
  if (HasDotProducts()) features |= Bit(KDL_FEATURE_BIT_AARCH64_DOTPROD);
  if (HasI8Matrices()) features |= Bit(KDL_FEATURE_BIT_AARCH64_I8MM);
  if (HasBf16()) features |= Bit(KDL_FEATURE_BIT_AARCH64_BF16);
  if (HasHalf()) features |= Bit(KDL_FEATURE_BIT_AARCH64_FP16);
  if (HasScalableVectors(32)) features |= Bit(KDL_FEATURE_BIT_AARCH64_SVE256);
#endif
  return features;
}

std::uint64_t UsualFeatures() {
  std::uint64_t features = ProcessorFeatures();
#if defined(__x86_64__)
  // On Intel processors, one vdpbf16ps computes 32 products and takes as long as four FMAs, which compute 64.
  // FMAs give the same bits if no operand is subnormal, which is cheap to check. Code without the instruction
  // is therefore faster.
  if (__builtin_cpu_is("intel")) features &= ~Bit(KDL_FEATURE_BIT_X86_AVX512BF16);
#endif
  return features;
}

Error FeaturesOfLevel(std::string_view level, std::uint64_t* features) {
  const std::uint64_t has = ProcessorFeatures();
  if (level == kNative) {
    *features = has;
    return nullptr;
  }
  std::vector<std::string> names;
  for (const Level& known : kLevels) {
    if (known.arch == ProcessorArch()) names.emplace_back(known.name);
    if (known.name != level) continue;
    if (known.arch != ProcessorArch() || (known.features & ~has) != 0) {
      return Fail(KDL_ERROR_UNSUPPORTED, "this processor does not support ", level);
    }
    *features = known.features;
    return nullptr;
  }
  names.emplace_back(kNative);
  return Invalid("isa=", level, " is unknown; the levels are ", JoinWords(names));
}

}  // namespace kdl::runtime
