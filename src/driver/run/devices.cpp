#include "driver/run/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/diagnostics.h"
#include "support/near_names.h"
#include "support/rank_limit.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

ir::Device* Find(ir::Module& module, std::string_view name) {
  for (ir::Device& device : module.devices) {
    if (device.name.text() == name) return &device;
  }
  return nullptr;
}

/// Finds a device by the name that the user writes on the command line.
ir::Device* FindInSource(ir::Module& module, std::string_view name) {
  for (ir::Device& device : module.devices) {
    if (NameInSource(device.name.text()) == name) return &device;
  }
  return nullptr;
}

/// Whether a list of specs has no empty elements. Reports an error if it has any.
bool IsList(std::string_view list, DiagnosticEngine& diagnostics) {
  std::vector<std::string_view> elements = SplitList(list);
  if (std::ranges::find(elements, std::string_view()) == elements.end()) return true;
  diagnostics.Report(
      diag::UnknownTarget, {},
      fmt::format("device list '{}' has an empty element; write spec,spec, such as opencl,host",
                  list));
  return false;
}

/// Reports a name that no device of the module has.
Diagnostic& ReportUnknown(ir::Module& module, const std::string& file, std::string_view name,
                          DiagnosticEngine& diagnostics) {
  std::vector<std::string> texts;
  for (const ir::Device& device : module.devices) texts.push_back(NameInSource(device.name.text()));
  std::vector<std::string_view> names(texts.begin(), texts.end());
  Diagnostic& report = diagnostics.Report(diag::UnknownDevice, {}, file, name);
  bool has_given = std::ranges::any_of(module.devices, &ir::Device::is_given);
  if (has_given && name.find('.') == std::string_view::npos) {
    return report.Help(
        fmt::format("it declares no device, and --device can add only one, here '{}'; declare "
                    "several devices in the file, `device {};`, and name one in each launch",
                    NameInSource(module.devices[0].name.text()), name));
  }
  std::string_view nearest = NearestName(name, names);
  if (!nearest.empty()) return report.Help(fmt::format("did you mean '{}'?", nearest));
  if (names.empty()) return report;
  return report.Help(fmt::format("it declares {}", QuotedList(names)));
}

/// Reads `4` or `2x4`. Numbers that are too large become the greatest one. Returns nothing for other texts.
std::optional<std::vector<int64_t>> ReadShape(std::string_view text) {
  std::vector<int64_t> shape;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    int64_t count = 0;
    auto [last, failed] = std::from_chars(at, end, count);
    if (failed == std::errc::result_out_of_range) count = std::numeric_limits<int64_t>::max();
    if (failed == std::errc::invalid_argument) return std::nullopt;
    shape.push_back(count);
    if (last == end) return shape;
    if (*last != 'x') return std::nullopt;
    at = last + 1;
  }
}

/// Returns what is wrong with the shape in a value such as `ranks?count=2x4`, or an empty string.
std::string ShapeFault(const std::optional<std::vector<int64_t>>& shape, const ir::Device& device) {
  if (!shape) return "expected a number such as 8, or a shape such as 2x4";
  if (!IsRankShape(*shape)) return fmt::format("a device has 1 to {} ranks", kMostRanks);
  size_t axes = device.rank_shape.size();
  if (shape->size() == 1 || shape->size() == axes) return "";
  return axes < 2 ? "it is declared without a shape, so only their number can be given"
                  : fmt::format("it is declared with {} axes", axes);
}

/// Reads the value that --device binds to a device with ranks: `ranks`, `ranks?count=8` or `ranks?count=2x4`.
bool BindRanks(ir::Device& device, const std::string& value, DiagnosticEngine& diagnostics) {
  constexpr std::string_view kCounted = "ranks?count=";
  if (value == "ranks") return true;
  std::string name = NameInSource(device.name.text());
  std::string fault = value.starts_with(kCounted)
                          ? SetRanks(device, std::string_view(value).substr(kCounted.size()))
                          : "expected `ranks`, or `ranks?count=` and a number or shape";
  if (fault.empty()) return true;
  diagnostics.Report(diag::RanksSpec, {}, value, name, fault)
      .Help(fmt::format("use --device {}=ranks?count=4, which has 4 ranks in one process", name));
  return false;
}

