#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "support/json_text.h"
#include "tools/explain/perf_report.h"

namespace kdl::tools {

namespace {

using driver::LevelRemark;

/// Returns the compiled kernels in source order.
std::vector<const ir::Function*> CompiledKernels(const driver::Code& code) {
  std::vector<const ir::Function*> kernels;
  std::set<Name> seen;
  for (const driver::TargetCode& one : code.targets) {
    for (const ir::Function* function : one.module->functions()) {
      bool is_new = one.kernels.contains(function->name) && seen.insert(function->name).second;
      if (is_new) kernels.push_back(function);
    }
  }
  return kernels;
}

std::string RemarkJson(const LevelRemark& one) {
  const passes::Remark& remark = one.remark;
  nlohmann::ordered_json line = {{"kernel", remark.kernel.str()},
                                 {"id", remark.id},
                                 {"file", remark.loc.file.str()},
                                 {"line", remark.loc.line},
                                 {"column", remark.loc.column},
                                 {"share", remark.share},
                                 {"levels", one.levels},
                                 {"message", remark.text},
                                 {"help", remark.help}};
  return JsonText(line);
}

std::string TableLines(const LevelRemark& one) {
  const passes::Remark& remark = one.remark;
  return fmt::format("  {:>6}  {}:{}: {} [{}]\n{:>10}help: {}\n", ShareText(remark),
                     remark.loc.line, remark.loc.column, driver::RemarkText(one), remark.id, "",
                     remark.help);
}

}  // namespace

PerfReport ReportPerf(const driver::Session& session, const driver::Code& code) {
  PerfReport report = {session.options.files[0], {}};
  std::vector<LevelRemark> remarks = driver::MergeRemarks(session, code);
  for (const ir::Function* kernel : CompiledKernels(code)) {
    KernelPerf& perf = report.kernels.emplace_back(
        KernelPerf{kernel->name.str(), kernel->loc.file.str(), kernel->loc.line, {}});
    for (const LevelRemark& one : remarks) {
      if (one.remark.kernel == kernel->name) perf.remarks.push_back(one);
    }
  }
  return report;
}

std::string ShareText(const passes::Remark& remark) {
  return remark.share > 0 ? fmt::format("{:.0f} %", 100 * remark.share) : std::string("-");
}

std::string HeadText(const KernelPerf& kernel) {
  return kernel.remarks.empty() ? "nothing known makes it slow"
                                : "estimated parts of its time that could be saved";
}

std::string ReportText(const PerfReport& report) {
  std::string text;
  for (const KernelPerf& kernel : report.kernels) {
    text += fmt::format("kernel {} ({}:{}): {}\n", kernel.kernel, kernel.file, kernel.line,
                        HeadText(kernel));
    for (const LevelRemark& one : kernel.remarks) text += TableLines(one);
  }
  return text;
}

std::string RemarksJson(const PerfReport& report) {
  std::string text;
  for (const KernelPerf& kernel : report.kernels) {
    for (const LevelRemark& one : kernel.remarks)
      text += (text.empty() ? "" : ",") + RemarkJson(one);
  }
  return "[" + text + "]";
}

}  // namespace kdl::tools
