#include "driver/compile/perf_remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "driver/compile/stdlib.h"

namespace kdl::driver {

namespace {

Span SpanOf(const Session& s, const ir::Loc& loc) {
  return s.sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
}

/// Whether the user can change the source. Functions of the standard library are inlined into kernels.
bool IsOfUser(const Session& s, const ir::Loc& loc) {
  Span span = SpanOf(s, loc);
  if (!span.valid()) return false;
  return std::ranges::none_of(StdlibFiles(), [&](const StdlibFile& file) {
    return s.sources.path(span.file) == fmt::format("std/{}", file.path) &&
           s.sources.text(span.file) == file.text;
  });
}

void AddRemark(std::vector<LevelRemark>& all, passes::Remark remark, const std::string& level) {
  auto same = std::ranges::find_if(all, [&](const LevelRemark& known) {
    return known.remark.id == remark.id && known.remark.kernel == remark.kernel &&
           known.remark.loc == remark.loc && known.remark.text == remark.text;
  });
  if (same == all.end()) {
    all.push_back({std::move(remark), {level}});
    return;
  }
  same->levels.push_back(level);
  if (remark.share > same->remark.share) same->remark = std::move(remark);
}

}  // namespace

std::vector<LevelRemark> MergeRemarks(const Session& s, const Code& code) {
  std::vector<LevelRemark> all;
  std::vector<Name> kernels;  // in source order
  auto levels_of = [&](Name kernel) {
    return std::ranges::count_if(
        code.targets, [&](const TargetCode& one) { return one.kernels.contains(kernel); });
  };
  for (const TargetCode& one : code.targets) {
    for (const ir::Function* function : one.module->functions()) {
      if (std::ranges::find(kernels, function->name) == kernels.end())
        kernels.push_back(function->name);
    }
    for (passes::Remark& remark : one.remarks.Considerable()) {
      if (one.kernels.contains(remark.kernel) && IsOfUser(s, remark.loc))
        AddRemark(all, std::move(remark), one.target.facts->level);
    }
  }
  for (LevelRemark& one : all) {
    if (std::ssize(one.levels) == levels_of(one.remark.kernel)) one.levels.clear();
  }
  std::vector<LevelRemark> sorted;
  for (Name kernel : kernels) {
    std::multimap<double, LevelRemark, std::greater<>> by_share;
    for (LevelRemark& one : all) {
      if (one.remark.kernel == kernel) by_share.emplace(one.remark.share, std::move(one));
    }
    for (auto& [share, one] : by_share) sorted.push_back(std::move(one));
  }
  return sorted;
}

std::string RemarkText(const LevelRemark& one) {
  if (one.levels.empty()) return one.remark.text;
  return fmt::format("on {}: {}", fmt::join(one.levels, ", "), one.remark.text);
}

void ReportRemarks(Session& s, const Code& code) {
  std::vector<LevelRemark> all = MergeRemarks(s, code);
  for (auto first = all.begin(); first != all.end(); ++first) {
    auto is_same = [&](const LevelRemark& other) {
      return other.remark.id == first->remark.id && other.remark.loc == first->remark.loc;
    };
    if (std::any_of(all.begin(), first, is_same)) continue;
    const DiagnosticKind<void(std::string_view)> kind{first->remark.id, Severity::Remark, "{}"};
    Span span = SpanOf(s, first->remark.loc);
    Diagnostic& report = s.diagnostics.Report(kind, span, RemarkText(*first));
    report.Help(first->remark.help);
    for (auto other = first + 1; other != all.end(); ++other) {
      bool differs = other->remark.text != first->remark.text;
      if (is_same(*other) && differs) report.Note(span, RemarkText(*other));
    }
  }
}

}  // namespace kdl::driver
