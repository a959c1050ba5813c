#pragma once

// Test values for elementwise ops, and the results that ir/eval/eval.h computes for them.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "support/scalar.h"

namespace kdl::codegen {

inline constexpr auto kScalars = ByScalar([]<Scalar scalar>() { return scalar; });

/// An op of `kind` on operands of type `operand`, with a result of type `result`. The first operand of select
/// is a bool.
struct Case {
  ir::OpKind kind;
  Scalar operand;
  Scalar result;
  size_t arity;

  std::string name() const {
    return fmt::format("{}_{}.{}", ir::Info(kind).spelling, Spelling(operand), Spelling(result));
  }
  Scalar operand_scalar(size_t i) const {
    return kind == ir::OpKind::Select && i == 0 ? Scalar::Bool : operand;
  }
};

inline bool Compares(ir::OpKind kind) { return kind >= ir::OpKind::Eq && kind <= ir::OpKind::Ge; }

inline bool Converts(ir::OpKind kind) {
  return kind == ir::OpKind::Cast || kind == ir::OpKind::ToBits || kind == ir::OpKind::FromBits;
}

/// Returns every elementwise op on every scalar type for which it is defined.
inline std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (size_t k = 0; k < ir::kOpCount; ++k) {
    auto kind = static_cast<ir::OpKind>(k);
    if (!ir::Info(kind).is_computed() || !ir::Info(kind).is_in(ir::kLoops)) continue;
    for (Scalar operand : kScalars) {
      for (Scalar result : kScalars) {
        if (!Converts(kind) && result != (Compares(kind) ? Scalar::Bool : operand)) continue;
        if (Converts(kind) && result == operand) continue;
        if (!ir::FindEval(kind, operand, result)) continue;
        cases.push_back({kind, operand, result, ir::Info(kind).operands.size()});
      }
    }
  }
  return cases;
}

inline uint64_t MaskOf(Scalar scalar) {
  return Bytes(scalar) == 8 ? ~uint64_t{0} : (uint64_t{1} << (Bytes(scalar) * 8)) - 1;
}

inline void AddFloats(Scalar scalar, std::vector<uint64_t>& values) {
  const double kEdges[] = {0.0,
                           0.5,
                           1.0,
                           1.5,
                           2.5,
                           3.0,
                           127.5,
                           255.5,
                           65504,
                           65519.99,
                           65520,
                           32768.5,
                           16777217.,
                           2147483648.,
                           0x1p32,
                           0x1p53,
                           0x1p63,
                           0x1p64,
                           0x1.fffffep127,
                           0x1.ffffffp127,
                           0x1.fffffffffffffp1023,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1p-126,
                           0x1p-149,
                           0x1.8p-150,
                           0x1p-1074,
                           0x1.004p0,
                           0x1.00400001p0,
                           0x1.0100000000001p0,
                           0x1.01p0,
                           INFINITY,
                           NAN,
                           0.1,
                           1e-3};
  for (double bounds_mode : kEdges) {
    for (double value : {bounds_mode, -bounds_mode}) {
      values.push_back(ir::EvaluateCast(Scalar::F64, scalar, std::bit_cast<uint64_t>(value)));
    }
  }
  for (double infinity : {INFINITY, -INFINITY}) {  // adds signalling NaNs, except for f8e4m3
    uint64_t bits = ir::EvaluateCast(Scalar::F64, scalar, std::bit_cast<uint64_t>(infinity));
    values.push_back(bits | 1);
  }
}

/// Returns special and random values, as bit patterns of the scalar type.
inline std::vector<uint64_t> TestValues(Scalar scalar, std::mt19937_64& random) {
  if (scalar == Scalar::Bool) return {0, 1};
  std::vector<uint64_t> values;
  if (IsFloat(scalar)) {
    AddFloats(scalar, values);
  } else {
    for (int64_t value : {0, 1, 2, 3, 7, 16, 31, 33, 63, 100}) {
      values.push_back(static_cast<uint64_t>(value));
      values.push_back(static_cast<uint64_t>(-value));
    }
    for (int shift : {7, 8, 11, 15, 16, 24, 31, 32, 53, 54, 60, 63}) {
      for (int64_t workgroup : {-1025, -1, 0, 1, 1024, 1025}) {
        values.push_back((uint64_t{1} << shift) + static_cast<uint64_t>(workgroup));
      }
      values.push_back(uint64_t{0x181} << (shift < 56 ? shift : 55));  // halfway between two bf16
    }
  }
  for (int i = 0; i < 30; ++i) values.push_back(random());
  for (uint64_t& value : values) value &= MaskOf(scalar);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Returns the operands to test, one column per operand. An op with one operand gets all test values and many
/// random values; an op with several operands gets combinations of test values.
inline std::vector<std::vector<uint64_t>> TestPoints(const Case& c) {
  std::mt19937_64 random(7);
  std::vector<std::vector<uint64_t>> columns(c.arity);
  std::vector<uint64_t> values = TestValues(c.operand, random);
  size_t count = c.arity == 1 ? values.size() + 2000 : values.size() * values.size();
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < c.arity; ++i) {
      size_t pick = i == 0   ? n % values.size()
                    : i == 1 ? n / values.size()
                             : random() % values.size();
      if (c.operand_scalar(i) == Scalar::Bool) {
        columns[i].push_back(random() % 2);
      } else {
        columns[i].push_back(c.arity == 1 && n >= values.size() ? random() & MaskOf(c.operand)
                                                                : values[pick]);
      }
    }
  }
  return columns;
}

/// Converts patterns to elements in memory.
inline std::vector<char> Packed(Scalar scalar, const std::vector<uint64_t>& patterns) {
  auto bytes = static_cast<size_t>(Bytes(scalar));
  std::vector<char> memory(patterns.size() * bytes + 1);
  for (size_t n = 0; n < patterns.size(); ++n) {
    std::memcpy(memory.data() + n * bytes, &patterns[n], bytes);
  }
  return memory;
}

/// Converts elements in memory to patterns.
inline std::vector<uint64_t> Unpacked(Scalar scalar, const char* memory, size_t count) {
  auto bytes = static_cast<size_t>(Bytes(scalar));
  std::vector<uint64_t> patterns(count);
  for (size_t n = 0; n < count; ++n) std::memcpy(&patterns[n], memory + n * bytes, bytes);
  return patterns;
}

inline bool SameValue(Scalar scalar, uint64_t a, uint64_t b) {
  if (a == b) return true;
  if (!IsFloat(scalar)) return false;
  auto is_nan = [&](uint64_t bits) {
    return std::isnan(std::bit_cast<double>(ir::EvaluateCast(scalar, Scalar::F64, bits)));
  };
  return is_nan(a) && is_nan(b);
}

/// Returns the expected results, and removes from `columns` the points at which the op traps.
inline std::vector<uint64_t> Expected(const Case& c, std::vector<std::vector<uint64_t>>& columns) {
  std::vector<uint64_t> expected;
  std::vector<std::vector<uint64_t>> kept(c.arity);
  for (size_t n = 0; n < columns[0].size(); ++n) {
    std::vector<uint64_t> operands;
    for (const auto& column : columns) operands.push_back(column[n]);
    std::optional<uint64_t> value = ir::Evaluate(c.kind, c.operand, c.result, operands.data());
    if (!value) continue;
    expected.push_back(*value);
    for (size_t i = 0; i < c.arity; ++i) kept[i].push_back(operands[i]);
  }
  columns = std::move(kept);
  return expected;
}

}  // namespace kdl::codegen
