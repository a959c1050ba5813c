#include "system/processor_features.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kdl::runtime {

#if defined(__aarch64__)

namespace {

// Bits of Linux's AT_HWCAP and AT_HWCAP2 words for aarch64. Older headers do not define some of them.
constexpr unsigned long kDotProducts = 1ul << 20;      // in AT_HWCAP
constexpr unsigned long kHalf = 1ul << 9 | 1ul << 10;  // scalar and vector arithmetic on f16
constexpr unsigned long kScalable = 1ul << 22;
constexpr unsigned long kI8Matrices = 1ul << 13;  // in AT_HWCAP2
constexpr unsigned long kBf16 = 1ul << 14;
constexpr unsigned long kScalableNarrow = 1ul << 9 | 1ul << 12;  // SVE products of i8 and of bf16
constexpr int kGetVectorLength = 51;                             // PR_SVE_GET_VL
// Mask for the length in bytes in the result of PR_SVE_GET_VL.
constexpr int kVectorLength = 0xFFFF;

}  // namespace

bool HasDotProducts() { return (getauxval(AT_HWCAP) & kDotProducts) != 0; }
bool HasI8Matrices() { return (getauxval(AT_HWCAP2) & kI8Matrices) != 0; }
bool HasBf16() { return (getauxval(AT_HWCAP2) & kBf16) != 0; }
bool HasHalf() { return (getauxval(AT_HWCAP) & kHalf) == kHalf; }
bool HasScalableVectors(int bytes) {
  bool has = (getauxval(AT_HWCAP) & kScalable) != 0 &&
             (getauxval(AT_HWCAP2) & kScalableNarrow) == kScalableNarrow;
  if (!has) return false;
  int answer = prctl(kGetVectorLength, 0, 0, 0, 0);
  return answer >= 0 && (answer & kVectorLength) == bytes;
}
bool MayUseTiles() { return false; }

#else

bool HasDotProducts() { return false; }
bool HasI8Matrices() { return false; }
bool HasBf16() { return false; }
bool HasHalf() { return false; }
bool HasScalableVectors(int) { return false; }

#if defined(__x86_64__)

namespace {

// In CPUID 7, EDX: AMX-BF16, AMX-TILE, AMX-INT8.
constexpr unsigned kTilesOfBoth = 1u << 22 | 1u << 24 | 1u << 25;
constexpr unsigned kPairs = 1u << 5;  // in CPUID 7.1, EAX: AVX512-BF16
// In CPUID 1, ECX: OSXSAVE, so that XGETBV works.
constexpr unsigned kSystemSaves = 1u << 27;
constexpr unsigned kTileState = 1u << 17 | 1u << 18;  // in XCR0: tile configuration and tile data
constexpr long kAskForState = 0x1023;                 // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;

bool ProcessorHasTiles() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSystemSaves) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kTilesOfBoth) != kTilesOfBoth) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kPairs) != 0;
}

bool SystemSavesTiles() {
  unsigned low = 0;
  unsigned high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kTileState) == kTileState;
}

}  // namespace

bool MayUseTiles() {
  static const bool may = ProcessorHasTiles() && SystemSavesTiles() &&
                          syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  return may;
}

#else

bool MayUseTiles() { return false; }

#endif

#endif

}  // namespace kdl::runtime
