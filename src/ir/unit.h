#pragma once

#include <cstdint>
#include <string_view>

#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::ir {

/// What multiplies and adds, as its results show it. A family of targets has a table of them; the attribute `unit` of a
/// contraction names a row, so that the interpreter computes what the machine does. A contraction that names none takes
/// its terms one by one, an fma each.
struct Unit {
  std::string_view name;
  Scalar factors;  ///< of a and b
  Scalar acc;
  /// Terms of a step: neighbours along the last folded axis, counted from where its block starts. Behind the block's end
  /// both factors are +0, and count.
  int depth;
  bool last_first;  ///< of a step's terms
  bool flushes;     ///< a subnormal factor or accumulator is taken as the zero of its sign
  OpKind term;      ///< (a, b, acc): the accumulator after one term; a and b as acc
};

inline constexpr int kMaxUnitDepth = 16;

/// Of a step's terms the one that comes at `turn`.
inline int TermAt(const Unit& unit, int turn) {
  return unit.last_first ? unit.depth - 1 - turn : turn;
}

/// Whether the unit multiplies what the contraction does, in one chain.
bool Suits(const Unit& unit, const Op& contraction);

/// The accumulator after a step: `depth` terms, of factors as acc.
uint64_t RunStep(const Unit& unit, uint64_t acc, const uint64_t* a, const uint64_t* b);

}  // namespace kdl::ir
