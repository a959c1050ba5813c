#include <fmt/format.h>

#include "tools/explain/html_text.h"
#include "tools/explain/perf_report.h"

namespace kdl::tools {

namespace {

using driver::LevelRemark;

/// Returns a bar as long as the part of the time that could be saved. A remark that is not about time
/// has no bar.
std::string ShareBar(const passes::Remark& remark) {
  if (remark.share <= 0) return {};
  return fmt::format(
      R"(<svg width="100" height="12"><rect width="100" height="12" fill="#ddd"/><rect width="{:.0f}" height="12" fill="#f28e2b"/></svg>)",
      100 * remark.share);
}

std::string RemarkRow(const LevelRemark& one) {
  const passes::Remark& remark = one.remark;
  return fmt::format(
      "<tr><td>{}</td><td class=\"share\">{}</td><td>{}:{}</td><td>{} "
      "[{}]<br><small>{}</small></td>"
      "</tr>\n",
      ShareBar(remark), ShareText(remark), remark.loc.line, remark.loc.column,
      Escaped(driver::RemarkText(one)), remark.id, Escaped(remark.help));
}

std::string KernelTable(const KernelPerf& kernel) {
  std::string html =
      fmt::format("<h2>{} <small>{}:{}</small></h2>\n<p>{}</p>\n", Escaped(kernel.kernel),
                  Escaped(kernel.file), kernel.line, HeadText(kernel));
  if (kernel.remarks.empty()) return html;
  html += "<table>\n";
  for (const LevelRemark& one : kernel.remarks) html += RemarkRow(one);
  return html + "</table>\n";
}

}  // namespace

std::string HtmlPage(const PerfReport& report) {
  std::string title = fmt::format("What makes the kernels of {} slow", Escaped(report.file));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body {{ font: 15px sans-serif; max-width: 1000px; margin: 2em auto; }} "
      "small {{ color: #666; }} td {{ vertical-align: top; padding: 4px; }} "
      ".share {{ text-align: right; white-space: nowrap; }}</style>\n</head>\n<body>\n"
      "<h1>{0}</h1>\n",
      title);
  for (const KernelPerf& kernel : report.kernels) html += KernelTable(kernel);
  return html + "</body>\n</html>\n";
}

}  // namespace kdl::tools
