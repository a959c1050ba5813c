#include "sema/model/reduction_kinds.h"

#include <array>

namespace kdl::sema {

namespace {

constexpr std::array kReductions = {
    ReductionRow{ReduceKind::Sum, "sum", 1, false, Gives::Accumulator, false},
    ReductionRow{ReduceKind::Prod, "prod", 1, false, Gives::Accumulator, false},
    ReductionRow{ReduceKind::Max, "max", 1, false, Gives::Element, false},
    ReductionRow{ReduceKind::Min, "min", 1, false, Gives::Element, false},
    ReductionRow{ReduceKind::Any, "any", 1, true, Gives::Element, false},
    ReductionRow{ReduceKind::All, "all", 1, true, Gives::Element, false},
    ReductionRow{ReduceKind::Dot, "dot", 2, false, Gives::Accumulator, false},
    ReductionRow{ReduceKind::Mean, "mean", 1, false, Gives::Accumulator, false},
    ReductionRow{ReduceKind::ArgMax, "argmax", 1, false, Gives::Index, true},
    ReductionRow{ReduceKind::ArgMin, "argmin", 1, false, Gives::Index, true},
    ReductionRow{ReduceKind::Reduce, "reduce", 1, false, Gives::Element, false},
    ReductionRow{ReduceKind::CumSum, "cumsum", 1, false, Gives::Accumulator, true},
    ReductionRow{ReduceKind::CumProd, "cumprod", 1, false, Gives::Accumulator, true},
    ReductionRow{ReduceKind::CumMax, "cummax", 1, false, Gives::Element, true},
    ReductionRow{ReduceKind::Scan, "scan", 1, false, Gives::Element, true},
};

}  // namespace

std::span<const ReductionRow> AllReductions() { return kReductions; }

const ReductionRow& ReductionRowOf(ReduceKind kind) {
  return kReductions[static_cast<size_t>(kind)];
}

std::string_view Spelling(ReduceKind kind) { return ReductionRowOf(kind).spelling; }

std::optional<ReduceKind> FindReduction(std::string_view spelling) {
  for (const ReductionRow& row : kReductions) {
    if (row.spelling == spelling) return row.kind;
  }
  return std::nullopt;
}

}  // namespace kdl::sema