/// Sets the spec of a device, or the number of its ranks.
bool Bind(ir::Device& device, const std::string& value, DiagnosticEngine& diagnostics) {
  if (device.has_ranks) return BindRanks(device, value, diagnostics);
  if (value == "ranks" || value.starts_with("ranks?")) {
    std::string name = NameInSource(device.name.text());
    diagnostics.Report(diag::NoRanks, {}, name, value)
        .Help(fmt::format("declare it with `device {} = ranks();`", name));
    return false;
  }
  device.spec = value;
  return IsList(value, diagnostics);
}

/// Applies --device NAME=SPEC options.
bool Rebind(ir::Module& module, const std::string& file, const std::vector<std::string>& bindings,
            DiagnosticEngine& diagnostics) {
  bool all = true;
  std::map<const ir::Device*, std::string> bound;
  for (const std::string& text : bindings) {
    auto assignment = SplitAssignment("--device", text, "--device npu=debug", diagnostics);
    ir::Device* device = assignment ? FindInSource(module, assignment->name) : nullptr;
    if (device) {
      auto [first, is_new] = bound.emplace(device, assignment->value);
      if (!is_new)
        diagnostics.Report(diag::DeviceTwice, {}, assignment->name, first->second,
                           assignment->value);
      all &= is_new && Bind(*device, assignment->value, diagnostics);
      continue;
    }
    all = false;
    if (!assignment) continue;
    Diagnostic& report = ReportUnknown(module, file, assignment->name, diagnostics);
    if (module.devices.empty()) {
      report.Help(fmt::format("to run on another device than the host, use --target {}",
                              assignment->value));
    }
  }
  return all;
}

/// Returns the device that a list element such as `@cpu` refers to, or null if the element is a
/// spec.
ir::Device* Represents(ir::Module& module, std::string_view element) {
  if (!element.starts_with('@')) return nullptr;
  ir::Device* own = Find(module, element.substr(1));
  return own ? own : FindInSource(module, element.substr(1));
}

/// Checks that all devices that `device` refers to exist, and that `device` does not refer to
/// itself, even indirectly. `path` contains the devices whose references led to `device`.
bool CheckWhatTheyStandFor(ir::Module& module, const std::string& file, const ir::Device& device,
                           std::vector<std::string>& path, std::set<const ir::Device*>& checked,
                           DiagnosticEngine& diagnostics) {
  if (!checked.insert(&device).second) return true;
  path.push_back(NameInSource(device.name.text()));
  for (std::string_view element : SplitList(device.spec)) {
    if (!element.starts_with('@')) continue;
    const ir::Device* other = Represents(module, element);
    if (!other) {
      ReportUnknown(module, file, element.substr(1), diagnostics);
      return false;
    }
    auto first = std::ranges::find(path, NameInSource(other->name.text()));
    if (first != path.end()) {
      diagnostics.Report(diag::DevicesInCircle, {}, *first,
                         fmt::format("{} -> {}", fmt::join(first, path.end(), " -> "), *first));
      return false;
    }
    if (!CheckWhatTheyStandFor(module, file, *other, path, checked, diagnostics)) return false;
  }
  path.pop_back();
  return true;
}

/// Appends the elements of a spec to `list`, with references to devices replaced by the specs of
/// those devices. Duplicates are dropped, since the runtime uses the first available element.
void AddFollowed(ir::Module& module, const std::string& spec, std::set<const ir::Device*>& followed,
                 std::vector<std::string>& list) {
  for (std::string_view element : SplitList(spec)) {
    if (const ir::Device* other = Represents(module, element)) {
      if (followed.insert(other).second) AddFollowed(module, other->spec, followed, list);
    } else if (!element.empty() && std::ranges::find(list, element) == list.end()) {
      list.emplace_back(element);
    }
  }
}

std::string Followed(ir::Module& module, const std::string& spec) {
  std::set<const ir::Device*> followed;
  std::vector<std::string> list;
  AddFollowed(module, spec, followed, list);
  return fmt::format("{}", fmt::join(list, ","));
}

