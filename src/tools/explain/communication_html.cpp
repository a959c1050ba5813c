#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/explain/communication_map.h"
#include "tools/explain/html_text.h"

// The picture is a matrix. A cell shows the bytes that the ranks of its row send to the ranks of its column. The darker it is,
// the more they are.

namespace kdl::tools {

namespace {

constexpr int64_t kMatrixSize = 640;
constexpr int64_t kSmallMatrixSize = 280;  ///< fits on a phone
constexpr int64_t kMargin = 60;
constexpr int64_t kMostLabels = 8;
constexpr int64_t kMostNumbers = 5;  ///< matrices with more rows have no numbers in their cells
constexpr double kFaintest = 0.15;

/// Returns the names of the ranks of a group, such as `3` or `64 to 127`.
std::string RanksText(const CommunicationReport& report, int64_t group) {
  int64_t first = group * report.ranks_of_group;
  int64_t last = std::min(first + report.ranks_of_group, report.ranks) - 1;
  return first == last ? fmt::to_string(first) : fmt::format("{} to {}", first, last);
}

std::string MatrixSvg(const CommunicationReport& report) {
  std::vector<PairTraffic> pairs = TotalPairs(report);
  int64_t groups = (report.ranks + report.ranks_of_group - 1) / report.ranks_of_group;
  int64_t most =
      std::ranges::max(pairs, {}, [](const PairTraffic& one) { return one.sent.bytes; }).sent.bytes;
  bool is_small = groups <= kMostNumbers;
  int64_t size = is_small ? kSmallMatrixSize : kMatrixSize;
  double side = static_cast<double>(size) / static_cast<double>(groups);
  int64_t edge = kMargin + size;
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {0}\" width=\"{0}\" role=\"img\" aria-label=\"bytes between "
      "ranks\">\n"
      "<text x=\"{1}\" y=\"18\" text-anchor=\"middle\">to rank</text>\n"
      "<text x=\"18\" y=\"{1}\" text-anchor=\"middle\" transform=\"rotate(-90 18 {1})\">from "
      "rank</text>\n"
      "<rect x=\"{2}\" y=\"{2}\" width=\"{3}\" height=\"{3}\" fill=\"none\" "
      "stroke=\"currentColor\"/>\n",
      edge + 2, kMargin + size / 2, kMargin, size);
  for (int64_t group = 0; group < groups; group += (groups + kMostLabels - 1) / kMostLabels) {
    double middle = static_cast<double>(kMargin) + (static_cast<double>(group) + 0.5) * side;
    svg += fmt::format(
        "<text x=\"{0:.1f}\" y=\"{1}\" text-anchor=\"middle\">{3}</text>"
        "<text x=\"{1}\" y=\"{2:.1f}\" text-anchor=\"end\">{3}</text>\n",
        middle, kMargin - 8, middle + 4, group * report.ranks_of_group);
  }
  for (const PairTraffic& pair : pairs) {
    double share = static_cast<double>(pair.sent.bytes) / static_cast<double>(most);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#4e79a7\" "
        "fill-opacity=\"{:.2f}\"><title>{} to {}: {} bytes</title></rect>\n",
        static_cast<double>(kMargin) + static_cast<double>(pair.to) * side,
        static_cast<double>(kMargin) + static_cast<double>(pair.from) * side, side, side,
        kFaintest + (1 - kFaintest) * share, RanksText(report, pair.from),
        RanksText(report, pair.to), pair.sent.bytes);
    if (is_small)
      svg += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          static_cast<double>(kMargin) + (static_cast<double>(pair.to) + 0.5) * side,
          static_cast<double>(kMargin) + (static_cast<double>(pair.from) + 0.5) * side + 4,
          pair.sent.bytes);
  }
  return svg + fmt::format(
                   "</svg>\n<p>A cell shows the bytes that its row's rank sends to its column's "
                   "rank. The "
                   "largest number is {} bytes.</p>\n",
                   most);
}

}  // namespace

std::string HtmlPage(const CommunicationReport& report) {
  std::string title = fmt::format("Communication in {}", Escaped(report.file));
  std::string body;
  if (TotalTraffic(report).messages > 0) body += MatrixSvg(report);
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(title, "svg { max-width: 100%; height: auto; }", body);
}

}  // namespace kdl::tools
