#pragma once

#include <cstdint>
#include <cstdlib>

namespace kdl::test {

/// Returns how many kernels a test generates: few by default, or as many as KDL_KERNELS says.
inline uint64_t DrawnCount(uint64_t usual) {
  const char* given = std::getenv("KDL_KERNELS");
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

}  // namespace kdl::test
