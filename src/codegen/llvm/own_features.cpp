#include "codegen/llvm/own_features.h"

#include <llvm/TargetParser/Host.h>

#include "kdl/kernel_abi.h"  // IWYU pragma: keep: abi.def

namespace kdl::codegen {

uint64_t OwnFeatures() {
  const llvm::StringMap<bool> supported = llvm::sys::getHostCPUFeatures();
  uint64_t features = 0;
#if defined(__x86_64__)
  constexpr llvm::StringRef kArch = "x86-64";
#else
  constexpr llvm::StringRef kArch = "aarch64";
#endif
#define KDL_FEATURE(ID, bit, arch, spelling) \
  if (kArch == arch && supported.lookup(spelling)) features |= uint64_t{1} << (bit);
#include "kdl/abi.def"
#if defined(__x86_64__)
  // As in the runtime: code without these instructions is faster on Intel processors.
  if (__builtin_cpu_is("intel")) features &= ~(uint64_t{1} << KDL_FEATURE_BIT_X86_AVX512BF16);
#endif
  return features;
}

}  // namespace kdl::codegen
