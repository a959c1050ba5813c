#include "driver/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "driver/diagnostics.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

constexpr std::string_view kHost = "host";

ir::Device* Find(ir::Module& module, std::string_view name) {
  for (ir::Device& device : module.devices) {
    if (device.name.text() == name) return &device;
  }
  return nullptr;
}

/// `lib.npu` as KIR has it, `lib::npu`, and back.
std::string Replaced(std::string_view text, std::string_view part, std::string_view by) {
  std::string result(text);
  for (size_t at = result.find(part); at != std::string::npos;
       at = result.find(part, at + by.size())) {
    result.replace(at, part.size(), by);
  }
  return result;
}
std::string NameInIr(std::string_view name) { return Replaced(name, ".", "::"); }
std::string NameInSource(std::string_view name) { return Replaced(name, "::", "."); }

/// --device NAME=SPEC, one after the other.
bool Rebind(ir::Module& module, const std::string& file, const Options& options,
            DiagnosticEngine& diagnostics) {
  std::vector<std::string> texts;
  for (const ir::Device& device : module.devices) texts.push_back(NameInSource(device.name.text()));
  std::vector<std::string_view> names(texts.begin(), texts.end());
  bool all = true;
  for (const std::string& text : options.device) {
    auto assignment = SplitAssignment("--device", text, "--device npu=debug", diagnostics);
    ir::Device* device = assignment ? Find(module, NameInIr(assignment->name)) : nullptr;
    if (device) {
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

}  // namespace

std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const Options& options, DiagnosticEngine& diagnostics) {
  for (ir::Device& device : module.devices) {
    if (!under_test.empty()) device.spec = under_test;
  }
  if (!Rebind(module, file, options, diagnostics)) return std::nullopt;
  if (module.devices.empty()) {
    std::string spec = under_test.empty() ? std::string(kHost) : under_test;
    module.devices.push_back({module.context().names.Intern(kHost), spec});
  }
  DeviceSpecs specs;
  for (const ir::Device& device : module.devices) {
    std::string spec = Followed(module, device.spec);
    if (spec.empty() && needs_all) {
      std::string name = NameInSource(device.name.text());
      diagnostics.Report(diag::UnboundDevice, {}, name, file)
          .Help(fmt::format("--device {}=host, or another spec of `kernelc targets`", name));
      return std::nullopt;
    }
    specs[device.name.str()] = spec;
  }
  return specs;
}

}  // namespace kdl::driver
