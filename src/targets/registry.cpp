#include "targets/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "passes/pipelines.h"
#include "support/check.h"
#include "support/near_names.h"

namespace kdl::targets {

namespace {

/// Whether `word` is one of the `words`, which are separated by single spaces.
bool Contains(std::string_view words, std::string_view word) {
  for (size_t begin = 0; begin <= words.size();) {
    size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

/// Fails if a key of the spec is known neither to the compiler nor to the runtime for this kind. The keys of
/// plugins are not checked, because only the plugin knows them.
Status CheckKeys(const Spec& spec, const TargetKind& kind) {
  if (!spec.path.empty()) return {};
  std::vector<std::string_view> known = KeysOf(kind);
  for (const auto& [key, value] : spec.options) {
    if (std::ranges::find(known, key) != known.end()) continue;
    std::string all = known.empty()
                          ? fmt::format("{} has no keys", kind.kind)
                          : fmt::format("the keys of {} are {}", kind.kind, fmt::join(known, " "));
    std::string_view nearest = NearestName(key, known);
    if (!nearest.empty()) all += fmt::format("; did you mean '{}'?", nearest);
    return Failure{fmt::format("target '{}': unknown key '{}'; {}", spec.text, key, all),
                   FailureKind::Usage};
  }
  return {};
}

/// Returns a failure that says why the family cannot be added.
template <class... Args>
Failure Refused(const Family& family, fmt::format_string<Args...> text, Args&&... args) {
  return {
      fmt::format("family '{}': {}", family.name, fmt::format(text, std::forward<Args>(args)...)),
      FailureKind::Usage};
}

}  // namespace

std::vector<std::string_view> KeysOf(const TargetKind& kind) {
  std::vector<std::string_view> keys = NamesIn(kind.keys);
  for (std::string_view key : NamesIn(kind.runtime_keys)) {
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

std::string_view KindWithoutFile(const Family& family) {
  for (const TargetKind& kind : family.kinds) {
    if (kind.programs_key.empty()) return kind.kind;
  }
  return {};
}

Status Registry::AddPasses(const Family& family, std::span<const passes::Pipeline> pipelines) {
  std::vector<const passes::Pass*> all;
  for (passes::Pipeline pipeline : pipelines)
    all.insert(all.end(), pipeline.begin(), pipeline.end());
  // A pass that only this family has is listed after the pass that it follows.
  auto at = passes_.begin();
  for (const passes::Pass* pass : all) {
    auto of_name = [&](const passes::Pass* known) { return known->name == pass->name; };
    auto known = std::find_if(passes_.begin(), passes_.end(), of_name);
    if (std::count(all.begin(), all.end(), pass) > 1)
      return Refused(
          family,
          "pass '{}' runs twice, so a .kir file printed after it would not show where to continue",
          pass->name);
    if (known == passes_.end()) {
      at = std::next(passes_.insert(at, pass));
    } else if (*known == pass) {
      at = std::next(known);
    } else {
      return Refused(family, "there is another pass '{}'", pass->name);
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
  const passes::Pipeline pipelines[] = {passes::kModulePipeline, family.tiles, family.pipes,
                                        passes::kProgramPipeline, family.loops};
  if (std::optional<passes::Unmet> unmet = passes::FindUnmet(pipelines)) {
    return Refused(family, "pass '{}' needs '{}', which no earlier pass establishes: {}",
                   unmet->pass->name, unmet->need.fact->name, unmet->need.why);
  }
  for (const passes::Need& need : family.code_needs) {
    if (passes::Establishes(pipelines, need.fact)) continue;
    return Refused(family, "code generation needs '{}', which no pass establishes: {}",
                   need.fact->name, need.why);
  }
  for (const TargetKind& kind : family.kinds) {
    auto of_name = [&](const TargetKind& other) { return other.kind == kind.kind; };
    if (FindKind(kind.kind) || std::ranges::count_if(family.kinds, of_name) > 1)
      return Refused(family, "there is another kind '{}'", kind.kind);
  }
  for (const ir::MatrixInstruction* instruction : family.instructions) {
    auto of_name = [&](const ir::MatrixInstruction* other) {
      return other->name == instruction->name;
    };
    if (std::ranges::any_of(instructions_, of_name) ||
        std::ranges::count_if(family.instructions, of_name) > 1)
      return Refused(family, "there is another matrix instruction '{}'", instruction->name);
    if (!ir::IsSound(*instruction))
      return Refused(
          family,
          "matrix instruction '{}' must have 1 to {} terms per step; with pairs, a power "
          "of two and op 'mul'",
          instruction->name, ir::kMaxInstructionDepth);
  }
  Status added = AddPasses(family, pipelines);
  if (!added.ok()) return added;
  families_.push_back(&family);
  instructions_.insert(instructions_.end(), family.instructions.begin(), family.instructions.end());
  return added;
}

std::vector<std::string_view> Registry::texts() const {
  std::vector<std::string_view> texts;
  for (const Family* family : families_) {
    for (const TargetKind& kind : family->kinds) {
      if (!kind.text.empty()) texts.push_back(kind.text);
    }
  }
  return texts;
}

std::string_view Registry::DescribedExample(std::string_view text) const {
  Result<Spec> spec = ParseSpec(text);
  if (!spec) return {};
  for (const Family* family : families_) {
    auto row = std::ranges::find(family->kinds, spec->kind, &TargetKind::kind);
    if (row != family->kinds.end() && !row->programs_key.empty()) return KindWithoutFile(*family);
  }
  return {};
}

std::string Registry::CodeFile(std::string_view text) const {
  Result<Spec> spec = ParseSpec(text);
  if (!spec) return {};
  if (!spec->path.empty()) return spec->path;
  const TargetKind* row = FindKind(spec->kind);
  for (const auto& [key, value] : spec->options) {
    if (row && key == row->programs_key) return value;
  }
  return {};
}

bool Registry::Allows(std::string_view text) const {
  std::string file = CodeFile(text);
  return allows_all_ || file.empty() || allowed_.contains(file);
}

bool Registry::Knows(std::string_view text) const {
  Result<Spec> spec = ParseSpec(text);
  return spec && KindFor(*spec).ok();
}

Result<const TargetKind*> Registry::KindFor(const Spec& spec) const {
  if (!Allows(spec.text))
    return Failure{fmt::format("target '{}': code of '{}' runs only if it is allowed", spec.text,
                               CodeFile(spec.text)),
                   FailureKind::Usage};
  std::string kind = spec.kind;
  if (!spec.path.empty() && image_kind_of_) {
    Result<std::string> images = image_kind_of_(spec.path);
    if (!images)
      return Failure{fmt::format("target '{}': {}", spec.text, images.failure().message),
                     FailureKind::Usage};
    kind = *images;
  }
  const TargetKind* row = FindKind(kind);
  if (row) return row;
  std::string known;
  for (const Family* family : families_) {
    for (const TargetKind& one : family->kinds)
      fmt::format_to(std::back_inserter(known), " {}", one.kind);
  }
  std::string text = fmt::format("unknown kind '{}'; the kinds are:{} plugin:PATH", kind, known);
  if (kind != spec.kind)
    text = fmt::format("it needs images of kind '{}', but only these can be generated:{}", kind,
                       known);
  return Failure{fmt::format("target '{}': {}", spec.text, text), FailureKind::Usage};
}

Result<std::vector<Target>> Registry::ParseTargets(std::string_view text) const {
  Result<Spec> spec = ParseSpec(text);
  if (!spec) return spec.failure();
  Result<const TargetKind*> found = KindFor(*spec);
  if (!found) return found.failure();
  const TargetKind* row = *found;
  Status checked = CheckKeys(*spec, *row);
  if (!checked.ok()) return checked.failure();
  Result<std::vector<Target>> targets = row->make(*spec);
  if (!targets) return targets;
  KDL_CHECK(!targets->empty(), "kind '{}' has made no targets for '{}'", row->kind, text);
  Spec device = *spec;
  // A plugin does not know the compiler's keys, so all of them are removed.
  std::string_view shared = spec->path.empty() ? row->runtime_keys : "";
  std::erase_if(device.options, [&](const auto& option) {
    return Contains(row->keys, option.first) && !Contains(shared, option.first);
  });
  for (Target& target : *targets) target.device = ToString(device);
  return targets;
}

}  // namespace kdl::targets
