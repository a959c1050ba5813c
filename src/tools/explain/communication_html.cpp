#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/drawing/escaped.h"
#include "tools/drawing/svg.h"
#include "tools/explain/communication_map.h"
#include "tools/explain/html_text.h"

// The picture is a matrix. A cell shows the bytes that the ranks of its row send to the ranks of its column. The stronger its
// colour is, the more they are.

namespace kdl::tools {

namespace {

constexpr double kMatrixSize = 420;
constexpr double kSmallMatrixSize = 280;
constexpr double kMargin = 60;
constexpr int64_t kMostLabels = 8;
constexpr int64_t kMostNumbers = 5;  ///< matrices with more rows have no numbers in their cells
constexpr double kFaintest = 0.15;
constexpr double kDarkest = 0.5;  ///< texts remain readable

/// Returns the names of the ranks of a group, such as `3` or `64 to 127`.
std::string RanksText(const CommunicationReport& report, int64_t group) {
  int64_t first = group * report.ranks_of_group;
  int64_t last = std::min(first + report.ranks_of_group, report.ranks) - 1;
  return first == last ? fmt::to_string(first) : fmt::format("{} to {}", first, last);
}

/// The matrix of a report, and the places of its cells.
struct Matrix {
  int64_t groups;
  double size;
  double side() const { return size / static_cast<double>(groups); }
  double Begin(int64_t group) const { return kMargin + static_cast<double>(group) * side(); }
  double Middle(int64_t group) const { return Begin(group) + side() / 2; }
};

void DrawAxes(Svg& svg, const Matrix& matrix, int64_t ranks_of_group) {
  double middle = kMargin + matrix.size / 2;
  svg.Text({middle, 18}, "receiver (rank)", {Anchor::Middle, "axis"});
  svg.UprightAxis(middle, "sender (rank)");
  svg.Rect({kMargin, kMargin, matrix.size, matrix.size}, "var(--grid)", 0);
  for (int64_t group = 0; group < matrix.groups;
       group += (matrix.groups + kMostLabels - 1) / kMostLabels) {
    std::string rank = fmt::to_string(group * ranks_of_group);
    svg.Text({matrix.Middle(group), kMargin - 8}, rank, {Anchor::Middle, "tick"});
    svg.Text({kMargin - 8, matrix.Middle(group) + 4}, rank, {Anchor::End, "tick"});
  }
}

std::string MatrixSvg(const CommunicationReport& report) {
  std::vector<PairTraffic> pairs = TotalPairs(report);
  int64_t groups = (report.ranks + report.ranks_of_group - 1) / report.ranks_of_group;
  int64_t most =
      std::ranges::max(pairs, {}, [](const PairTraffic& one) { return one.sent.bytes; }).sent.bytes;
  bool is_small = groups <= kMostNumbers;
  Matrix matrix{groups, is_small ? kSmallMatrixSize : kMatrixSize};
  double edge = kMargin + matrix.size;
  Svg svg(edge + 2, "bytes that ranks send to each other");
  DrawAxes(svg, matrix, report.ranks_of_group);
  std::string colour = Colour(0);
  for (const PairTraffic& pair : pairs) {
    double share = static_cast<double>(pair.sent.bytes) / static_cast<double>(most);
    svg.Rect({matrix.Begin(pair.to), matrix.Begin(pair.from), matrix.side(), matrix.side()}, colour,
             kFaintest + (kDarkest - kFaintest) * share,
             fmt::format("{} to {}: {} bytes", RanksText(report, pair.from),
                         RanksText(report, pair.to), pair.sent.bytes));
    if (is_small)
      svg.Text({matrix.Middle(pair.to), matrix.Middle(pair.from) + 4},
               fmt::to_string(pair.sent.bytes), {Anchor::Middle});
  }
  const LegendEntry legend[] = {
      {colour, fmt::format("bytes: the stronger, the more; at most {}", most)}};
  double below = svg.Legend({kMargin, edge + 18}, legend);
  return fmt::format("<div class=\"picture\">{}</div>\n", svg.Finish(below, SvgUse::InPage));
}

}  // namespace

std::string HtmlPage(const CommunicationReport& report) {
  std::string title = fmt::format("Communication in {}", Escaped(report.file));
  std::string body;
  if (TotalTraffic(report).messages > 0) body += MatrixSvg(report);
  if (!report.scaling.empty())
    body += fmt::format("<div class=\"picture\">{}</div>\n",
                        ScalingSvg(report.scaling, report.program, true));
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(title, "", body);
}

}  // namespace kdl::tools
