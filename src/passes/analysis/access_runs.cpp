#include "passes/analysis/access_runs.h"

namespace kdl::passes {

namespace {

constexpr unsigned long kOperations = 400'000;  ///< of one question

}  // namespace

bool AccessRuns::Always(const Poly& a, ir::CompareKind compare, const Poly& b) {
  instances_.context().Allow(kOperations);
  if (!runs_) runs_ = instances_.RunsOf(view_, masked_);
  return instances_.WithFacts(*runs_ & instances_.Compare(Negated(compare), a, b)).IsSurelyEmpty();
}

bool AccessRuns::AlwaysInside(const Poly& index, const Poly& size) {
  return Always(index, ir::CompareKind::Ge, 0) && Always(index, ir::CompareKind::Lt, size);
}

}  // namespace kdl::passes