/// Returns the unbound device that is the reason why `device` has no spec. It is `device` itself,
/// or a device that it refers to.
const ir::Device& PromiseOf(ir::Module& module, const ir::Device& device) {
  for (std::string_view element : SplitList(device.spec)) {
    if (const ir::Device* other = Represents(module, element)) return PromiseOf(module, *other);
  }
  return device;
}

}  // namespace

std::optional<std::string> OnlyTarget(const Options& options, DiagnosticEngine& diagnostics) {
  const std::vector<std::string>& given = options.target;
  if (given.size() < 2) return given.empty() ? std::string() : given[0];
  diagnostics.Report(diag::SeveralTargets, {}, given[0], given[1])
      .Help("remove one, or bind declared devices one by one with --device");
  return std::nullopt;
}

std::string SetRanks(ir::Device& device, std::string_view text) {
  std::optional<std::vector<int64_t>> shape = ReadShape(text);
  if (std::string fault = ShapeFault(shape, device); !fault.empty()) return fault;
  device.rank_count = 1;
  for (int64_t along : *shape) device.rank_count *= along;
  if (shape->size() > 1) device.rank_shape = *std::move(shape);
  return "";
}

std::optional<RankGrid> GridOf(const ir::Device& device, int64_t count) {
  if (device.rank_shape.empty()) return RankGrid({count});
  if (count == 1) return RankGrid();
  RankGrid grid(device.rank_shape);
  return grid.count() == count ? std::optional(grid) : std::nullopt;
}

std::optional<RankGrid> GridOf(const ir::Device& device, int64_t count,
                               DiagnosticEngine& diagnostics) {
  std::optional<RankGrid> grid = GridOf(device, count);
  if (grid) return grid;
  ReportRanksShape(device, count, diagnostics)
      .Help(fmt::format(
          "start {} processes, or declare `device {} = ranks(…);` with a product of {}",
          RankGrid(device.rank_shape).count(), NameInSource(device.name.text()), count));
  return std::nullopt;
}

Diagnostic& ReportRanksShape(const ir::Device& device, int64_t count,
                             DiagnosticEngine& diagnostics) {
  return diagnostics.Report(diag::RanksShape, {}, NameInSource(device.name.text()),
                            fmt::format("{}", fmt::join(device.rank_shape, ", ")),
                            RankGrid(device.rank_shape).count(), count);
}

std::string PlaceOfKernel(const ir::Module& module, const std::string& target,
                          const Options& options) {
  if (!module.devices.empty()) {
    const std::string binds = NameInSource(module.devices[0].name.text()) + "=";
    for (const std::string& text : options.device) {
      if (text.starts_with(binds)) return text.substr(binds.size());
    }
  }
  return target.empty() ? std::string(targets::kOwnKind) : target;
}

std::optional<DeviceSpecs> ResolveSpecs(ir::Module& module, const std::string& file,
                                        const std::string& under_test, bool needs_all,
                                        const std::vector<std::string>& bindings,
                                        DiagnosticEngine& diagnostics) {
  if (!under_test.empty() && !IsList(under_test, diagnostics)) return std::nullopt;
  for (ir::Device& device : module.devices) {
    if (!under_test.empty()) device.spec = under_test;
    if (device.has_ranks && device.spec.empty()) device.spec = std::string(targets::kOwnKind);
  }
  if (!Rebind(module, file, bindings, diagnostics)) return std::nullopt;
  if (module.devices.empty()) {
    std::string spec = under_test.empty() ? std::string(targets::kOwnKind) : under_test;
    module.devices.push_back({module.context().names.Intern(targets::kOwnKind), spec});
  }
  std::set<const ir::Device*> checked;
  for (const ir::Device& device : module.devices) {
    std::vector<std::string> path;
    if (!CheckWhatTheyStandFor(module, file, device, path, checked, diagnostics))
      return std::nullopt;
  }
  DeviceSpecs specs;
  for (const ir::Device& device : module.devices) {
    std::string spec = Followed(module, device.spec);
    if (spec.empty() && needs_all) {
      std::string name = NameInSource(PromiseOf(module, device).name.text());
      diagnostics.Report(diag::UnboundDevice, {}, name, file)
          .Help(fmt::format(
              "bind it with --device {}=host, or with another spec from `kernelc targets`", name));
      return std::nullopt;
    }
    specs[device.name.str()] = spec;
  }
  return specs;
}

}  // namespace kdl::driver
