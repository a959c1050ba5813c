#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "driver/diagnostics.h"
#include "driver/pipelines/pipeline_file.h"
#include "driver/pipelines/setting_value.h"
#include "ir/op_info.h"

// The settings that a pipeline file makes for the passes of a target.

namespace kdl::driver {

namespace {

using passes::Pass;
using passes::PassOption;

const PassOption* FindOption(const Pass& pass, std::string_view name) {
  for (const PassOption* option : pass.options) {
    if (option->name == name) return option;
  }
  return nullptr;
}

std::optional<ir::OpKind> FindOp(std::string_view spelling) {
  for (size_t i = 0; i < ir::kOpCount; ++i) {
    auto kind = static_cast<ir::OpKind>(i);
    if (ir::Info(kind).spelling == spelling) return kind;
  }
  return std::nullopt;
}

std::string KeysText(const Pass& pass, std::string_view condition) {
  std::string text;
  for (const PassOption* option : pass.options) text += fmt::format("'{}', ", option->name);
  return text + fmt::format("'{}'", condition);
}

}  // namespace

std::optional<int64_t> PipelineFile::Variable(std::string_view name,
                                              const targets::Target& target) const {
  if (auto found = parameters_.find(std::string(name)); found != parameters_.end())
    return found->second;
  if (!family_->traits) return std::nullopt;
  for (const targets::Trait& trait : family_->traits(*target.facts)) {
    if (!trait.variable.empty() && trait.variable == name) return trait.number;
  }
  return std::nullopt;
}

bool PipelineFile::Apply(const passes::SettingText& setting, const Pass& pass,
                         const targets::Target& target, passes::PassSettings& settings,
                         DiagnosticEngine& diagnostics) const {
  Span value_span = NameSpan(setting.value_at, setting.value);
  if (setting.name == kNeeds) {
    if (std::optional<ir::OpKind> op = FindOp(setting.value)) {
      settings.Require(pass, *op);
      return true;
    }
    diagnostics.Report(diag::PipelineOp, value_span, setting.value)
        .Help("`kernelc explain ops` lists the operations, such as contraction");
    return false;
  }
  const PassOption* option = FindOption(pass, setting.name);
  if (!option) {
    diagnostics
        .Report(diag::PipelineOption, NameSpan(setting.name_at, setting.name), pass.name,
                setting.name)
        .Help(fmt::format("its keys are {}", KeysText(pass, kNeeds)));
    return false;
  }
  Result<int64_t> value =
      SettingValue(setting.value, [&](std::string_view name) { return Variable(name, target); });
  if (!value) {
    diagnostics.Report(diag::PipelineValue, value_span, setting.name, value.failure().message);
    return false;
  }
  if (*value < option->least || *value > option->most) {
    diagnostics.Report(diag::PipelineRange, value_span, setting.name, option->least, option->most,
                       *value, target.facts->level);
    return false;
  }
  settings.Set(*option, {*value, fmt::format("{}:{}", text_.files[setting.name_at.file],
                                             setting.name_at.line)});
  return true;
}

std::optional<passes::PassSettings> PipelineFile::SettingsFor(const targets::Target& target,
                                                              DiagnosticEngine& diagnostics) const {
  passes::PassSettings settings;
  for (size_t i = 0; i < passes_.size(); ++i) {
    for (size_t at = 0; at < passes_[i].size(); ++at) {
      for (const passes::SettingText& setting : (*text_.lists[i])[at].settings) {
        if (!Apply(setting, *passes_[i][at], target, settings, diagnostics)) return std::nullopt;
      }
    }
  }
  return settings;
}

}  // namespace kdl::driver
