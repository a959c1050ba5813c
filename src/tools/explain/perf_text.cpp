#include "tools/explain/perf_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "driver/compile/perf_remarks.h"

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

std::string JsonLine(const LevelRemark& one) {
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
  return line.dump() + "\n";
}

std::string TableLines(const LevelRemark& one) {
  const passes::Remark& remark = one.remark;
  std::string share =
      remark.share > 0 ? fmt::format("{:.0f} %", 100 * remark.share) : std::string("-");
  return fmt::format("  {:>6}  {}:{}: {} [{}]\n{:>10}help: {}\n", share, remark.loc.line,
                     remark.loc.column, driver::RemarkText(one), remark.id, "", remark.help);
}

}  // namespace

std::string PerfText(const driver::Session& session, const driver::Code& code) {
  std::string text;
  std::vector<LevelRemark> remarks = driver::MergeRemarks(session, code);
  bool as_json = session.options.diag_format == "json";
  for (const ir::Function* kernel : CompiledKernels(code)) {
    std::string lines;
    for (const LevelRemark& one : remarks) {
      if (one.remark.kernel == kernel->name) lines += as_json ? JsonLine(one) : TableLines(one);
    }
    if (as_json) {
      text += lines;
    } else {
      text += fmt::format("kernel {} ({}:{}): {}\n{}", kernel->name.text(), kernel->loc.file.text(),
                          kernel->loc.line,
                          lines.empty() ? "nothing known makes it slow"
                                        : "estimated parts of its time that could be saved",
                          lines);
    }
  }
  return text;
}

}  // namespace kdl::tools
