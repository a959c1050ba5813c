#include "driver/compile/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/run/devices.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

/// Whether any requested output needs code for a target.
bool NeedsCode(const Emits& emits) {
  constexpr Emit kOfTargets[] = {Emit::Obj, Emit::CSource, Emit::Ffi,    Emit::Llvm,  Emit::Asm,
                                 Emit::Exe, Emit::Shared,  Emit::Images, Emit::Python};
  return !emits.texts.empty() ||
         std::ranges::any_of(kOfTargets, [&](Emit emit) { return emits.Has(emit); });
}

/// Whether a program other than kernelc can load the objects. Reports an error if not.
bool HasLoader(Session& s, const DeviceSpecs& specs, const Emits& emits) {
  constexpr std::pair<Emit, std::string_view> kLoaded[] = {{Emit::Obj, "obj"},
                                                           {Emit::Shared, "shared"},
                                                           {Emit::Images, "images"},
                                                           {Emit::Python, "python"}};
  auto loaded =
      std::ranges::find_if(kLoaded, [&](const auto& one) { return emits.Has(one.first); });
  std::string_view word = loaded == std::end(kLoaded) ? "" : loaded->second;
  bool interprets = std::ranges::all_of(specs, [](const auto& device) {
    std::string_view spec = device.second;
    return spec.substr(0, spec.find('?')) == targets::kReferenceKind;
  });
  if (word.empty() || specs.empty() || !interprets) return true;
  s.diagnostics.Report(diag::NoLoader, {}, word)
      .Help("use --emit exe for a program with the interpreter, or compile for --target host");
  return false;
}

std::vector<std::string> BindingsOf(const ir::Module& module, const Places& places) {
  std::vector<std::string> bindings = places.bindings;
  if (!places.keeps_first || module.devices.empty()) return bindings;
  const std::string binds = NameInSource(module.devices[0].name.text()) + "=";
  auto is_first = [&](const std::string& text) { return text.starts_with(binds); };
  // If the first device is bound twice, keep both bindings so that a later check can report the
  // duplicate.
  if (std::ranges::count_if(bindings, is_first) == 1) std::erase_if(bindings, is_first);
  return bindings;
}

/// Adds `more`, the specs of another device under test, to `all`, the specs to generate code for.
void Join(DeviceSpecs& all, const DeviceSpecs& more) {
  for (const auto& [name, list] : more) {
    auto [known, is_new] = all.emplace(name, list);
    if (!is_new) known->second += "," + list;
  }
}

}  // namespace

std::optional<PlacedDevices> AssignDevices(Session& s, ir::Module& module, const Places& places) {
  const std::string& file = s.options.files[0];
  std::vector<std::string> tests = places.under_test;
  if (tests.empty()) tests.emplace_back();
  const std::vector<std::string> bindings = BindingsOf(module, places);
  PlacedDevices devices;
  for (const std::string& test : tests) {
    auto specs = ResolveSpecs(module, file, test, places.needs_all, bindings, s.diagnostics);
    if (!specs) return std::nullopt;
    devices.at_run.push_back(RuntimeSpecs(*specs, s.families));
    Join(devices.compiled, *specs);
  }
  if (!places.code_for.empty()) devices.compiled = {{kAnyDevice, places.code_for}};
  return devices;
}

std::optional<std::vector<WantedTarget>> TargetsOfDevices(Session& s, const ir::Module& module,
                                                          const PlacedDevices& devices,
                                                          const Emits& emits) {
  auto targets = ParseTargets(s, module, devices.compiled);
  if (!targets || !HasLoader(s, devices.compiled, emits)) return std::nullopt;
  if (!targets->empty() || !NeedsCode(emits)) return targets;
  const std::string& promise = devices.at_run[0].begin()->first;
  s.diagnostics.Report(diag::UnboundDevice, {}, promise, s.options.files[0])
      .Help(fmt::format(
          "bind it with --device {}=host, or with another spec from `kernelc targets`", promise));
  return std::nullopt;
}

}  // namespace kdl::driver
