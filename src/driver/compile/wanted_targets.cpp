#include "driver/compile/wanted_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <utility>

#include "driver/diagnostics.h"
#include "passes/pipelines.h"

namespace kdl::driver {

namespace {

bool SameCode(const targets::Target& a, const targets::Target& b) {
  return a.family == b.family && a.spec == b.spec;
}

/// Sorts the targets so that those of the same part, that is, of the same family and architecture,
/// are adjacent. Within a part, the target that requires the fewest processor features comes first.
std::vector<WantedTarget> Ordered(std::vector<WantedTarget> targets) {
  auto asks = [](const WantedTarget& t) {
    return std::popcount(t.target.facts->required_features);
  };
  std::vector<WantedTarget> ordered;
  for (WantedTarget& wanted : targets) {
    auto of_part = [&](const WantedTarget& t) { return InOnePart(t.target, wanted.target); };
    auto begin = std::find_if(ordered.begin(), ordered.end(), of_part);
    auto end = std::find_if_not(begin, ordered.end(), of_part);
    auto place =
        std::find_if(begin, end, [&](const WantedTarget& t) { return asks(wanted) < asks(t); });
    ordered.insert(place, std::move(wanted));
  }
  return ordered;
}

/// Adds the targets of one spec of a device. With `has_others`, skips a spec of an unknown kind,
/// since the device also has known specs. Returns false after an error.
bool Add(Session& s, const std::string& device, std::string_view spec, bool has_others,
         std::vector<WantedTarget>& wanted) {
  if (!s.families.Allows(spec)) {
    s.diagnostics
        .Report(diag::CodeNotAllowed, {}, NameInSource(device), spec, s.families.CodeFile(spec))
        .Help(fmt::format("if you trust it, add --allow-plugins, or --device '{}={}'",
                          NameInSource(device), spec));
    return false;
  }
  Result<std::vector<targets::Target>> named = s.families.ParseTargets(spec);
  if (!named.ok() && has_others && !s.families.Knows(spec)) {
    s.diagnostics.Report(diag::TargetPassedOver, {},
                         fmt::format("target '{}' of device '{}'", spec, device),
                         named.failure().message);
    return true;
  }
  if (!named.ok()) {
    std::string_view example = s.families.DescribedExample(spec);
    s.diagnostics.Report(diag::UnknownTarget, {}, named.failure().message)
        .Help(example.empty()
                  ? "`kernelc targets` lists the targets"
                  : fmt::format("`kernelc targets show {}` prints a description that works",
                                example));
    return false;
  }
  for (targets::Target& target : *named) {
    auto same = std::ranges::find_if(
        wanted, [&](const WantedTarget& t) { return SameCode(t.target, target); });
    if (same == wanted.end()) same = wanted.insert(wanted.end(), {std::move(target), {}});
    same->target.interprets |= target.interprets;
    same->devices.insert(device);
  }
  return true;
}

/// Whether the list element is not a device but the rest of a path that contains a comma.
bool IsRestOfPath(std::string_view element) {
  std::string_view kind = element.substr(0, element.find_first_of("[?"));
  bool has_path = kind.starts_with('@') || kind.starts_with("plugin:");
  return !has_path && std::ranges::any_of(kind, [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '-' && c != '_';
  });
}

/// Whether all elements of the lists are devices. Reports an error if a list was split at a comma
/// inside a path.
bool AreDevices(Session& s, const DeviceSpecs& specs) {
  for (const auto& [device, list] : specs) {
    std::vector<std::string_view> elements = SplitList(list);
    auto rest = std::ranges::find_if(elements, IsRestOfPath);
    if (rest == elements.end() || elements.size() < 2) continue;
    s.diagnostics
        .Report(diag::UnknownTarget, {},
                fmt::format("'{}' in '{}' is not a device: commas separate devices", *rest, list))
        .Help(
            "if the path of the file contains a comma, make a link without one: `ln -s 'a,b.so' "
            "ab.so`");
    return false;
  }
  return true;
}

/// Whether all targets of a part have different levels. Reports an error for two targets with the
/// same level, since the runtime distinguishes the targets of a part by level.
bool AreApart(const std::vector<WantedTarget>& ordered, DiagnosticEngine& diagnostics) {
  auto alike = [](const WantedTarget& a, const WantedTarget& b) {
    return InOnePart(a.target, b.target) && a.target.facts->level == b.target.facts->level;
  };
  for (auto a = ordered.begin(); a != ordered.end(); ++a) {
    auto b =
        std::find_if(a + 1, ordered.end(), [&](const WantedTarget& t) { return alike(*a, t); });
    if (b == ordered.end()) continue;
    const std::string& level = a->target.facts->level;
    diagnostics.Report(diag::TargetsAlike, {}, a->target.spec, b->target.spec, level)
        .Help(a->target.family->describe
                  ? fmt::format(
                        "both machines are named '{}': change the `name` in one description", level)
                  : "build for each target separately, with its own -o DIR");
    return false;
  }
  return true;
}

/// If the module is already lowered for a target, keeps only that target.
std::optional<std::vector<WantedTarget>> OnlyTextsTarget(Session& s, const ir::Module& module,
                                                         std::vector<WantedTarget> targets) {
  const std::string& after = module.after;
  bool is_scaled = after == passes::kProgramPipeline.back()->name;
  if (is_scaled && module.target.empty()) {
    s.diagnostics.Report(diag::TextOfSeveralTargets, {}, after)
        .Help(fmt::format("print it with one --target, or with --stop-after={}",
                          passes::kModulePipeline.back()->name));
    return std::nullopt;
  }
  if (module.target.empty()) return targets;
  Result<std::vector<targets::Target>> meant = s.families.ParseTargets(module.target);
  std::erase_if(targets, [&](const WantedTarget& wanted) {
    return !meant.ok() || !SameCode(wanted.target, (*meant)[0]);
  });
  if (!targets.empty()) return targets;
  s.diagnostics.Report(diag::TextOfTarget, {}, module.after, module.target)
      .Help(fmt::format("compile with --target '{}', or use KIR printed after '{}'", module.target,
                        passes::kModulePipeline.back()->name));
  return std::nullopt;
}

}  // namespace

bool InOnePart(const targets::Target& a, const targets::Target& b) {
  return a.family == b.family && a.facts->arch == b.facts->arch;
}

bool MayBeUnproven(Session& s, const DeviceSpecs& specs) {
  if (!s.options.unproven) return true;
  auto is_sanitized = [&](std::string_view text) {
    Result<std::vector<targets::Target>> targets = s.families.ParseTargets(text);
    return targets.ok() && (*targets)[0].sanitizes;
  };
  for (const auto& [name, list] : specs) {
    if (std::ranges::all_of(SplitList(list), is_sanitized)) continue;
    s.diagnostics
        .Report(diag::OptionNeedsOption, {}, "--unproven",
                "--target 'reference?sanitize=races+init'")
        .Help("only the interpreter, which checks each access, runs programs that are not proven");
    return false;
  }
  return true;
}

std::optional<std::vector<WantedTarget>> ParseTargets(Session& s, const ir::Module& module,
                                                      const DeviceSpecs& specs) {
  if (!AreDevices(s, specs)) return std::nullopt;
  std::vector<WantedTarget> wanted;
  for (const auto& [device, list] : specs) {
    std::vector<std::string_view> specs_of_device = SplitList(list);
    auto is_known = [&](std::string_view spec) { return s.families.Knows(spec); };
    bool has_others = std::ranges::any_of(specs_of_device, is_known);
    for (std::string_view spec : specs_of_device) {
      if (!spec.empty() && !Add(s, device, spec, has_others, wanted)) return std::nullopt;
    }
  }
  for (const auto& [device, list] : specs) {
    // A device without specs may be bound to any of the targets later.
    if (!list.empty()) continue;
    for (WantedTarget& target : wanted) target.devices.insert(device);
  }
  wanted = Ordered(std::move(wanted));
  if (!AreApart(wanted, s.diagnostics)) return std::nullopt;
  return OnlyTextsTarget(s, module, std::move(wanted));
}

DeviceSpecs RuntimeSpecs(const DeviceSpecs& specs, const targets::Registry& families) {
  DeviceSpecs stripped;
  for (const auto& [name, spec] : specs) {
    std::string list;
    for (std::string_view one : SplitList(spec)) {
      Result<std::vector<targets::Target>> targets = families.ParseTargets(one);
      list += (list.empty() ? "" : ",") + (targets.ok() ? (*targets)[0].device : std::string(one));
    }
    stripped[name] = list;
  }
  return stripped;
}

}  // namespace kdl::driver
