#include "driver/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/executor.h"
#include "driver/files.h"
#include "driver/npy.h"
#include "driver/open_outputs.h"
#include "driver/summary.h"
#include "ir/program_tensors.h"
#include "support/near_names.h"
#include "support/result.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

constexpr uint8_t kPoison =
    0xAB;  ///< no other device fills memory with it: what a program leaves unwritten differs

constexpr uint8_t kGuard = 0xC7;
constexpr size_t kGuardElements = 64;  ///< a tensor behind them is still aligned to 64 bytes

/// `FILE:12:9: error: TEXT`, as the runtime tells of traps.
struct PlacedMessage {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string text;
};
/// `kind`: `error` or `note`.
std::optional<PlacedMessage> ReadPlace(std::string_view message, std::string_view kind = "error") {
  std::string mark = fmt::format(": {}: ", kind);
  size_t end_of_place = message.find(mark);
  if (end_of_place == std::string_view::npos) return std::nullopt;
  std::string_view place = message.substr(0, end_of_place);
  PlacedMessage placed;
  placed.text = message.substr(end_of_place + mark.size());
  uint32_t* numbers[] = {&placed.column, &placed.line};
  for (uint32_t* number : numbers) {
    size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto [end, failed] =
        std::from_chars(place.data() + colon + 1, place.data() + place.size(), *number);
    if (failed != std::errc() || end != place.data() + place.size()) return std::nullopt;
    place = place.substr(0, colon);
  }
  placed.file = place;
  return placed;
}

/// The note of a second place, which stands behind the error on a line of its own. Takes it off the text.
std::optional<PlacedMessage> TakeNote(std::string& text) {
  size_t end = text.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::optional<PlacedMessage> note = ReadPlace(std::string_view(text).substr(end + 1), "note");
  if (note) text.resize(end);
  return note;
}

/// The place in the sources: as much of them as the message quotes. Invalid where they do not hold it.
Span SpanOf(const PlacedMessage& placed, const SourceManager& sources) {
  size_t quote = placed.text.rfind('\'');
  size_t open = quote == std::string::npos || quote == 0 ? std::string::npos
                                                         : placed.text.rfind('\'', quote - 1);
  if (open != std::string::npos) {
    std::string_view quoted = std::string_view(placed.text).substr(open + 1, quote - open - 1);
    Span span = sources.FindSpan(placed.file, placed.line, placed.column,
                                 static_cast<uint32_t>(quoted.size()));
    if (span.valid() && sources.text(span) == quoted) return span;
  }
  return sources.FindSpan(placed.file, placed.line, placed.column, 1);
}

/// One run: its devices, its tensors on them, their way in and out.
class Run {
 public:
  Run(const RunPlace& place, const ir::Function& program, RunMemory memory)
      : place_(place), program_(program), memory_(memory) {}

  Status Do(BoundProgram& bound) {
    if (Status chosen = SelectDevices(); !chosen.ok()) return chosen;
    Executor executor(place_.context, place_.module, devices_);
    executor.SetContracts(place_.contracts, &place_.sources, place_.launch_checks);
    if (Status placed = MoveIn(executor, bound); !placed.ok()) return placed;
    if (Status ran = executor.Run(program_, arguments_); !ran.ok()) return ran;
    return MoveOut(executor, bound);
  }

 private:
  /// As many on either side of a tensor.
  size_t GuardBytes(const BoundArgument& argument) const {
    bool guarded = memory_.guarded && argument.direction != ir::Direction::In;
    return guarded ? kGuardElements * static_cast<size_t>(Bytes(argument.tensor.scalar)) : 0;
  }
  static bool IsGuard(const std::byte* data, size_t bytes) {
    return std::all_of(data, data + bytes,
                       [](std::byte byte) { return byte == std::byte{kGuard}; });
  }

  Status Allocate(kdl_device* device, const BoundArgument& argument, kdl_array& array) const {
    const HostTensor& tensor = argument.tensor;
    uint8_t element = ElementCode(tensor.scalar);
    auto rank = static_cast<int32_t>(tensor.shape.size());
    size_t guard = GuardBytes(argument);
    if (guard == 0) {
      return StatusOf(kdl_array_allocate(device, element, rank, tensor.shape.data(),
                                         argument.name.c_str(), &array));
    }
    auto bytes = static_cast<size_t>(Bytes(tensor.scalar));
    auto elements = static_cast<int64_t>((tensor.bytes.size() + 2 * guard) / bytes);
    Status made =
        StatusOf(kdl_array_allocate(device, element, 1, &elements, argument.name.c_str(), &array));
    if (!made.ok()) return made;
    array.view.data = static_cast<std::byte*>(array.view.data) + guard;
    array.view.rank = rank;
    std::vector<int64_t> strides = interp::RowMajorStrides(tensor.shape);
    for (size_t d = 0; d < std::size(array.view.size); ++d) {
      bool is_dim = d < tensor.shape.size();
      array.view.size[d] = is_dim ? tensor.shape[d] : 1;
      array.view.stride[d] = is_dim ? strides[d] : 0;
    }
    return {};
  }

