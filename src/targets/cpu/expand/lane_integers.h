#pragma once

#include <cstdint>

#include "support/scalar.h"

namespace kdl::cpu {

/// Returns the signed integers of 1, 2, 4 or 8 bytes; those of 1 byte also for 0.
constexpr Scalar IntegerOfBytes(int64_t bytes) {
  switch (bytes) {
    case 0:
    case 1:
      return Scalar::I8;
    case 2:
      return Scalar::I16;
    case 4:
      return Scalar::I32;
    default:
      return Scalar::I64;
  }
}

}  // namespace kdl::cpu
