#include "tools/timing/time_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "support/sort_by.h"
#include "tools/drawing/svg.h"

namespace kdl::tools {

namespace {

// The picture is narrow, so that its text is readable on a phone. The names of rows are above them.
constexpr double kTimeLineWidth = 480;
constexpr double kTimeLeft = 14;
constexpr double kTimeRight = 24;
constexpr double kFirstRowTop = 62;
constexpr double kRowHeight = 36;
constexpr double kSpanHeight = 16;
constexpr int kMostTicks = 6;

struct TimeScale {
  std::string_view name;
  double microseconds;
};

TimeScale ScaleFor(double microseconds) {
  if (microseconds < 1e4) return {"us", 1};
  return microseconds < 1e7 ? TimeScale{"ms", 1e3} : TimeScale{"s", 1e6};
}

/// Spans of the same kind that cannot be told apart in the picture, drawn as one box.
struct Bar {
  double begin;
  double end;
  size_t count;
  const ProfileSpan* first;
};

class TimeLine {
 public:
  explicit TimeLine(const std::vector<ProfileSpan>& spans) {
    begin_ = std::ranges::min(spans, {}, &ProfileSpan::begin).begin;
    end_ = std::max(std::ranges::max(spans, {}, &ProfileSpan::end).end, begin_ + 1e-3);
    for (const ProfileSpan& span : spans) rows_[span.row].push_back(&span);
  }

  std::string Draw(std::string_view title) {
    Svg svg(kTimeLineWidth, title);
    svg.Text({kTimeLeft, 18}, title, {.kind = "title"});
    const LegendEntry legend[] = {{ColourOf(SpanKind::Kernel), "runs a kernel", Mark::Full},
                                  {ColourOf(SpanKind::Copy), "copies", Mark::Full},
                                  {ColourOf(SpanKind::Wait), "waits", Mark::Full}};
    svg.Legend({kTimeLeft, 36}, legend);
    double bottom = kFirstRowTop + kRowHeight * static_cast<double>(rows_.size());
    DrawAxis(svg, bottom);
    double y = kFirstRowTop;
    for (auto& [row, spans] : rows_) {
      svg.Text({kTimeLeft, y}, row, {.kind = "small"});
      DrawRow(svg, spans, y + 4);
      y += kRowHeight;
    }
    return svg.Finish(bottom + 40, SvgUse::File);
  }

 private:
  static std::string ColourOf(SpanKind kind) {
    constexpr std::array<size_t, 3> kNumbers = {0, 1, 5};
    return Colour(kNumbers[static_cast<size_t>(kind)]);
  }

  double X(double time) const {
    return kTimeLeft +
           (time - begin_) / (end_ - begin_) * (kTimeLineWidth - kTimeLeft - kTimeRight);
  }

  void DrawAxis(Svg& svg, double bottom) const {
    TimeScale scale = ScaleFor(end_ - begin_);
    double step = TickStep((end_ - begin_) / scale.microseconds, kMostTicks);
    for (int n = 0; n * step * scale.microseconds <= end_ - begin_; ++n) {
      double x = X(begin_ + n * step * scale.microseconds);
      svg.GridLine({x, kFirstRowTop + 4}, {x, bottom});
      svg.Text({x, bottom + 14}, fmt::format("{:g}", n * step), {Anchor::Middle, "tick"});
    }
    svg.Text({kTimeLineWidth / 2, bottom + 32}, fmt::format("time ({})", scale.name),
             {Anchor::Middle, "axis"});
  }

  /// Joins spans of a kind with gaps that are too small to be seen, so that the picture of a long run is small.
  std::vector<Bar> BarsOf(const std::vector<const ProfileSpan*>& spans, SpanKind kind) const {
    constexpr double kLeastGap = 0.3;
    std::vector<Bar> bars;
    for (const ProfileSpan* span : spans) {
      if (KindOf(*span) != kind) continue;
      bool is_close = !bars.empty() && X(span->begin) - X(bars.back().end) < kLeastGap &&
                      X(bars.back().end) - X(bars.back().begin) < kLeastGap;
      if (!is_close) {
        bars.push_back({span->begin, span->end, 1, span});
        continue;
      }
      bars.back().end = std::max(bars.back().end, span->end);
      ++bars.back().count;
    }
    return bars;
  }

  void DrawRow(Svg& svg, std::vector<const ProfileSpan*>& spans, double y) const {
    constexpr double kLeastWidth = 0.6;
    SortBy(spans, [](const ProfileSpan* span) { return span->begin; });
    // Within a row, copies and waits are parts of the time of a kernel, so they are drawn over it.
    for (SpanKind kind : {SpanKind::Kernel, SpanKind::Wait, SpanKind::Copy}) {
      for (const Bar& bar : BarsOf(spans, kind)) {
        std::string tip = fmt::format("{}: {}", bar.first->name, DurationText(bar.end - bar.begin));
        if (bar.count > 1) tip += fmt::format(", with {} others", bar.count - 1);
        double width = std::max(X(bar.end) - X(bar.begin), kLeastWidth);
        svg.Rect({X(bar.begin), y, width, kSpanHeight}, ColourOf(kind), 1, tip);
      }
    }
  }

  double begin_ = 0;
  double end_ = 0;
  std::map<std::string, std::vector<const ProfileSpan*>> rows_;
};

}  // namespace

std::string TimeLineSvg(const std::vector<ProfileSpan>& spans, std::string_view title) {
  if (spans.empty()) {
    Svg svg(kTimeLineWidth, title);
    svg.Text({kTimeLeft, 18}, title, {.kind = "title"});
    svg.Text({kTimeLeft, 40}, "nothing has run on a device");
    return svg.Finish(52, SvgUse::File);
  }
  return TimeLine(spans).Draw(title);
}

}  // namespace kdl::tools
