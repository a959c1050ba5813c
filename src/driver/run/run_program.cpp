#include "driver/run/run_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/report.h"
#include "driver/run/argument_values.h"
#include "driver/run/executor.h"
#include "driver/run/least_traffic.h"
#include "driver/run/locate_errors.h"
#include "driver/run/npy.h"
#include "driver/run/open_outputs.h"
#include "driver/run/reference.h"
#include "driver/run/shared_outputs.h"
#include "driver/run/summary.h"
#include "ir/packs.h"
#include "ir/program_tensors.h"
#include "support/json_text.h"
#include "support/near_names.h"
#include "support/result.h"

namespace kdl::driver {

namespace {

/// This byte differs from the one with which devices fill memory, so that unwritten elements are
/// noticed.
constexpr uint8_t kPoison = 0xAB;

bool RunOrReport(const RunPlace& place, const ir::Function& program, RunMemory memory,
                 BoundProgram& bound, DiagnosticEngine& diagnostics) {
  Status ran = RunOnce(place, program, memory, bound);
  if (!ran.ok()) ReportFailure(ran.failure(), place.sources, diagnostics);
  return ran.ok();
}

constexpr std::string_view kOpenUpdates = "`atomic` does not define the order of updates";
constexpr std::string_view kOpenInstructions =
    "the device's matrix instructions add in an order of their own";
using OpenNames = std::map<std::string_view, std::vector<std::string_view>>;

/// The result of --verify.
struct Verdict {
  bool passed = true;
  std::vector<std::pair<std::string, std::string>> differences;  ///< outputs, and how they differ
  OpenNames open;  ///< outputs that differ but are allowed to, grouped by reason
};

/// Returns a verdict as JSON. `contract` says whether the contract holds, or nothing without one.
std::string VerdictJson(const Verdict& verdict, std::optional<bool> contract) {
  nlohmann::ordered_json object = {{"passed", verdict.passed}};
  object["differences"] = nlohmann::ordered_json::array();
  for (const auto& [name, text] : verdict.differences)
    object["differences"].push_back({{"name", name}, {"text", text}});
  object["allowed"] = nlohmann::ordered_json::array();
  for (const auto& [why, names] : verdict.open)
    object["allowed"].push_back({{"names", names}, {"reason", why}});
  if (contract) object["contract"] = *contract;
  return JsonText(object);
}

/// Returns the tensor with all elements. Those that this process does not have are the ones of `others`.
HostTensor WholeOf(const BoundArgument& argument, const HostTensor& others) {
  if (!argument.part) return argument.tensor;
  HostTensor whole = others;
  CopyToWhole(argument, whole.bytes.data());
  return whole;
}

/// Runs the program on the reference device and compares the results. `before` contains the
/// arguments, and `after` contains the results of the run to check. Returns whether the outputs are as they must be.
bool CheckAgainstReference(const RunPlace& place, const ir::Function& program,
                           const BoundProgram& before, const BoundProgram& after, Verdict& verdict,
                           DiagnosticEngine& diagnostics) {
  RunPlace reference = place;
  const ir::Function& defining = DefiningProgram(place.module, program);
  // A fused launch has no contract. The launches from which it was made have the same results.
  reference.launch_checks = &defining == &program ? LaunchChecks::Nothing : LaunchChecks::All;
  for (auto& [name, spec] : reference.specs) spec = ReferenceFor(place, spec);
  reference.ranks = {};
  reference.traffic = nullptr;
  BoundProgram expected = before;
  if (!RunOrReport(reference, defining, {kPoison}, expected, diagnostics)) return false;
  bool equal = true;
  std::set<const ir::Value*> by_updates = OpenTensors(place.module, program);
  std::set<const ir::Value*> by_instructions = OpenTensors(place.module, program, place.own_orders);
  for (size_t i = 0; i < after.arguments.size(); ++i) {
    const BoundArgument& argument = after.arguments[i];
    if (!argument.is_tensor || argument.direction == ir::Direction::In) continue;
    const HostTensor& wanted = expected.arguments[i].tensor;
    std::string difference = Difference(WholeOf(argument, wanted), wanted, argument.name);
    if (difference.empty()) continue;
    const ir::Value* tensor = program.params[i].value;
    if (by_instructions.contains(tensor)) {
      verdict.open[by_updates.contains(tensor) ? kOpenUpdates : kOpenInstructions].push_back(
          argument.name);
      continue;
    }
    equal = false;
    diagnostics.Report(diag::CheckFailed, {}, argument.name, difference);
    verdict.differences.emplace_back(argument.name, difference);
  }
  return equal;
}

/// Returns the selected devices, each with all of its names in the program. The devices are sorted
/// by their first names.
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

/// Formats the counters that the device itself maintains.
std::string CountsText(const kdl_device* device) {
  std::vector<kdl_count> counts(static_cast<size_t>(kdl_device_get_counts(device, nullptr, 0)));
  kdl_device_get_counts(device, counts.data(), static_cast<int64_t>(counts.size()));
  std::string text;
  for (const kdl_count& count : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.name, count.value);
  return text.empty() ? "" : fmt::format("{}: {}\n", kdl_device_uri(device), text);
}

/// Returns a line for each device with its launches, copies and bytes, and with its names if it has
/// several. Further lines list the transfers and their causes.
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

}  // namespace

std::string NameInSource(std::string_view device) {
  std::string name(device);
  for (size_t at = name.find("::"); at != std::string::npos; at = name.find("::", at))
    name.replace(at, 2, ".");
  return name;
}

bool MayWriteOutputs(const BoundProgram& bound, DiagnosticEngine& diagnostics) {
  std::vector<std::string> written;
  for (const BoundArgument& argument : bound.arguments) {
    if (!argument.out_path.empty()) written.push_back(argument.out_path);
  }
  return MayWrite(written, "name another file after --out", diagnostics);
}

bool WriteOutputs(const LocalRanks& ranks, const BoundProgram& bound,
                  DiagnosticEngine& diagnostics) {
  std::vector<OutputFile> files;
  std::vector<const BoundArgument*> shared;
  for (const BoundArgument& argument : bound.arguments) {
    if (argument.out_path.empty()) continue;
    if (argument.part) {
      shared.push_back(&argument);
    } else if (ranks.first == 0) {
      files.push_back({argument.out_path, FormatNpy(argument.tensor)});
    }
  }
  return shared.empty() ? WriteOutputFiles(files, diagnostics)
                        : WriteSharedOutputs(ranks, shared, files, diagnostics);
}

namespace {

/// Returns a line for each tensor and cause with what the ranks of this process have sent.
std::string TrafficText(const LocalRanks& ranks, const RankTrafficTable& traffic) {
  if (ranks.count() == 1) return "";
  std::string text = fmt::format("{} ranks, {} in this process, sent{}\n", ranks.count(),
                                 ranks.end - ranks.first, traffic.empty() ? " nothing" : ":");
  for (const auto& [key, sent] : traffic)
    text += fmt::format("{}: {}: {} messages, {} bytes\n", key.first, key.second, sent.messages,
                        sent.bytes);
  return text;
}

/// Returns a line that compares the bytes that ranks have received with those that the interpreter counts. Returns an empty
/// string if there is only one rank, or if other processes have some.
std::string ReceivedText(const RunPlace& place, const ir::Function& program,
                         const BoundProgram& before, const RankTrafficTable& traffic,
                         DiagnosticEngine& diagnostics) {
  if (place.ranks.count() == 1 || place.ranks.transport || !place.tiled) return "";
  Result<int64_t> least = LeastBytes(place.module, *place.tiled, program, before, place.ranks.grid);
  if (!least.ok()) {
    ReportFailure(least.failure(), place.sources, diagnostics);
    return "";
  }
  int64_t received = 0;
  for (const auto& [key, sent] : traffic) received += sent.bytes;
  return fmt::format("verify: the ranks received {} bytes, and read {} of them\n", received,
                     *least);
}

bool LaunchesHaveContracts(const RunPlace& place) {
  return place.contracts &&
         std::ranges::any_of(place.module.functions(), [&](const ir::Function* function) {
           return function->kind == ir::FunctionKind::Kernel &&
                  FindContract(*place.contracts, place.module, *function);
         });
}

}  // namespace

namespace {

/// Cuts each counted output after the elements that were appended.
void TrimCountedOutputs(const ir::Function& program, BoundProgram& bound) {
  for (size_t p = 0; p < bound.arguments.size(); ++p) {
    const ir::Param* count = ir::FindCount(program, program.params[p]);
    if (count == nullptr || bound.arguments[p].part) continue;
    const auto at = static_cast<size_t>(count - program.params.data());
    HostTensor& output = bound.arguments[p].tensor;
    const auto size = static_cast<int64_t>(ElementBits(bound.arguments[at].tensor, 0));
    if (output.shape.empty() || size < 0 || size >= output.shape[0]) continue;
    output.bytes.resize(output.bytes.size() / static_cast<size_t>(output.shape[0]) *
                        static_cast<size_t>(size));
    output.shape[0] = size;
  }
}

}  // namespace

std::string RunAndReport(const RunPlace& place, const ir::Function& program, BoundProgram bound,
                         const Options& options, DiagnosticEngine& diagnostics) {
  std::optional<BoundProgram> before;
  // The reference computes everything in this process.
  if (options.verify || options.locate_errors)
    before = place.values ? place.values->Whole(bound) : bound;
  const BoundContract* contract = options.verify && place.contract ? &*place.contract : nullptr;
  if (contract && !CheckRequirements(*contract, *before, place.sources, diagnostics)) return {};
  RunPlace checking = place;
  if (options.verify && !contract) checking.launch_checks = LaunchChecks::All;
  RankTrafficTable traffic;
  checking.traffic = &traffic;
  checking.checkpoints.writes = true;
  // Devices start counting at the first request for their statistics.
  if (options.verbose) StatisticsText(place);
  if (!RunOrReport(checking, program, {}, bound, diagnostics)) return {};
  std::string text;
  if (options.verbose) text = StatisticsText(place) + TrafficText(place.ranks, traffic);
  Verdict verdict;
  verdict.passed = !options.verify ||
                   CheckAgainstReference(place, program, *before, bound, verdict, diagnostics);
  std::optional<bool> holds;
  if (contract) holds = CheckEquations(*contract, *before, bound, place.sources, diagnostics);
  verdict.passed = verdict.passed && holds.value_or(true);
  bool checked = verdict.passed;
  if (options.verify) AddJson("verify", VerdictJson(verdict, holds));
  bool located = options.locate_errors && LocateErrors(place, program, *before, bound, diagnostics);
  TrimCountedOutputs(program, bound);
  // A process that shares outputs with others has no whole results to show instead.
  bool shares =
      std::ranges::any_of(bound.arguments, [](const auto& one) { return one.part.has_value(); });
  if (checked && !WriteOutputs(place.ranks, bound, diagnostics) && shares) return {};
  text += Summary(bound);
  AddJson("outputs", OutputsJson(bound));
  if (checked && options.verify) text += "verify: equal to the reference, bit for bit";
  for (const auto& [why, names] : verdict.open) {
    if (checked) text += fmt::format(", but for {}: {}", QuotedList(names), why);
  }
  if (checked && options.verify) text += "\n";
  if (checked && options.verify && options.verbose)
    text += ReceivedText(place, program, *before, traffic, diagnostics);
  if (checked && contract) text += "verify: the contract holds\n";
  if (checked && options.verify && !contract && LaunchesHaveContracts(place))
    text += "verify: the contracts of its launches hold\n";
  if (located) text += "locate-errors: no value becomes NaN or infinite, or has a large error\n";
  return text;
}

}  // namespace kdl::driver
