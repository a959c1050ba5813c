#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "driver/run/executor.h"
#include "driver/run/run_program.h"
#include "kdl/runtime.h"
#include "support/json_text.h"
#include "targets/family.h"
#include "targets/registry.h"
#include "tools/commands.h"
#include "tools/loading/interpreters.h"

namespace kdl::tools {

namespace {

std::string Described(const kdl_device_facts& facts) {
  std::string text = facts.image_kind;
  if (*facts.arch != '\0') text += fmt::format(" {}", facts.arch);
  text += fmt::format(", {} cores", facts.cores);
  if (facts.resident == 0) text += ", one workspace slice each";
  if (facts.memory_bytes > 0) text += fmt::format(", {} MiB", facts.memory_bytes >> 20);
  text += facts.host_visible != 0 ? ", the host's memory" : ", memory of its own";
  if (facts.exact != 0) text += ", exact";
  if (facts.functional != 0) text += ", an emulation";
  if (facts.checks_order != 0) text += ", checks orders";
  if ((facts.capabilities & KDL_CAN_ORDER) != 0) text += ", orders operations by itself";
  return text;
}

/// Describes a device. If `functional` is not null, stores in it whether the device is an
/// emulation.
Result<std::string> Describe(kdl_context* context, const std::string& spec,
                             bool* functional = nullptr) {
  kdl_device* device = nullptr;
  Status status = driver::StatusOf(kdl_select_device(context, spec.c_str(), &device));
  if (!status.ok()) return status.failure();
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  status = driver::StatusOf(kdl_device_get_facts(device, &facts));
  if (!status.ok()) return status.failure();
  if (functional) *functional = facts.functional != 0;
  return fmt::format("{}: {}\n", kdl_device_uri(device), Described(facts));
}

/// Adds a line about a device, or about why there is none.
void Add(std::string_view spec, const Result<std::string>& line, std::string& text,
         nlohmann::ordered_json& rows) {
  std::string found =
      line.ok() ? *line : fmt::format("{}: not here: {}\n", spec, line.failure().message);
  text += found;
  found.pop_back();
  rows.push_back({{"spec", spec}, {"available", line.ok()}, {"text", found}});
}

/// Describes the available devices of a kind. If they are emulations, describes only the first.
void DescribeAll(kdl_context* context, std::string_view kind, std::string& text,
                 nlohmann::ordered_json& rows) {
  for (int ordinal = 0;; ++ordinal) {
    std::string spec = ordinal == 0 ? std::string(kind) : fmt::format("{}[{}]", kind, ordinal);
    bool functional = false;
    Result<std::string> line = Describe(context, spec, &functional);
    if (line.ok() || ordinal == 0) Add(spec, line, text, rows);
    if (!line.ok() || functional) return;
  }
}

}  // namespace

int RunDevices(const driver::Options& options, const targets::Registry& registry) {
  kdl_context* made = nullptr;
  Status status = driver::StatusOf(kdl_context_create(&made));
  driver::Context context(made);
  if (status.ok()) status = AddInterpreters(context.get(), registry);
  std::string text = status.ok() ? "" : status.failure().message + "\n";
  int code = status.ok() ? driver::kExitDone : static_cast<int>(status.failure().kind);
  auto rows = nlohmann::ordered_json::array();
  if (status.ok() && options.files.empty()) {
    for (const targets::Family* family : registry.families())
      for (const targets::TargetKind& one : family->kinds)
        DescribeAll(context.get(), one.kind, text, rows);
  }
  for (const std::string& spec : options.files) {
    if (!status.ok()) break;
    Result<std::string> line = Describe(context.get(), spec);
    if (!line.ok()) code = std::max(code, static_cast<int>(line.failure().kind));
    Add(spec, line, text, rows);
  }
  driver::AddJson("devices", JsonText(rows));
  if (!driver::PrintOutput(text)) return driver::kExitEnvironment;
  return code;
}

}  // namespace kdl::tools
