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

bool LacksProcessor(std::string_view word, const targets::Registry& families) {
  constexpr std::string_view kOption = "--target=";
  if (word.starts_with(kOption)) word.remove_prefix(kOption.size());
  bool is_own = word.starts_with(targets::kOwnKind) || word.starts_with(targets::kDebugKind);
  if (!is_own || !families.ParseTargets(word).ok()) return false;
  kdl_context* made = nullptr;
  if (!driver::StatusOf(kdl_context_create(&made)).ok()) return false;
  driver::Context context(made);
  kdl_device* device = nullptr;
  kdl_error* error = kdl_select_device(made, std::string(word).c_str(), &device);
  bool lacks = kdl_error_code(error) == KDL_ERROR_UNSUPPORTED;
  kdl_error_free(error);
  return lacks;
}

std::vector<std::string> TargetSpecs(const std::vector<TestTarget>& targets) {
  std::vector<std::string> specs;
  for (const TestTarget& target : targets) specs.push_back(target.spec);
  return specs;
}

}  // namespace kdl::tools
