#include "ir/comparisons.h"

#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

struct ComparisonRow {
  OpKind kind;
  OpKind mirrored;
  OpKind negated;
};

constexpr ComparisonRow kComparisons[] = {
    {OpKind::Eq, OpKind::Eq, OpKind::Ne}, {OpKind::Ne, OpKind::Ne, OpKind::Eq},
    {OpKind::Lt, OpKind::Gt, OpKind::Ge}, {OpKind::Le, OpKind::Ge, OpKind::Gt},
    {OpKind::Gt, OpKind::Lt, OpKind::Le}, {OpKind::Ge, OpKind::Le, OpKind::Lt},
};

const ComparisonRow* Find(OpKind kind) {
  for (const ComparisonRow& row : kComparisons) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

const ComparisonRow& FindComparison(OpKind comparison) {
  const ComparisonRow* row = Find(comparison);
  KDL_CHECK(row, "operation {} is not a comparison", static_cast<int>(comparison));
  return *row;
}

}  // namespace

bool IsComparison(OpKind kind) { return Find(kind) != nullptr; }
OpKind Mirrored(OpKind comparison) { return FindComparison(comparison).mirrored; }
OpKind Negated(OpKind comparison) { return FindComparison(comparison).negated; }

}  // namespace kdl::ir
