#include <fmt/format.h>

#include "tools/drawing/escaped.h"
#include "tools/drawing/svg.h"
#include "tools/explain/html_text.h"
#include "tools/explain/perf_report.h"

namespace kdl::tools {

namespace {

using driver::LevelRemark;

/// Returns a bar as long as the part of the time that could be saved. A remark that is not about time
/// has no bar.
std::string ShareBar(const passes::Remark& remark) {
  if (remark.share <= 0) return {};
  constexpr double kWidth = 100;
  constexpr double kHeight = 12;
  Svg svg(kWidth, fmt::format("{:.0f} % of the time could be saved", 100 * remark.share));
  svg.Rect({0, 0, kWidth, kHeight}, "var(--grid)", 1);
  svg.Rect({0, 0, kWidth * remark.share, kHeight}, Colour(1), 1);
  return svg.Finish(kHeight, SvgUse::InPage);
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
  html +=
      "<table>\n<tr><th class=\"bar\" colspan=\"2\">share of the time (%)</th><th>line</th>"
      "<th>remark</th></tr>\n";
  for (const LevelRemark& one : kernel.remarks) html += RemarkRow(one);
  return html + "</table>\n";
}

}  // namespace

std::string HtmlPage(const PerfReport& report) {
  std::string title = fmt::format("What makes the kernels of {} slow", Escaped(report.file));
  std::string body;
  for (const KernelPerf& kernel : report.kernels) body += KernelTable(kernel);
  return HtmlDocument(title,
                      "td { vertical-align: top; padding: 4px; } th { text-align: left; "
                      "padding: 4px; } td:first-child { min-width: 70px; } "
                      ".share { text-align: right; white-space: nowrap; }",
                      body);
}

}  // namespace kdl::tools
