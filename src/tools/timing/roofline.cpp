#include "tools/timing/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/explain/html_text.h"

// The plot has logarithmic axes. For each number of threads it has roofs: the highest bandwidth among the rows times the
// operations per byte, but at most the arithmetic limit of f32 or, as a dashed line, of f64. Both axes show the ridge, where
// the slope of the bandwidth meets the limit. A list below the plot has the sizes and numbers of the points.

namespace kdl::tools {

namespace {

// The picture is narrow, so that its text is readable on a phone.
constexpr double kWidth = 480;
constexpr double kPlotHeight = 330;
constexpr double kLeft = 52;
constexpr double kRight = 18;  // half of the number below the last line of the grid
constexpr double kTop = 46;
constexpr double kBottom = 40;
constexpr double kLine = 15;
constexpr double kListLeft = 12;
// A vector has half as many values of f64 as of f32.
constexpr double kShareOfF64 = 0.5;
constexpr int kColours = 5;

constexpr std::string_view kRooflineStyle = R"(<style>
svg { --paper: #fff; --ink: #222; --grid: #ddd; --c0: #2f5d8c; --c1: #b35900; --c2: #2e7d32; --c3: #7b4b86; --c4: #b3261e; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #1b1b1b; --ink: #e6e6e6; --grid: #444; --c0: #8ab4e0; --c1: #f5a55a; --c2: #86c98a; --c3: #d0a3dc; --c4: #f28b82; }
}
text { fill: var(--ink); } .title { font-size: 14px; font-weight: bold; } .grid { stroke: var(--grid); }
</style>
)";

/// A range of powers of ten.
struct Decades {
  int low = 0;
  int high = 1;
  bool empty = true;
  void Include(double value) {
    int below = static_cast<int>(std::floor(std::log10(value)));
    low = empty ? below : std::min(low, below);
    high = std::max(empty ? low + 1 : high, static_cast<int>(std::ceil(std::log10(value))));
    empty = false;
  }
  double Share(double value) const { return (std::log10(value) - low) / (high - low); }
};

/// The limits of the machine for one number of threads, in Gop/s and GB/s; 0 if not measured.
struct Roof {
  double peak = 0;
  double bandwidth = 0;
  double bytes = 0;
  bool is_known() const { return peak > 0 && bandwidth > 0; }
};

struct Place {
  double x;
  double y;
};

bool IsDrawn(const BenchRow& row) { return row.operations && *row.operations > 0 && row.bytes > 0; }
double Intensity(const BenchRow& row) { return *row.operations / row.bytes; }
double Rate(const BenchRow& row) { return *row.operations / row.median * 1e-9; }

std::string PlotText(double x, double y, std::string_view text, std::string_view attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y, attributes,
                     Escaped(text));
}

std::string ColourOf(size_t number) { return fmt::format("var(--c{})", number % kColours); }

class Picture {
 public:
  explicit Picture(const std::vector<BenchRow>& rows) {
    for (const BenchRow& row : rows) {
      if (!IsDrawn(row)) continue;
      rows_.push_back(&row);
      x_.Include(Intensity(row));
      y_.Include(Rate(row));
      Roof& roof = roofs_[row.threads];
      roof.peak = std::max(roof.peak, row.peak * 1e-9);
      if (row.bytes <= roof.bytes) continue;
      roof.bytes = row.bytes;
      roof.bandwidth = row.bandwidth * 1e-9;
    }
    for (const auto& [threads, roof] : roofs_) {
      if (!roof.is_known()) continue;
      double ridge = roof.peak / roof.bandwidth;
      // A part of the slope and a part of the limit are visible.
      for (double x : {ridge / 10, ridge * 2}) x_.Include(x);
      for (double peak : {roof.peak, kShareOfF64 * roof.peak}) y_.Include(peak);
    }
  }

  std::string Draw(const PlotTitle& title) {
    std::string body = Axes();
    std::string list;
    double below = kPlotHeight + kLine;
    auto add_line = [&](std::string_view text, std::string_view colour, double indent) {
      list += PlotText(kListLeft + indent, below, text,
                       fmt::format(" font-size=\"11\" style=\"fill: {}\"", colour));
      below += kLine;
    };
    size_t number = 0;
    for (const auto& [threads, roof] : roofs_) {
      std::string colour = ColourOf(number++);
      body += RoofLines(roof, colour);
      add_line(RoofText(threads, roof), colour, 0);
      for (const BenchRow* row : rows_) {
        if (row->threads != threads) continue;
        body += Point(*row, colour);
        add_line(RowText(*row), "var(--ink)", 10);
      }
    }
    std::string head = fmt::format("Roofline of {}", title.machine);
    return Open(below, head) + PlotText(kLeft, 18, head, " class=\"title\"") +
           PlotText(kLeft, 34, title.date) + body + list + "</svg>\n";
  }

