#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/scalar.h"

namespace kdl::driver {

/// An array in this process's memory: row-major, without gaps, little endian. Without dimensions it
/// is a scalar.
struct HostTensor {
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
};

/// The number of elements; nothing where the bytes pass 2^63 - 1, sizes of 0 left out of the count.
std::optional<int64_t> ElementCount(Scalar scalar, std::span<const int64_t> shape);

/// `f32[128, 64]`; `f32` for a scalar.
std::string TypeText(Scalar scalar, std::span<const int64_t> shape);

/// The bit pattern of element n, zero-extended; and its setting from the low bits.
uint64_t ElementBits(const HostTensor& tensor, int64_t n);
void SetElementBits(HostTensor& tensor, int64_t n, uint64_t bits);

/// The shortest decimal that reads back as the element; `nan` for every NaN.
std::string ElementText(Scalar scalar, uint64_t bits);

/// The number n in the scalar: rounded to nearest even, wrapped, or n != 0.
uint64_t NumberBits(Scalar scalar, int64_t n);

/// A float's value; an integer's or bool's as near as f64 gives it.
double ElementValue(Scalar scalar, uint64_t bits);
bool IsNaN(Scalar scalar, uint64_t bits);

/// The bits of a number that is written as in the language (`1e-5`, `-3`, `0x10`, `true`, `inf`,
/// `nan`); nothing where it is none or does not fit. Floats round once to nearest even.
std::optional<uint64_t> ParseElement(Scalar scalar, std::string_view text);

}  // namespace kdl::driver
