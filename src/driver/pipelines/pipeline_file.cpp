#include "driver/pipelines/pipeline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/pipelines/setting_value.h"
#include "passes/pipelines.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

using passes::Fact;
using passes::Pass;
using passes::SettingText;
using passes::StageText;
using passes::TextPlace;

constexpr size_t kMaxFileBytes = size_t{1} << 20;

const Pass* FindPass(passes::Pipeline pipeline, std::string_view name) {
  auto found = std::ranges::find(pipeline, name, [](const Pass* pass) { return pass->name; });
  return found == pipeline.end() ? nullptr : *found;
}

std::vector<std::string_view> NamesOf(passes::Pipeline pipeline) {
  std::vector<std::string_view> names;
  for (const Pass* pass : pipeline) names.push_back(pass->name);
  return names;
}

/// Adds a help that names the candidate that is most similar to `name`, if one is.
void SuggestSimilar(Diagnostic& report, std::string_view name,
                    std::span<const std::string_view> candidates) {
  std::string_view nearest = NearestName(name, candidates);
  if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
}

}  // namespace

StageLists ListsOf(const targets::Family& family) {
  return {family.tiles, family.pipes, family.loops};
}

StageLists PipelineFile::lists() const {
  StageLists lists = ListsOf(*family_);
  for (size_t i = 0; i < lists.size(); ++i) {
    if (text_.lists[i]) lists[i] = passes_[i];
  }
  return lists;
}

bool PipelineFile::IsConditional(const StageText& stage) {
  return std::ranges::any_of(stage.settings, [](const SettingText& s) { return s.name == kNeeds; });
}

std::unique_ptr<PipelineFile> PipelineFile::Read(const std::string& spec,
                                                 const targets::Registry& families,
                                                 SourceManager& sources,
                                                 DiagnosticEngine& diagnostics) {
  size_t question = spec.find('?');
  std::unique_ptr<PipelineFile> made(new PipelineFile);
  made->sources_ = &sources;
  auto read = [&](const std::string& path) -> Result<std::string> {
    std::optional<std::string> text = ReadInputFile(path, kMaxFileBytes, diagnostics);
    if (!text) return Failure{""};  // already reported
    made->ids_.push_back(sources.Add(path, *text));
    return *text;
  };
  passes::PipelineFault fault;
  auto text = passes::ReadPipelineText(spec.substr(0, question), read, fault);
  if (!text) {
    if (!fault.message.empty())
      diagnostics.Report(diag::PipelineSyntax, made->SpanOf(fault.at), fault.message);
    return nullptr;
  }
  made->text_ = std::move(*text);
  std::vector<std::string_view> names;
  for (const targets::Family* family : families.families()) {
    names.push_back(family->name);
    if (family->name == made->text_.family) made->family_ = family;
  }
  if (!made->family_) {
    Diagnostic& report = diagnostics.Report(
        diag::PipelineFamily, made->NameSpan(made->text_.family_at, made->text_.family),
        made->text_.family);
    report.Help(fmt::format("the families are {}", QuotedList(names)));
    return nullptr;
  }
  std::string_view given =
      question == std::string::npos ? "" : std::string_view(spec).substr(question + 1);
  bool ok = made->SetParameters(given, diagnostics) && made->FindPasses(diagnostics) &&
            made->CheckNeeds(diagnostics);
  return ok ? std::move(made) : nullptr;
}

Span PipelineFile::SpanOf(const TextPlace& at) const {
  if (at.file >= ids_.size()) return {};
  return sources_->FindSpan(sources_->name(ids_[at.file]), at.line, at.column, 1);
}

Span PipelineFile::NameSpan(const TextPlace& at, std::string_view name) const {
  return sources_->FindSpan(sources_->name(ids_[at.file]), at.line, at.column,
                            static_cast<uint32_t>(name.size()));
}