  Status SelectDevices() {
    for (const ir::Device& device : place_.module.devices) {
      auto spec = place_.specs.find(device.name.str());
      if (spec == place_.specs.end() || spec->second.empty()) continue;
      Status selected =
          StatusOf(kdl_select_device(place_.context, spec->second.c_str(), &devices_[device.name]));
      if (!selected.ok()) return selected;
    }
    return {};
  }

  Status MoveIn(Executor& executor, const BoundProgram& bound) {
    for (size_t i = 0; i < bound.dims.size(); ++i)
      arguments_.constants.emplace(program_.dims[i].str(), bound.dims[i]);
    for (size_t i = 0; i < bound.arguments.size(); ++i) {
      const BoundArgument& argument = bound.arguments[i];
      if (!argument.is_tensor) {
        arguments_.scalars.push_back(ElementBits(argument.tensor, 0));
        continue;
      }
      kdl_device* device =
          devices_.at(ir::CallersDevice(place_.module, program_, program_.params[i].value));
      kdl_array array{};
      Status made = Allocate(device, argument, array);
      if (!made.ok()) return made;
      interp::TensorId id = executor.Add(array);
      arguments_.tensors.push_back({id, argument.tensor.scalar, argument.tensor.shape});
      bool is_out = argument.direction == ir::Direction::Out;
      if (is_out && !memory_.poison && !memory_.guarded) continue;
      Status written = Mapped(array, KDL_MAP_WRITE, [&](std::byte* data) {
        std::memset(data, kGuard, GuardBytes(argument));
        data += GuardBytes(argument);
        size_t bytes = argument.tensor.bytes.size();
        if (is_out && memory_.poison) std::memset(data, *memory_.poison, bytes);
        if (!is_out && bytes > 0) std::memcpy(data, argument.tensor.bytes.data(), bytes);
        std::memset(data + bytes, kGuard, GuardBytes(argument));
      });
      if (!written.ok()) return written;
    }
    return {};
  }

  Status MoveOut(const Executor& executor, BoundProgram& bound) {
    size_t tensor = 0;
    for (BoundArgument& argument : bound.arguments) {
      if (!argument.is_tensor) continue;
      const kdl_array& array = executor.array(arguments_.tensors[tensor++].id);
      if (argument.direction == ir::Direction::In) continue;
      bool intact = true;
      Status read = Mapped(array, KDL_MAP_READ, [&](const std::byte* data) {
        std::vector<std::byte>& bytes = argument.tensor.bytes;
        size_t guard = GuardBytes(argument);
        intact = IsGuard(data, guard) && IsGuard(data + guard + bytes.size(), guard);
        if (!bytes.empty()) std::memcpy(bytes.data(), data + guard, bytes.size());
      });
      if (!read.ok()) return read;
      if (!intact) return Failure{fmt::format("memory beside '{}' was written", argument.name)};
    }
    return {};
  }

  template <class Use>
  static Status Mapped(const kdl_array& array, kdl_map_access access, Use&& use) {
    if (kdl_buffer_bytes(array.buffer) == 0) return {};
    void* data = nullptr;
    Status mapped = StatusOf(kdl_buffer_map(array.buffer, access, &data));
    if (!mapped.ok()) return mapped;
    use(static_cast<std::byte*>(data));
    return StatusOf(kdl_buffer_unmap(array.buffer));
  }

  const RunPlace& place_;
  const ir::Function& program_;
  RunMemory memory_;
  std::map<Name, kdl_device*> devices_;
  interp::ProgramArguments arguments_;
};

bool RunOrReport(const RunPlace& place, const ir::Function& program, RunMemory memory,
                 BoundProgram& bound, DiagnosticEngine& diagnostics) {
  Status ran = RunOnce(place, program, memory, bound);
  if (!ran.ok()) ReportFailure(ran.failure(), place.sources, diagnostics);
  return ran.ok();
}

