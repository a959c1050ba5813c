#pragma once

#include <cstdint>
#include <cstdlib>

namespace kdl::test {

/// How many kernels a test draws: few where all tests run, KDL_KERNELS=1000 by hand.
inline uint64_t DrawnCount(uint64_t usual) {
  const char* given = std::getenv("KDL_KERNELS");
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

}  // namespace kdl::test