bool PipelineFile::SetParameters(std::string_view assignments, DiagnosticEngine& diagnostics) {
  auto no_variables = [](std::string_view) { return std::optional<int64_t>(); };
  for (const SettingText& parameter : text_.parameters) {
    Result<int64_t> value = SettingValue(parameter.value, no_variables);
    if (!value) {
      diagnostics.Report(diag::PipelineValue, NameSpan(parameter.value_at, parameter.value),
                         parameter.name, value.failure().message);
      return false;
    }
    parameters_[parameter.name] = *value;
  }
  while (!assignments.empty()) {
    size_t end = std::min(assignments.find('&'), assignments.size());
    std::string_view one = assignments.substr(0, end);
    assignments.remove_prefix(std::min(end + 1, assignments.size()));
    size_t sign = std::min(one.find('='), one.size());
    std::string name(one.substr(0, sign));
    auto found = parameters_.find(name);
    if (found == parameters_.end()) {
      diagnostics.Report(diag::PipelineParameter, {}, text_.files[0], name)
          .Help("list its parameters in the file: parameters: {NAME: 8}");
      return false;
    }
    Result<int64_t> value = SettingValue(one.substr(std::min(sign + 1, one.size())), no_variables);
    if (!value) {
      diagnostics.Report(diag::PipelineValue, {}, name, value.failure().message);
      return false;
    }
    found->second = *value;
  }
  return true;
}

bool PipelineFile::FindPasses(DiagnosticEngine& diagnostics) {
  StageLists known = ListsOf(*family_);
  for (size_t i = 0; i < known.size(); ++i) {
    for (const StageText& stage : text_.lists[i].value_or(std::vector<StageText>())) {
      Span span = NameSpan(stage.at, stage.pass);
      const Pass* pass = FindPass(known[i], stage.pass);
      if (!pass) {
        Diagnostic& report = diagnostics.Report(diag::PipelineStage, span, passes::kStageLists[i],
                                                family_->name, stage.pass);
        for (size_t other = 0; other < known.size(); ++other) {
          if (FindPass(known[other], stage.pass))
            report.Help(fmt::format("move it to the list '{}'", passes::kStageLists[other]));
        }
        if (report.help.empty()) SuggestSimilar(report, stage.pass, NamesOf(known[i]));
        return false;
      }
      if (FindPass(passes_[i], stage.pass)) {
        diagnostics.Report(diag::PipelineTwice, span, stage.pass);
        return false;
      }
      passes_[i].push_back(pass);
    }
  }
  return true;
}

bool PipelineFile::CheckNeeds(DiagnosticEngine& diagnostics) const {
  std::vector<const Fact*> facts;
  auto holds = [&](const Fact* fact) { return std::ranges::find(facts, fact) != facts.end(); };
  auto run = [&](const Pass& pass, bool always) {
    for (const Fact* fact : pass.withdraws) std::erase(facts, fact);
    if (always) facts.insert(facts.end(), pass.gives.begin(), pass.gives.end());
  };
  auto run_list = [&](passes::Pipeline pipeline) {
    for (const Pass* pass : pipeline) run(*pass, true);
  };
  run_list(passes::kModulePipeline);
  StageLists own = ListsOf(*family_);
  for (size_t i = 0; i < own.size(); ++i) {
    if (i + 1 == own.size()) run_list(passes::kProgramPipeline);
    if (!text_.lists[i]) {
      run_list(own[i]);
      continue;
    }
    for (size_t at = 0; at < passes_[i].size(); ++at) {
      const StageText& stage = (*text_.lists[i])[at];
      const Pass& pass = *passes_[i][at];
      for (const passes::Need& need : pass.needs) {
        if (holds(need.fact)) continue;
        diagnostics.Report(diag::PipelineOrder, NameSpan(stage.at, stage.pass), stage.pass,
                           need.fact->name, need.why);
        return false;
      }
      run(pass, !IsConditional(stage));
    }
  }
  for (const passes::Need& need : family_->code_needs) {
    if (holds(need.fact)) continue;
    diagnostics.Report(diag::PipelineEnd, NameSpan(text_.family_at, text_.family), need.fact->name,
                       need.why);
    return false;
  }
  return true;
}

}  // namespace kdl::driver
