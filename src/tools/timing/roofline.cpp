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

#include "tools/drawing/svg.h"

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

bool IsDrawn(const BenchRow& row) { return row.operations && *row.operations > 0 && row.bytes > 0; }
double Intensity(const BenchRow& row) { return *row.operations / row.bytes; }
double Rate(const BenchRow& row) { return *row.operations / row.median * 1e-9; }

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
    std::string head = fmt::format("Roofline of {}", title.machine);
    Svg svg(kWidth, head);
    svg.Text({kLeft, 18}, head, {.kind = "title"});
    svg.Text({kLeft, 34}, title.date);
    DrawAxes(svg);
    double below = kPlotHeight + kLine;
    size_t number = 0;
    for (const auto& [threads, roof] : roofs_) DrawRoofs(svg, roof, Colour(number++));
    number = 0;
    for (const auto& [threads, roof] : roofs_) {
      std::string colour = Colour(number++);
      std::vector<LegendEntry> legend = RoofLegend(threads, roof, colour);
      below = svg.Legend({kListLeft, below}, legend);
      for (const BenchRow* row : rows_) {
        if (row->threads != threads) continue;
        DrawPoint(svg, *row, colour);
        svg.Text({kListLeft + 10, below}, RowText(*row), {.kind = "small"});
        below += kLine;
      }
    }
    return svg.Finish(below, SvgUse::File);
  }

 private:
  double X(double value) const { return kLeft + x_.Share(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const {
    return kPlotHeight - kBottom - y_.Share(value) * (kPlotHeight - kTop - kBottom);
  }

  static std::vector<LegendEntry> RoofLegend(int threads, const Roof& roof,
                                             const std::string& colour) {
    std::string who = threads == 0 ? "another device"
                                   : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    if (!roof.is_known()) return {{colour, who + ": limits not measured", Mark::Full}};
    return {
        {colour,
         fmt::format("{}: {:.1f} GB/s, {:.0f} Gop/s of f32", who, roof.bandwidth, roof.peak),
         Mark::Line},
        {colour, fmt::format("{:.0f} Gop/s of f64", kShareOfF64 * roof.peak), Mark::DashedLine}};
  }

  static std::string RowText(const BenchRow& row) {
    return fmt::format("{} {}: {:.3g} Gop/s, {:.3g} operations per byte", row.kernel, row.sizes,
                       Rate(row), Intensity(row));
  }

  void DrawAxes(Svg& svg) const {
    for (int power = x_.low; power <= x_.high; ++power) {
      double x = X(std::pow(10, power));
      svg.GridLine({x, kTop}, {x, kPlotHeight - kBottom});
      svg.Text({x, kPlotHeight - kBottom + 15}, fmt::format("{:g}", std::pow(10, power)),
               {Anchor::Middle, "tick"});
    }
    for (int power = y_.low; power <= y_.high; ++power) {
      double y = Y(std::pow(10, power));
      svg.GridLine({kLeft, y}, {kWidth - kRight, y});
      svg.Text({kLeft - 5, y + 4}, fmt::format("{:g}", std::pow(10, power)), {Anchor::End, "tick"});
    }
    svg.Text({(kLeft + kWidth - kRight) / 2, kPlotHeight - 8}, "intensity (operations per byte)",
             {Anchor::Middle, "axis"});
    svg.UprightAxis((kTop + kPlotHeight - kBottom) / 2, "speed (Gop/s)");
  }

  void DrawRoofs(Svg& svg, const Roof& roof, std::string_view colour) {
    if (!roof.is_known()) return;
    DrawRoof(svg, roof, roof.peak, "f32", {.colour = colour, .width = 2});
    DrawRoof(svg, roof, kShareOfF64 * roof.peak, "f64",
             {.colour = colour, .width = 2, .dashes = "5 4"});
  }

  void DrawRoof(Svg& svg, const Roof& roof, double peak, std::string_view type,
                const LineLook& look) {
    double right = std::pow(10, x_.high);
    double ridge = std::min(peak / roof.bandwidth, right);
    // If the slope would begin below the picture, it begins at the picture's lower edge.
    double begin = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / roof.bandwidth);
    const Point points[] = {{X(begin), Y(std::min(peak, roof.bandwidth * begin))},
                            {X(ridge), Y(std::min(peak, roof.bandwidth * ridge))},
                            {X(right), Y(std::min(peak, roof.bandwidth * right))}};
    svg.Line(points, look);
    double width = TextWidth(type);
    double x = X(ridge) + 4;
    double y = LabelHeight(x, Y(peak) + (look.dashes.empty() ? -4 : 13), width);
    svg.Text({x, y}, type, {.kind = "label", .colour = look.colour});
  }

  /// Returns a height for the label of a point at which it overlaps no other label.
  double LabelHeight(double x, double y, double width) {
    auto meets = [&](const Point& label) {
      return std::abs(label.x - x) < width && std::abs(label.y - y) < kLine - 2;
    };
    while (std::ranges::any_of(labels_, meets)) y += kLine / 4;
    labels_.push_back({x, y});
    return y;
  }

  void DrawPoint(Svg& svg, const BenchRow& row, std::string_view colour) {
    double x = X(Intensity(row));
    double y = Y(Rate(row));
    double width = 7 * static_cast<double>(row.kernel.size());
    bool to_the_left = x + width > kWidth - kRight;
    double label = LabelHeight(to_the_left ? x - width : x, y + 4, width);
    svg.Circle({x, y}, colour, RowText(row));
    svg.Text({to_the_left ? x - 7 : x + 7, label}, row.kernel,
             {to_the_left ? Anchor::End : Anchor::Start, "label", colour});
  }

  std::vector<const BenchRow*> rows_;
  Decades x_;
  Decades y_;
  std::map<int, Roof> roofs_;
  std::vector<Point> labels_;
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
