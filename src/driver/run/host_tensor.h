#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/scalar.h"

namespace kdl::driver {

/// An array in this process's memory: row-major, contiguous, little endian. An array without
/// dimensions is a scalar.
struct HostTensor {
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// Returns the number of elements. Returns nothing if an array with all nonzero dimensions would
/// take more than 2^63 - 1 bytes.
std::optional<int64_t> ElementCount(Scalar scalar, std::span<const int64_t> shape);

/// Returns a type such as `f32[128, 64]`, or `f32` for a scalar.
std::string TypeText(Scalar scalar, std::span<const int64_t> shape);

/// Get and set the bits of element n, stored in the low bits of a uint64_t.
uint64_t ElementBits(const HostTensor& tensor, int64_t n);
void SetElementBits(HostTensor& tensor, int64_t n, uint64_t bits);

/// Returns the shortest decimal text that parses back to the same element. Every NaN is written as
/// `nan`.
std::string ElementText(Scalar scalar, uint64_t bits);

/// Converts n to the scalar type. Rounds to nearest even for floats, wraps for integers, and
/// compares with 0 for bool.
uint64_t NumberBits(Scalar scalar, int64_t n);

/// Returns the value of a float, or the f64 nearest to an integer or bool.
double ElementValue(Scalar scalar, uint64_t bits);
bool IsNaN(Scalar scalar, uint64_t bits);

/// Parses a number written as in the language (`1e-5`, `-3`, `0x10`, `true`, `inf`, `nan`) and
/// returns its bits. Returns nothing if the text is not a number or the number does not fit the
/// type. Floats are rounded once, to nearest even.
std::optional<uint64_t> ParseElement(Scalar scalar, std::string_view text);

}  // namespace kdl::driver
