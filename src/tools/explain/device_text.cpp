#include "tools/explain/device_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "driver/run/executor.h"
#include "driver/run/run_program.h"
#include "kdl/runtime.h"
#include "tools/loading/interpreters.h"

namespace kdl::tools {

namespace {

using targets::Target;

std::string TraitLine(std::string_view name, std::string_view value) {
  return fmt::format("  {:<44}{}\n", name, value);
}

/// Returns the properties that all devices have, followed by those specific to the device's kind.
std::string DeviceText(const kdl_device* device, const kdl_device_facts& facts) {
  std::string text = fmt::format("{}, as the runtime sees it:\n", kdl_device_uri(device));
  text += TraitLine("cores of a launch", fmt::to_string(facts.cores));
  if (facts.memory_bytes > 0)
    text += TraitLine("bytes of memory", fmt::to_string(facts.memory_bytes));
  text += TraitLine("same bits as the reference", facts.exact != 0 ? "yes" : "no");
  std::vector<kdl_property> all(static_cast<size_t>(kdl_device_get_properties(device, nullptr, 0)));
  kdl_device_get_properties(device, all.data(), static_cast<int64_t>(all.size()));
  for (const kdl_property& one : all)
    text += TraitLine(one.name, one.text ? std::string(one.text) : fmt::to_string(one.number));
  if (*facts.arch != '\0') text += TraitLine("runs code for", facts.arch);
  return text;
}

/// Returns the targets whose code the device runs, for all architectures in `archs`, best first. If
/// the spec names a level, returns only `named`.
std::vector<Target> TargetsFor(const targets::Spec& spec, const std::vector<Target>& named,
                               std::string_view archs, const targets::Registry& families) {
  bool names_level =
      std::ranges::any_of(spec.options, [](const auto& option) { return option.first == "isa"; });
  if (names_level || archs.empty() || named[0].interprets) return named;
  std::vector<Target> found;
  while (!archs.empty()) {
    std::string arch(archs.substr(0, archs.find(' ')));
    archs.remove_prefix(std::min(arch.size() + 1, archs.size()));
    auto is_of_arch = [&](const Target& target) { return target.facts->arch == arch; };
    std::vector<Target> of_arch = named;
    if (std::ranges::none_of(named, is_of_arch)) {
      targets::Spec of_level = spec;
      of_level.options.emplace_back("isa", arch);
      Result<std::vector<Target>> made = families.ParseTargets(ToString(of_level));
      of_arch = made.ok() ? std::move(*made) : std::vector<Target>();
    }
    std::ranges::copy_if(of_arch, std::back_inserter(found), is_of_arch);
  }
  return found;
}

bool Runs(const kdl_device_facts& facts, const Target& target) {
  bool has_features = (target.facts->required_features & ~facts.features) == 0;
  std::string archs = fmt::format(" {} ", facts.arch);
  bool has_arch =
      archs == "  " || archs.find(fmt::format(" {} ", target.facts->arch)) != archs.npos;
  return target.interprets || (has_features && has_arch);
}

std::string TargetText(const Target& target, bool runs) {
  std::string text = fmt::format(
      "{}{}\n", target.spec, runs ? ", which is compiled for:" : ", whose code it does not run:");
  if (!target.family->traits) return text;
  for (const targets::Trait& trait : target.family->traits(*target.facts))
    text += TraitLine(trait.name, trait.value);
  return text;
}

Result<std::string> Describe(kdl_context* context, const std::string& text,
                             const targets::Registry& families) {
  Result<targets::Spec> spec = targets::ParseSpec(text);
  if (!spec) return spec.failure();
  Result<std::vector<Target>> named = families.ParseTargets(text);
  if (!named) return named.failure();
  kdl_device* device = nullptr;
  Status status = driver::StatusOf(kdl_select_device(context, (*named)[0].device.c_str(), &device));
  if (!status.ok()) return status.failure();
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  status = driver::StatusOf(kdl_device_get_facts(device, &facts));
  if (!status.ok()) return status.failure();
  std::string described = DeviceText(device, facts);
  for (const Target& target : TargetsFor(*spec, *named, facts.arch, families))
    described += TargetText(target, Runs(facts, target));
  return described;
}

}  // namespace

Result<std::string> DescribeDevices(const std::vector<std::string>& specs,
                                    const targets::Registry& families) {
  kdl_context* made = nullptr;
  Status status = driver::StatusOf(kdl_context_create(&made));
  driver::Context context(made);
  if (status.ok()) status = AddInterpreters(context.get(), families);
  if (!status.ok()) return status.failure();
  std::string text;
  for (const std::string& spec : specs) {
    Result<std::string> one = Describe(context.get(), spec, families);
    if (!one) return one;
    text += *one;
  }
  return text;
}

}  // namespace kdl::tools
