#include "tools/testing/test_targets.h"

#include <fmt/format.h>

#include "driver/run/executor.h"
#include "driver/run/run_program.h"
#include "kdl/runtime.h"
#include "targets/kinds.h"

namespace kdl::tools {

namespace {

using Cores = std::vector<std::optional<int64_t>>;

constexpr double kMostInterpreted = 2e4;

/// Returns the levels that this machine's processor supports, except the best level, which `host`
/// already uses.
std::vector<std::string> LowerLevels(const targets::Registry& families) {
  std::vector<std::string> specs;
  kdl_context* made = nullptr;
  Result<std::vector<targets::Target>> levels = families.ParseTargets(targets::kOwnKind);
  if (!levels.ok() || !driver::StatusOf(kdl_context_create(&made)).ok()) return specs;
  driver::Context context(made);
  for (const targets::Target& level : *levels) {  // in ascending order
    std::string spec = level.spec;
    kdl_device* device = nullptr;
    if (driver::StatusOf(kdl_select_device(made, spec.c_str(), &device)).ok())
      specs.push_back(spec);
  }
  if (!specs.empty()) specs.pop_back();
  return specs;
}

}  // namespace

std::vector<TestTarget> TestTargets(const driver::Options& options,
                                    const targets::Registry& families) {
  Cores all = {1, 2, 3, 1000, std::nullopt};
  Cores some = {3};
  if (options.core_num) all = some = {*options.core_num};
  std::vector<TestTarget> targets;
  for (const std::string& spec : options.target) targets.push_back({spec, all});
  if (!targets.empty()) return targets;
  targets.push_back({std::string(targets::kOwnKind), all});
  for (const std::string& spec : LowerLevels(families)) targets.push_back({spec, some});
  targets.push_back({std::string(targets::kDebugKind), some});
  targets.push_back({std::string(targets::kReferenceKind), some, kMostInterpreted});
  return targets;
}

std::vector<std::string> TargetSpecs(const std::vector<TestTarget>& targets) {
  std::vector<std::string> specs;
  for (const TestTarget& target : targets) specs.push_back(target.spec);
  return specs;
}

}  // namespace kdl::tools
