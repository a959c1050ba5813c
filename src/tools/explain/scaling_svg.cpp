#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/drawing/svg.h"
#include "tools/explain/scaling.h"

// The plot has logarithmic axes: milliseconds over the number of ranks. A second line shows how long a rank computes, and a
// dashed one the time on one rank divided by the number of ranks. Upright lines are the intervals of the predictions.

namespace kdl::tools {

namespace {

constexpr double kScalingWidth = 480;
constexpr double kScalingHeight = 330;  // without the legend
constexpr double kAxisLeft = 58;
constexpr double kAxisRight = 18;
constexpr double kAxisTop = 46;
constexpr double kAxisBottom = 40;
constexpr double kMostRankTicks = 7;

class Plot {
 public:
  explicit Plot(const std::vector<ScalingPoint>& points) : points_(points) {
    highest_ = std::log2(static_cast<double>(std::max<int64_t>(points.back().ranks, 2)));
    for (const ScalingPoint& point : points) {
      for (double seconds : {point.seconds, point.computing, Ideal(point), point.least, point.most})
        Include(seconds * 1e3);
    }
  }

  std::string Draw(std::string_view program, SvgUse use) const {
    std::string title = fmt::format("Predicted time of {}", program);
    Svg svg(kScalingWidth, title);
    svg.Text({kAxisLeft, 18}, title, {.kind = "title"});
    svg.Text({kAxisLeft, 34}, "model, without contention");
    DrawAxes(svg);
    DrawLine(svg, {.colour = Colour(2), .width = 1.5, .dashes = "5 4"}, IdealFrom);
    DrawLine(svg, {.colour = Colour(1), .width = 2}, Computing);
    DrawLine(svg, {.colour = Colour(0), .width = 2}, Seconds);
    for (const ScalingPoint& point : points_) DrawPoint(svg, point);
    const LegendEntry legend[] = {
        {Colour(0), "time of the program", Mark::Line},
        {Colour(1), "of this, computing and copying", Mark::Line},
        {Colour(2), "time on one rank, divided by the number of ranks", Mark::DashedLine}};
    return svg.Finish(svg.Legend({kAxisLeft, kScalingHeight + 12}, legend), use);
  }

 private:
  static double Seconds(const ScalingPoint& point, const ScalingPoint&) { return point.seconds; }
  static double Computing(const ScalingPoint& point, const ScalingPoint&) {
    return point.computing;
  }
  static double IdealFrom(const ScalingPoint& point, const ScalingPoint& one) {
    return one.seconds / static_cast<double>(point.ranks);
  }
  double Ideal(const ScalingPoint& point) const { return IdealFrom(point, points_[0]); }

  void Include(double value) {
    if (value <= 0) return;
    low_ = std::min(low_, static_cast<int>(std::floor(std::log10(value))));
    high_ = std::max(high_, static_cast<int>(std::ceil(std::log10(value))));
  }
  double X(double doublings) const {
    return kAxisLeft + doublings / highest_ * (kScalingWidth - kAxisLeft - kAxisRight);
  }
  double X(const ScalingPoint& point) const {
    return X(std::log2(static_cast<double>(point.ranks)));
  }
  double Y(double milliseconds) const {
    double share = (std::log10(std::max(milliseconds, std::pow(10, low_))) - low_) / (high_ - low_);
    return kScalingHeight - kAxisBottom - share * (kScalingHeight - kAxisTop - kAxisBottom);
  }

  void DrawAxes(Svg& svg) const {
    double step = std::ceil(highest_ / kMostRankTicks);
    for (double doublings = 0; doublings <= highest_; doublings += step) {
      svg.GridLine({X(doublings), kAxisTop}, {X(doublings), kScalingHeight - kAxisBottom});
      svg.Text({X(doublings), kScalingHeight - kAxisBottom + 15},
               fmt::format("{:g}", std::exp2(doublings)), {Anchor::Middle, "tick"});
    }
    for (int power = low_; power <= high_; ++power) {
      double y = Y(std::pow(10, power));
      svg.GridLine({kAxisLeft, y}, {kScalingWidth - kAxisRight, y});
      svg.Text({kAxisLeft - 5, y + 4}, fmt::format("{:g}", std::pow(10, power)),
               {Anchor::End, "tick"});
    }
    svg.Text({(kAxisLeft + kScalingWidth - kAxisRight) / 2, kScalingHeight - 8}, "ranks (number)",
             {Anchor::Middle, "axis"});
    svg.UprightAxis((kAxisTop + kScalingHeight - kAxisBottom) / 2, "time (ms)");
  }

  void DrawPoint(Svg& svg, const ScalingPoint& point) const {
    std::string interval;
    if (point.has_interval()) {
      svg.Line({X(point), Y(point.least * 1e3)}, {X(point), Y(point.most * 1e3)},
               {.colour = Colour(0), .width = 1});
      interval = fmt::format(" ({:.4g} to {:.4g})", point.least * 1e3, point.most * 1e3);
    }
    svg.Circle({X(point), Y(point.seconds * 1e3)}, Colour(0),
               fmt::format("{} ranks: {:.4g} ms{}", point.ranks, point.seconds * 1e3, interval));
  }

  template <class Value>
  void DrawLine(Svg& svg, const LineLook& look, Value value) const {
    std::vector<Point> line;
    for (const ScalingPoint& point : points_)
      line.push_back({X(point), Y(value(point, points_[0]) * 1e3)});
    svg.Line(line, look);
  }

  const std::vector<ScalingPoint>& points_;
  double highest_ = 1;  ///< the base-2 logarithm of the number of ranks at the right edge
  int low_ = 99;        ///< powers of ten at the lower and the upper edge
  int high_ = -99;
};

}  // namespace

std::string ScalingSvg(const std::vector<ScalingPoint>& points, std::string_view program,
                       bool is_in_page) {
  return Plot(points).Draw(program, is_in_page ? SvgUse::InPage : SvgUse::File);
}

}  // namespace kdl::tools
