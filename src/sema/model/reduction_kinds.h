#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sema/model/checked.h"

namespace kdl::sema {

/// The kind of value that a reduction returns: an element of its operand, the accumulator, or an index.
enum class Gives : uint8_t { Element, Accumulator, Index };

struct ReductionRow {
  ReduceKind kind;
  std::string_view spelling;
  size_t operands;
  bool of_bools;
  Gives gives;
  bool one_range;  ///< the `over` list may contain only one range
};

std::span<const ReductionRow> AllReductions();
const ReductionRow& ReductionRowOf(ReduceKind kind);

/// Returns the reduction or scan with this name, if there is one.
std::optional<ReduceKind> FindReduction(std::string_view spelling);

inline bool IsScan(ReduceKind kind) { return kind >= ReduceKind::CumSum; }
/// Returns whether the reduction or scan combines elements with a fn that the source names.
inline bool IsOwn(ReduceKind kind) {
  return kind == ReduceKind::Reduce || kind == ReduceKind::Scan;
}

}  // namespace kdl::sema