/// The reference device that runs what the device of the spec does: a kernel's tiles may depend on the processor, and a
/// program's results on how many cores there are.
std::string ReferenceFor(const RunPlace& place, const std::string& spec) {
  kdl_device* device = nullptr;
  if (spec.empty() || !StatusOf(kdl_select_device(place.context, spec.c_str(), &device)).ok())
    return std::string(targets::kReferenceKind);
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  if (!StatusOf(kdl_device_get_facts(device, &facts)).ok())
    return std::string(targets::kReferenceKind);
  return fmt::format("{}?features={}&cores={}", targets::kReferenceKind, facts.features,
                     facts.cores);
}

constexpr std::string_view kOpenUpdates = "`atomic` leaves the order of updates open";
constexpr std::string_view kOpenUnits = "the device's matrix units add in an order of their own";
using OpenNames = std::map<std::string_view, std::vector<std::string_view>>;

/// Runs the program on the reference device and compares. `before` holds the arguments, `after` what the other run left.
/// `open` gets the names of outputs that differ and may, by why they may.
bool CheckAgainstReference(const RunPlace& place, const ir::Function& program,
                           const BoundProgram& before, const BoundProgram& after, OpenNames& open,
                           DiagnosticEngine& diagnostics) {
  RunPlace reference = place;
  reference.launch_checks = LaunchChecks::Nothing;
  for (auto& [name, spec] : reference.specs) spec = ReferenceFor(place, spec);
  BoundProgram expected = before;
  if (!RunOrReport(reference, program, {kPoison}, expected, diagnostics)) return false;
  bool equal = true;
  std::set<const ir::Value*> by_updates = OpenTensors(place.module, program);
  std::set<const ir::Value*> by_units = OpenTensors(place.module, program, place.own_orders);
  for (size_t i = 0; i < after.arguments.size(); ++i) {
    const BoundArgument& argument = after.arguments[i];
    if (!argument.is_tensor || argument.direction == ir::Direction::In) continue;
    std::string difference =
        Difference(argument.tensor, expected.arguments[i].tensor, argument.name);
    if (difference.empty()) continue;
    const ir::Value* tensor = program.params[i].value;
    if (by_units.contains(tensor)) {
      open[by_updates.contains(tensor) ? kOpenUpdates : kOpenUnits].push_back(argument.name);
      continue;
    }
    equal = false;
    diagnostics.Report(diag::CheckFailed, {}, argument.name, difference);
  }
  return equal;
}

/// The devices that were chosen, in the order of their first names, each with all that the program has for it.
std::vector<std::pair<kdl_device*, std::vector<std::string>>> NamesOfDevices(
    const RunPlace& place) {
  std::vector<std::pair<kdl_device*, std::vector<std::string>>> devices;
  for (const auto& [name, spec] : place.specs) {
    kdl_device* device = nullptr;
    if (spec.empty() || !StatusOf(kdl_select_device(place.context, spec.c_str(), &device)).ok())
      continue;
    auto known =
        std::ranges::find_if(devices, [&](const auto& row) { return row.first == device; });
    if (known == devices.end()) known = devices.insert(known, {device, {}});
    known->second.push_back(NameInSource(name));
  }
  return devices;
}

/// For each device its launches, copies and bytes, and its names where it has several; then each transfer with its cause.
/// What the device counts of itself.
std::string CountsText(const kdl_device* device) {
  std::vector<kdl_count> counts(static_cast<size_t>(kdl_device_get_counts(device, nullptr, 0)));
  kdl_device_get_counts(device, counts.data(), static_cast<int64_t>(counts.size()));
  std::string text;
  for (const kdl_count& count : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.name, count.value);
  return text.empty() ? "" : fmt::format("{}: {}\n", kdl_device_uri(device), text);
}

std::string StatisticsText(const RunPlace& place) {
  std::string text;
  for (const auto& [device, names] : NamesOfDevices(place)) {
    kdl_statistics counts{};
    kdl_device_get_statistics(device, &counts);
    text += fmt::format("{}: launches {}, copies {} ({} bytes), allocated {} bytes",
                        kdl_device_uri(device), counts.launches, counts.copies, counts.bytes_copied,
                        counts.bytes_allocated);
    text += counts.bytes_in_use == 0
                ? "\n"
                : fmt::format(", {} bytes still in use\n", counts.bytes_in_use);
    text += CountsText(device);
    if (names.size() > 1)
      text += fmt::format("{} are one device, {}\n",
                          QuotedList(std::vector<std::string_view>(names.begin(), names.end())),
                          kdl_device_uri(device));
  }
  std::vector<kdl_transfer> transfers(
      static_cast<size_t>(kdl_context_get_transfers(place.context, nullptr, 0)));
  kdl_context_get_transfers(place.context, transfers.data(),
                            static_cast<int64_t>(transfers.size()));
  for (const kdl_transfer& one : transfers) {
    text += fmt::format("{} -> {}: {}: {}, {} bytes\n", one.from, one.to, one.tensor, one.cause,
                        one.bytes);
  }
  return text;
}

