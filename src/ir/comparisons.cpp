#include "ir/comparisons.h"

#include "support/check.h"

namespace kdl::ir {

namespace {

struct Row {
  OpKind kind;
  OpKind mirrored;
  OpKind negated;
};

constexpr Row kRows[] = {
    {OpKind::Eq, OpKind::Eq, OpKind::Ne}, {OpKind::Ne, OpKind::Ne, OpKind::Eq},
    {OpKind::Lt, OpKind::Gt, OpKind::Ge}, {OpKind::Le, OpKind::Ge, OpKind::Gt},
    {OpKind::Gt, OpKind::Lt, OpKind::Le}, {OpKind::Ge, OpKind::Le, OpKind::Lt},
};

const Row* Find(OpKind kind) {
  for (const Row& row : kRows) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

const Row& RowOf(OpKind comparison) {
  const Row* row = Find(comparison);
  KDL_CHECK(row, "operation {} is no comparison", static_cast<int>(comparison));
  return *row;
}

}  // namespace

bool IsComparison(OpKind kind) { return Find(kind) != nullptr; }
OpKind Mirrored(OpKind comparison) { return RowOf(comparison).mirrored; }
OpKind Negated(OpKind comparison) { return RowOf(comparison).negated; }

}  // namespace kdl::ir
