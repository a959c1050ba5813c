#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/explain/html_text.h"
#include "tools/timing/bench_report.h"

// The plot has logarithmic axes. It has a roof for each number of threads: the highest bandwidth
// among the rows times the operations per byte, but at most the arithmetic limit.

namespace kdl::tools {

namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 460;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 30;
constexpr double kBottom = 50;
constexpr std::string_view kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759"};

/// A range of powers of ten.
struct Decades {
  int low = 0;
  int high = 1;
  bool empty = true;
  void Hold(double value) {
    int below = static_cast<int>(std::floor(std::log10(value)));
    low = empty ? below : std::min(low, below);
    high = std::max(empty ? low + 1 : high, static_cast<int>(std::ceil(std::log10(value))));
    empty = false;
  }
  double Share(double value) const { return (std::log10(value) - low) / (high - low); }
};

struct Roof {
  double peak = 0;
  double bandwidth = 0;
  double bytes = 0;
};

struct Label {
  double x;
  double y;
};

bool IsDrawn(const BenchRow& row) { return row.operations && *row.operations > 0 && row.bytes > 0; }
double Intensity(const BenchRow& row) { return *row.operations / row.bytes; }
double Rate(const BenchRow& row) { return *row.operations / row.median * 1e-9; }

class Picture {
 public:
  explicit Picture(const std::vector<BenchRow>& rows) : rows_(rows) {
    for (const BenchRow& row : rows) {
      if (!IsDrawn(row)) continue;
      x_.Hold(Intensity(row));
      y_.Hold(Rate(row));
      if (row.peak > 0) y_.Hold(row.peak * 1e-9);
      Roof& roof = roofs_[row.threads];
      roof.peak = std::max(roof.peak, row.peak * 1e-9);
      if (row.bytes <= roof.bytes) continue;
      roof.bytes = row.bytes;
      roof.bandwidth = row.bandwidth * 1e-9;
    }
  }

  std::string Draw() {
    std::string svg = fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="12">
<rect width="{0}" height="{1}" fill="#fff"/>
)",
        kWidth, kHeight);
    svg += Grid();
    size_t number = 0;
    double legend = kTop + 14;
    for (const auto& [threads, roof] : roofs_) {
      std::string_view colour = kColours[number++ % std::size(kColours)];
      svg += RoofLine(roof, colour);
      svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" fill="{}">{}</text>)", kLeft + 8, legend,
                         colour, RoofText(threads, roof));
      svg += "\n";
      legend += 16;
      for (const BenchRow& row : rows_) {
        if (IsDrawn(row) && row.threads == threads) svg += Point(row, colour);
      }
    }
    return svg + "</svg>\n";
  }

 private:
  double X(double value) const { return kLeft + x_.Share(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const {
    return kHeight - kBottom - y_.Share(value) * (kHeight - kTop - kBottom);
  }

  static std::string RoofText(int threads, const Roof& roof) {
    if (threads == 0) return "another device";
    std::string text = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    return text + fmt::format(": {:.0f} Gop/s of f32, {:.1f} GB/s", roof.peak, roof.bandwidth);
  }

  std::string Grid() const {
    std::string svg;
    auto line = [&](double x1, double y1, double x2, double y2) {
      svg += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#ddd"/>)",
                         x1, y1, x2, y2);
    };
    for (int power = x_.low; power <= x_.high; ++power) {
      double x = X(std::pow(10, power));
      line(x, kTop, x, kHeight - kBottom);
      svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{:g}</text>)", x,
                         kHeight - kBottom + 16, std::pow(10, power));
    }
    for (int power = y_.low; power <= y_.high; ++power) {
      double y = Y(std::pow(10, power));
      line(kLeft, y, kWidth - kRight, y);
      svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:g}</text>)", kLeft - 6,
                         y + 4, std::pow(10, power));
    }
    svg +=
        fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">operations a byte</text>)",
                    (kLeft + kWidth - kRight) / 2, kHeight - 12);
    svg += fmt::format(R"(<text x="14" y="{:.1f}">Gop/s</text>)", kTop - 10);
    return svg + "\n";
  }

  std::string RoofLine(const Roof& roof, std::string_view colour) const {
    if (roof.peak <= 0 || roof.bandwidth <= 0) return "";
    double ridge = roof.peak / roof.bandwidth;
    double left = std::pow(10, x_.low);
    double right = std::pow(10, x_.high);
    double corner = std::clamp(ridge, left, right);
    auto roof_at = [&](double x) { return std::min(roof.peak, roof.bandwidth * x); };
    // If the slope would begin below the picture, begin it at the picture's lower edge.
    double begin = std::max(left, std::pow(10, y_.low) / roof.bandwidth);
    return fmt::format(
               R"(<polyline points="{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}" fill="none" stroke="{}" stroke-width="2"/>)",
               X(begin), Y(roof_at(begin)), X(corner), Y(roof_at(corner)), X(right),
               Y(roof_at(right)), colour) +
           "\n";
  }

  /// Returns a height for a label next to the point, chosen so that the label overlaps no other
  /// label.
  double LabelHeight(double x, double y) {
    constexpr double kLine = 12;
    constexpr double kLabel = 130;
    auto meets = [&](const Label& label) {
      return std::abs(label.x - x) < kLabel && std::abs(label.y - y) < kLine;
    };
    while (std::ranges::any_of(labels_, meets)) y += kLine / 4;
    labels_.push_back({x, y});
    return y;
  }

  std::string Point(const BenchRow& row, std::string_view colour) {
    double x = X(Intensity(row));
    double y = Y(Rate(row));
    bool to_the_left = x > kWidth * 0.7;
    double label = LabelHeight(to_the_left ? x - 130 : x, y + 4);
    return fmt::format(
               R"(<g><title>{0} {1}: {2:.2f} Gop/s, {3:.2f} operations a byte</title><circle cx="{4:.1f}" cy="{5:.1f}" r="4" fill="{6}"/><text x="{7:.1f}" y="{8:.1f}" text-anchor="{9}">{0}</text></g>)",
               Escaped(row.kernel), Escaped(row.sizes), Rate(row), Intensity(row), x, y, colour,
               to_the_left ? x - 7 : x + 7, label, to_the_left ? "end" : "start") +
           "\n";
  }

  const std::vector<BenchRow>& rows_;
  Decades x_;
  Decades y_;
  std::map<int, Roof> roofs_;
  std::vector<Label> labels_;
};

}  // namespace

std::string RooflineSvg(const std::vector<BenchRow>& rows) { return Picture(rows).Draw(); }

}  // namespace kdl::tools
