#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "driver/diagnostics.h"
#include "driver/pipelines/dump_pipeline.h"
#include "driver/report.h"
#include "support/json_text.h"
#include "tools/commands.h"
#include "tools/explain/device_text.h"

namespace kdl::tools {

namespace {

std::string ListTargets(const targets::Registry& families) {
  std::string text;
  for (const targets::Family* family : families.families()) {
    for (const targets::TargetKind& kind : family->kinds) {
      text += fmt::format("{:<17}{}", kind.kind, kind.summary);
      if (std::vector<std::string_view> keys = targets::KeysOf(kind); !keys.empty())
        text += fmt::format(" (keys: {})", fmt::join(keys, " "));
      if (!kind.text.empty()) text += fmt::format(" (--emit {} writes what it loads)", kind.text);
      text += '\n';
    }
  }
  return text +
         fmt::format("{:<17}{}\n", "plugin:PATH",
                     "a device from a shared object (kdl/device_plugin.h), which says for which "
                     "kind of target code is generated; the keys are those of that kind");
}

/// Returns the rows of ListTargets as JSON.
std::string TargetsJson(const targets::Registry& families) {
  auto rows = nlohmann::ordered_json::array();
  for (const targets::Family* family : families.families()) {
    for (const targets::TargetKind& kind : family->kinds)
      rows.push_back({{"kind", kind.kind},
                      {"summary", kind.summary},
                      {"keys", targets::KeysOf(kind)},
                      {"emit", kind.text}});
  }
  return JsonText(rows);
}

/// Returns the text of a description file for the machine that the spec names.
Result<std::string> Description(const std::string& text, const targets::Registry& families) {
  Result<targets::Spec> spec = targets::ParseSpec(text);
  if (!spec) return spec.failure();
  for (const targets::Family* family : families.families()) {
    bool has_kind = std::ranges::find(family->kinds, spec->kind, &targets::TargetKind::kind) !=
                    family->kinds.end();
    if (has_kind && family->describe) return family->describe(*spec);
  }
  return Failure{
      fmt::format("'{}' has no description file; `kernelc targets` lists the targets", text),
      FailureKind::Usage};
}

/// Returns the passes for the target that the spec names, as a pipeline file.
Result<std::string> PipelineText(const std::string& text, const targets::Registry& families) {
  Result<std::vector<targets::Target>> named = families.ParseTargets(text);
  if (!named) return named.failure();
  return driver::DumpPipeline(named->front());
}

/// Returns the text that the command prints for its arguments.
Result<std::string> TargetsText(const driver::Options& options, const targets::Registry& families) {
  if (options.dump_pipeline && options.device.size() == 1 && options.files.empty())
    return PipelineText(options.device[0], families);
  if (options.dump_pipeline)
    return Failure{"--dump-pipeline needs one target: use --device SPEC", FailureKind::Usage};
  if (!options.device.empty() && options.files.empty())
    return DescribeDevices(options.device, families);
  if (options.files.empty()) return ListTargets(families);
  if (options.device.empty() && options.files.size() == 2 && options.files[0] == "show")
    return Description(options.files[1], families);
  return Failure{fmt::format("unexpected arguments `{}`: use `kernelc targets show SPEC` or "
                             "`kernelc targets --device SPEC`",
                             fmt::join(options.files, " ")),
                 FailureKind::Usage};
}

}  // namespace

int RunTargets(const driver::Options& options, const targets::Registry& families) {
  Result<std::string> text = TargetsText(options, families);
  if (options.files.empty() && options.device.empty())
    driver::AddJson("targets", TargetsJson(families));
  if (text) return driver::PrintOutput(*text) ? driver::kExitDone : driver::kExitEnvironment;
  DiagnosticEngine diagnostics;
  if (text.failure().kind == FailureKind::Environment) {
    diagnostics.Report(driver::diag::MachineFailed, {}, text.failure().message);
  } else {
    diagnostics.Report(driver::diag::UnknownTarget, {}, text.failure().message);
  }
  driver::PrintDiagnostics(diagnostics, SourceManager());
  return driver::ExitCodeOf(diagnostics);
}

}  // namespace kdl::tools