void WriteOutputs(const BoundProgram& bound, DiagnosticEngine& diagnostics) {
  std::vector<OutputFile> files;
  for (const BoundArgument& argument : bound.arguments) {
    if (!argument.out_path.empty())
      files.push_back({argument.out_path, FormatNpy(argument.tensor)});
  }
  WriteOutputFiles(files, diagnostics);
}

}  // namespace

std::string NameInSource(std::string_view device) {
  std::string name(device);
  for (size_t at = name.find("::"); at != std::string::npos; at = name.find("::", at))
    name.replace(at, 2, ".");
  return name;
}

bool MayWriteOutputs(const BoundProgram& bound, const std::vector<ArgumentSpec>& arguments,
                     std::vector<std::string> read, DiagnosticEngine& diagnostics) {
  std::vector<std::string> written;
  for (const BoundArgument& argument : bound.arguments) {
    if (!argument.out_path.empty()) written.push_back(argument.out_path);
  }
  for (const ArgumentSpec& argument : arguments) {
    if (!argument.path.empty()) read.push_back(argument.path);
  }
  return MayWrite(written, read, "name another file behind --out", diagnostics);
}

void ReportFailure(const Failure& failure, const SourceManager& sources,
                   DiagnosticEngine& diagnostics) {
  std::optional<PlacedMessage> placed = ReadPlace(failure.message);
  std::optional<PlacedMessage> note = placed ? TakeNote(placed->text) : std::nullopt;
  Span span = placed ? SpanOf(*placed, sources) : Span();
  if (failure.kind != FailureKind::User) {
    diagnostics.Report(diag::MachineFailed, span, span.valid() ? placed->text : failure.message);
    return;
  }
  if (span.valid()) {
    // The place of a launch, then that of what the kernel asks of it.
    std::optional<PlacedMessage> inner = ReadPlace(placed->text);
    Span inner_span = inner ? SpanOf(*inner, sources) : Span();
    Diagnostic& report =
        diagnostics.Report(diag::Trapped, span, inner_span.valid() ? inner->text : placed->text);
    if (inner_span.valid()) report.Note(inner_span, "it stands here");
    if (note) report.Note(SpanOf(*note, sources), note->text);
  } else if (placed) {
    diagnostics.Report(
        diag::Trapped, {},
        fmt::format("{}:{}:{}: {}", placed->file, placed->line, placed->column, placed->text));
  } else {
    diagnostics.Report(diag::RunFailed, {}, failure.message);
  }
}

Status RunOnce(const RunPlace& place, const ir::Function& program, RunMemory memory,
               BoundProgram& bound) {
  return Run(place, program, memory).Do(bound);
}

namespace {

bool LaunchesHaveContracts(const RunPlace& place) {
  return place.contracts &&
         std::ranges::any_of(place.module.functions(), [&](const ir::Function* function) {
           return function->kind == ir::FunctionKind::Kernel &&
                  FindContract(*place.contracts, place.module, *function);
         });
}

}  // namespace

std::string RunAndReport(const RunPlace& place, const ir::Function& program, BoundProgram bound,
                         const Options& options, DiagnosticEngine& diagnostics) {
  std::optional<BoundProgram> before;
  if (options.check) before = bound;
  const BoundContract* contract = before && place.contract ? &*place.contract : nullptr;
  if (contract && !CheckRequirements(*contract, *before, place.sources, diagnostics)) return {};
  RunPlace checking = place;
  if (before && !contract) checking.launch_checks = LaunchChecks::All;
  if (!RunOrReport(checking, program, {}, bound, diagnostics)) return {};
  std::string text = options.verbose ? StatisticsText(place) : std::string();
  OpenNames open;
  bool checked =
      !before || CheckAgainstReference(place, program, *before, bound, open, diagnostics);
  checked = (!contract || CheckEquations(*contract, *before, bound, place.sources, diagnostics)) &&
            checked;
  if (checked) WriteOutputs(bound, diagnostics);
  text += Summary(bound);
  if (checked && before) text += "check: equal to the reference, bit for bit";
  for (const auto& [why, names] : open) {
    if (checked) text += fmt::format(", but for {}: {}", QuotedList(names), why);
  }
  if (checked && before) text += "\n";
  if (checked && contract) text += "check: the contract holds\n";
  if (checked && before && !contract && LaunchesHaveContracts(place))
    text += "check: the contracts of its launches hold\n";
  return text;
}

}  // namespace kdl::driver