 private:
  static std::string Open(double height, std::string_view title) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" style=\"max-width: 900px\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
        "<title>{2}</title>\n{3}<rect width=\"{0}\" height=\"{1}\" style=\"fill: "
        "var(--paper)\"/>\n",
        kWidth, height, Escaped(title), kRooflineStyle);
  }

  double X(double value) const { return kLeft + x_.Share(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const {
    return kPlotHeight - kBottom - y_.Share(value) * (kPlotHeight - kTop - kBottom);
  }

  static std::string RoofText(int threads, const Roof& roof) {
    std::string who = threads == 0 ? "another device"
                                   : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    if (!roof.is_known()) return who + ": limits not measured";
    return fmt::format("{}: {:.1f} GB/s, {:.0f} Gop/s of f32, {:.0f} of f64 (dashed)", who,
                       roof.bandwidth, roof.peak, kShareOfF64 * roof.peak);
  }

  static std::string RowText(const BenchRow& row) {
    return fmt::format("{} {}: {:.3g} Gop/s, {:.3g} operations per byte", row.kernel, row.sizes,
                       Rate(row), Intensity(row));
  }

  std::string Axes() const {
    std::string svg;
    auto line = [&](double x1, double y1, double x2, double y2) {
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1,
          y1, x2, y2);
    };
    for (int power = x_.low; power <= x_.high; ++power) {
      double x = X(std::pow(10, power));
      line(x, kTop, x, kPlotHeight - kBottom);
      svg += PlotText(x, kPlotHeight - kBottom + 15, fmt::format("{:g}", std::pow(10, power)),
                      " text-anchor=\"middle\"");
    }
    for (int power = y_.low; power <= y_.high; ++power) {
      double y = Y(std::pow(10, power));
      line(kLeft, y, kWidth - kRight, y);
      svg += PlotText(kLeft - 5, y + 4, fmt::format("{:g}", std::pow(10, power)),
                      " text-anchor=\"end\"");
    }
    svg += PlotText((kLeft + kWidth - kRight) / 2, kPlotHeight - 8, "operations per byte",
                    " class=\"axis\" text-anchor=\"middle\"");
    double middle = (kTop + kPlotHeight - kBottom) / 2;
    return svg +
           PlotText(12, middle, "Gop/s",
                    fmt::format(" class=\"axis\" text-anchor=\"middle\" transform=\"rotate(-90 "
                                "12 {:.1f})\"",
                                middle));
  }

  std::string RoofLines(const Roof& roof, std::string_view colour) const {
    if (!roof.is_known()) return "";
    return RoofLine(roof, roof.peak, "f32", colour, "") +
           RoofLine(roof, kShareOfF64 * roof.peak, "f64", colour, "; stroke-dasharray: 5 4");
  }

  std::string RoofLine(const Roof& roof, double peak, std::string_view type,
                       std::string_view colour, std::string_view dashes) const {
    double right = std::pow(10, x_.high);
    double ridge = std::min(peak / roof.bandwidth, right);
    // If the slope would begin below the picture, it begins at the picture's lower edge.
    double begin = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / roof.bandwidth);
    std::string line = fmt::format(
        "<polyline points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\" style=\"fill: none; "
        "stroke: {}; stroke-width: 2{}\"/>\n",
        X(begin), Y(std::min(peak, roof.bandwidth * begin)), X(ridge),
        Y(std::min(peak, roof.bandwidth * ridge)), X(right),
        Y(std::min(peak, roof.bandwidth * right)), colour, dashes);
    return line + PlotText(X(ridge) + 4, Y(peak) + (dashes.empty() ? -4 : 13), type,
                           fmt::format(" style=\"fill: {}\"", colour));
  }

  /// Returns a height for the label of a point at which it overlaps no other label.
  double LabelHeight(double x, double y, double width) {
    auto meets = [&](const Place& label) {
      return std::abs(label.x - x) < width && std::abs(label.y - y) < kLine - 2;
    };
    while (std::ranges::any_of(labels_, meets)) y += kLine / 4;
    labels_.push_back({x, y});
    return y;
  }

  std::string Point(const BenchRow& row, std::string_view colour) {
    double x = X(Intensity(row));
    double y = Y(Rate(row));
    double width = 7 * static_cast<double>(row.kernel.size());
    bool to_the_left = x + width > kWidth - kRight;
    double label = LabelHeight(to_the_left ? x - width : x, y + 4, width);
    return fmt::format(
               "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" style=\"fill: {}\"><title>{}</title>"
               "</circle>\n",
               x, y, colour, Escaped(RowText(row))) +
           PlotText(to_the_left ? x - 7 : x + 7, label, row.kernel,
                    fmt::format("{} style=\"fill: {}\"", to_the_left ? " text-anchor=\"end\"" : "",
                                colour));
  }

  std::vector<const BenchRow*> rows_;
  Decades x_;
  Decades y_;
  std::map<int, Roof> roofs_;
  std::vector<Place> labels_;
};

}  // namespace

PlotTitle TitleForNow() {
  PlotTitle title{"this machine", ""};
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    title.machine = line.substr(colon + 2);
    break;
  }
  std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  title.date = fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
  return title;
}

std::string RooflineSvg(const std::vector<BenchRow>& rows, const PlotTitle& title) {
  return Picture(rows).Draw(title);
}

}  // namespace kdl::tools
