#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sema/model/checked.h"

namespace kdl::sema {

/// What a reduction returns: an element of its operand, the accumulator, or an index.
enum class Gives : uint8_t { Element, Accumulator, Index };

struct ReductionRow {
  ReduceKind kind;
  std::string_view spelling;
  size_t operands;
  bool of_bools;
  Gives gives;
  bool one_range;  ///< accepts only one range in its `over` list
};

std::span<const ReductionRow> AllReductions();
const ReductionRow& ReductionRowOf(ReduceKind kind);

/// Returns the reduction or scan with this name.
std::optional<ReduceKind> FindReduction(std::string_view spelling);

inline bool IsScan(ReduceKind kind) { return kind >= ReduceKind::CumSum; }
/// Whether it combines elements with a fn of the source.
inline bool IsOwn(ReduceKind kind) {
  return kind == ReduceKind::Reduce || kind == ReduceKind::Scan;
}

}  // namespace kdl::sema
