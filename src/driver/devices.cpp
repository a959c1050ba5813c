#include "driver/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "driver/diagnostics.h"
#include "support/near_names.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

ir::Device* Find(ir::Module& module, std::string_view name) {
  for (ir::Device& device : module.devices) {
    if (device.name.text() == name) return &device;
  }
  return nullptr;
}

/// By the name that the command line has for it.
ir::Device* FindInSource(ir::Module& module, std::string_view name) {
  for (ir::Device& device : module.devices) {
    if (NameInSource(device.name.text()) == name) return &device;
  }
  return nullptr;
}

/// Reports a list of specs that has an empty element.
bool IsList(std::string_view list, DiagnosticEngine& diagnostics) {
  std::vector<std::string_view> elements = SplitList(list);
  if (std::ranges::find(elements, std::string_view()) == elements.end()) return true;
  diagnostics.Report(
      diag::UnknownTarget, {},
      fmt::format("device list '{}' has an empty element; it reads spec,spec, such as opencl,host",
                  list));
  return false;
}

/// --device NAME=SPEC, one after the other.
bool Rebind(ir::Module& module, const std::string& file, const Options& options,
            DiagnosticEngine& diagnostics) {
  std::vector<std::string> texts;
  for (const ir::Device& device : module.devices) texts.push_back(NameInSource(device.name.text()));
  std::vector<std::string_view> names(texts.begin(), texts.end());
  bool all = true;
  std::map<const ir::Device*, std::string> bound;
  for (const std::string& text : options.device) {
    auto assignment = SplitAssignment("--device", text, "--device npu=debug", diagnostics);
    ir::Device* device = assignment ? FindInSource(module, assignment->name) : nullptr;
    if (device) {
      auto [first, is_new] = bound.emplace(device, assignment->value);
      if (!is_new)
        diagnostics.Report(diag::DeviceTwice, {}, assignment->name, first->second,
                           assignment->value);
      all &= is_new && IsList(assignment->value, diagnostics);
      device->spec = assignment->value;
      continue;
    }
    all = false;
    if (!assignment) continue;
    Diagnostic& report = diagnostics.Report(diag::UnknownDevice, {}, file, assignment->name);
    std::string_view near = NearestName(assignment->name, names);
    if (!near.empty()) {
      report.Help(fmt::format("did you mean '{}'?", near));
    } else if (names.empty()) {
      report.Help(
          fmt::format("to run on another device than the host: --target {}", assignment->value));
    } else {
      report.Help(fmt::format("it declares {}", QuotedList(names)));
    }
  }
  return all;
}

/// The spec with what other devices stand for (`@cpu`, alone or in a list) in their place. `depth`: how many led here;
/// devices that stand for each other in a circle, which only KIR text can have, stand for nothing.
std::string Followed(ir::Module& module, const std::string& spec, size_t depth = 0) {
  std::string list;
  for (std::string_view one : SplitList(spec)) {
    std::string text(one);
    if (one.starts_with('@')) {
      const ir::Device* other = Find(module, one.substr(1));
      bool known = other && depth < module.devices.size();
      text = known ? Followed(module, other->spec, depth + 1) : std::string();
    }
    if (!text.empty()) list += (list.empty() ? "" : ",") + text;
  }
  return list;
}

/// The promise that leaves a device without any spec: itself, or what it stands for.
const ir::Device& PromiseOf(ir::Module& module, const ir::Device& device, size_t depth = 0) {
  for (std::string_view one : SplitList(device.spec)) {
    const ir::Device* other = one.starts_with('@') ? Find(module, one.substr(1)) : nullptr;
    if (other && depth < module.devices.size()) return PromiseOf(module, *other, depth + 1);
  }
  return device;
}

}  // namespace

std::optional<std::string> OnlyTarget(const Options& options, DiagnosticEngine& diagnostics) {
  const std::vector<std::string>& given = options.target;
  if (given.size() < 2) return given.empty() ? std::string() : given[0];
  diagnostics.Report(diag::SeveralTargets, {}, given[0], given[1])
      .Help("leave one away, or bind declared devices one by one with --device");
  return std::nullopt;
}

std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const Options& options, DiagnosticEngine& diagnostics) {
  if (!under_test.empty() && !IsList(under_test, diagnostics)) return std::nullopt;
  for (ir::Device& device : module.devices) {
    if (!under_test.empty()) device.spec = under_test;
  }
  if (!Rebind(module, file, options, diagnostics)) return std::nullopt;
  if (module.devices.empty()) {
    std::string spec = under_test.empty() ? std::string(targets::kOwnKind) : under_test;
    module.devices.push_back({module.context().names.Intern(targets::kOwnKind), spec});
  }
  DeviceSpecs specs;
  for (const ir::Device& device : module.devices) {
    std::string spec = Followed(module, device.spec);
    if (spec.empty() && needs_all) {
      std::string name = NameInSource(PromiseOf(module, device).name.text());
      diagnostics.Report(diag::UnboundDevice, {}, name, file)
          .Help(fmt::format("--device {}=host, or another spec of `kernelc targets`", name));
      return std::nullopt;
    }
    specs[device.name.str()] = spec;
  }
  return specs;
}

}  // namespace kdl::driver
