#include "system/processor_features.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace kdl::runtime {

#if defined(__aarch64__)

namespace {

// Bits of Linux's words for aarch64; older headers lack some.
constexpr unsigned long kDotProducts = 1ul << 20;  // of AT_HWCAP
constexpr unsigned long kI8Matrices = 1ul << 13;   // of AT_HWCAP2
constexpr unsigned long kBf16 = 1ul << 14;

}  // namespace

bool HasDotProducts() { return (getauxval(AT_HWCAP) & kDotProducts) != 0; }
bool HasI8Matrices() { return (getauxval(AT_HWCAP2) & kI8Matrices) != 0; }
bool HasBf16() { return (getauxval(AT_HWCAP2) & kBf16) != 0; }

#else

bool HasDotProducts() { return false; }
bool HasI8Matrices() { return false; }
bool HasBf16() { return false; }

#endif

}  // namespace kdl::runtime
