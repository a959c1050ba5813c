#include "targets/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "targets/host/host_target.h"  // IWYU pragma: keep: targets.def
#include "targets/spec.h"

namespace kdl::targets {

namespace {

constexpr TargetKind kKinds[] = {
#define KDL_TARGET(kind, keys, make, summary) {kind, keys, make, summary},
#include "targets/targets.def"
};

/// `words` are separated by single spaces.
bool Contains(std::string_view words, std::string_view word) {
  for (size_t begin = 0; begin <= words.size();) {
    size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::span<const TargetKind> TargetKinds() { return kKinds; }

Result<std::vector<Target>> ParseTargets(std::string_view text) {
  Result<Spec> spec = ParseSpec(text);
  if (!spec) return spec.failure();
  auto row = std::find_if(std::begin(kKinds), std::end(kKinds),
                          [&](const TargetKind& kind) { return kind.kind == spec->kind; });
  if (row == std::end(kKinds)) {
    std::string known;
    for (const TargetKind& kind : kKinds)
      fmt::format_to(std::back_inserter(known), " {}", kind.kind);
    return Failure{fmt::format("target '{}': there is no kind '{}'; the kinds are:{}", text,
                               spec->kind, known),
                   FailureKind::Usage};
  }
  Result<std::vector<Target>> targets = row->make(*spec);
  if (!targets) return targets;
  Spec device = *spec;
  std::erase_if(device.options,
                [&](const auto& option) { return Contains(row->keys, option.first); });
  for (Target& target : *targets) target.device = ToString(device);
  return targets;
}

}  // namespace kdl::targets
