#include "host/processor.h"

#include <array>

#include "kdl/kernel_abi.h"

namespace kdl::runtime {

namespace {

struct Level {
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

constexpr std::uint64_t kV3Vnni = kV3 | Bit(KDL_FEATURE_BIT_X86_AVXVNNI);
constexpr std::uint64_t kV4Vnni = kV4 | Bit(KDL_FEATURE_BIT_X86_AVX512VNNI);
constexpr std::uint64_t kV4Bf16 = kV4Vnni | Bit(KDL_FEATURE_BIT_X86_AVX512BF16);

constexpr std::array kLevels = {Level{"x86-64-v2", kV2},           Level{"x86-64-v3", kV3},
                                Level{"x86-64-v3-vnni", kV3Vnni},  Level{"x86-64-v4", kV4},
                                Level{"x86-64-v4-vnni", kV4Vnni},  Level{"x86-64-v4-bf16", kV4Bf16},
                                Level{"native", ~std::uint64_t{0}}};

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
#define KDL_FEATURE(ID, bit, arch, spelling) \
  if (__builtin_cpu_supports(spelling)) features |= std::uint64_t{1} << (bit);
#include "kdl/abi.def"
#endif
  return features;
}

std::uint64_t UsualFeatures() {
  std::uint64_t features = ProcessorFeatures();
#if defined(__x86_64__)
  // On Intel's cores vdpbf16ps, 32 products, takes as long as four FMAs of 16 each. Where nothing can be subnormal,
  // which costs little to find out, FMAs compute the same bits.
  if (__builtin_cpu_is("intel")) features &= ~Bit(KDL_FEATURE_BIT_X86_AVX512BF16);
#endif
  return features;
}

Error FeaturesOfLevel(std::string_view level, std::uint64_t* features) {
  std::vector<std::string> names;
  for (const Level& known : kLevels) {
    names.emplace_back(known.name);
    if (known.name != level) continue;
    const std::uint64_t has = ProcessorFeatures();
    if (level != "native" && (known.features & ~has) != 0) {
      return Fail(KDL_ERROR_UNSUPPORTED, "this processor is no ", level);
    }
    *features = known.features & has;
    return nullptr;
  }
  return Invalid("isa=", level, " is unknown; there are ", JoinWords(names));
}

}  // namespace kdl::runtime
