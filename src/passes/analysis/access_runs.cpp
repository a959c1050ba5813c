#include "passes/analysis/access_runs.h"

namespace kdl::passes {

namespace {

constexpr unsigned long kOperationsOfRun = 400'000;  ///< of one question

}  // namespace

bool AccessRuns::Always(const Poly& a, ir::CompareKind compare, const Poly& b) {
  instances_.context().Allow(kOperationsOfRun);
  if (!runs_) runs_ = instances_.WithBounds(instances_.RunsOf(view_, masked_), known_);
  PointSet others = *runs_ & instances_.Compare(Negated(compare), a, b);
  return instances_.WithFacts(others, known_).IsSurelyEmpty();
}

}  // namespace kdl::passes
