#include "targets/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "passes/pipelines.h"

namespace kdl::targets {

namespace {

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

Status Registry::AddPasses(const Family& family, passes::Pipeline pipeline) {
  for (const passes::Pass* pass : pipeline) {
    auto of_name = [&](const passes::Pass* known) { return known->name == pass->name; };
    auto known = std::find_if(passes_.begin(), passes_.end(), of_name);
    if (known == passes_.end()) {
      passes_.push_back(pass);
    } else if (*known != pass) {
      return Failure{fmt::format("family '{}': there is another pass '{}'", family.name, pass->name),
                     FailureKind::Usage};
    }
  }
  return {};
}

const TargetKind* Registry::FindKind(std::string_view kind) const {
  for (const Family* family : families_) {
    for (const TargetKind& row : family->kinds) {
      if (row.kind == kind) return &row;
    }
  }
  return nullptr;
}

Status Registry::Add(const Family& family) {
  std::optional<passes::Unmet> unmet = passes::FindUnmet(
      {passes::kModulePipeline, family.tiles, family.pipes, family.loops});
  if (unmet) {
    return Failure{fmt::format("family '{}': pass '{}' needs '{}', which no pass before it gives: {}",
                               family.name, unmet->pass->name, unmet->need.fact->name,
                               unmet->need.why),
                   FailureKind::Usage};
  }
  for (const TargetKind& kind : family.kinds) {
    if (!FindKind(kind.kind)) continue;
    return Failure{fmt::format("family '{}': there is another kind '{}'", family.name, kind.kind),
                   FailureKind::Usage};
  }
  for (passes::Pipeline pipeline : {passes::Pipeline(passes::kModulePipeline), family.tiles,
                                    family.pipes, passes::Pipeline(passes::kProgramPipeline),
                                    family.loops}) {
    Status added = AddPasses(family, pipeline);
    if (!added.ok()) return added;
  }
  families_.push_back(&family);
  return {};
}

Result<std::vector<Target>> Registry::ParseTargets(std::string_view text) const {
  Result<Spec> spec = ParseSpec(text);
  if (!spec) return spec.failure();
  const TargetKind* row = FindKind(spec->kind);
  if (!row) {
    std::string known;
    for (const Family* family : families_) {
      for (const TargetKind& kind : family->kinds)
        fmt::format_to(std::back_inserter(known), " {}", kind.kind);
    }
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
