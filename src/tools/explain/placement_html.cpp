#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/drawing/escaped.h"
#include "tools/drawing/svg.h"
#include "tools/explain/html_text.h"
#include "tools/explain/placement_map.h"

// The picture has a column for each queue, and a row for each step in program order from top to
// bottom. Arrows are transfers between devices. Dashed lines connect events of one queue to steps
// of other queues that wait for them. The numbers at the left are those of the steps in the text.

namespace kdl::tools {

namespace {

constexpr double kNumbersWidth = 44;
constexpr double kColumn = 260;
constexpr double kStepHeight = 34;
constexpr double kFirstStep = 66;
constexpr double kLabelWidth = 230;
constexpr double kHalfHeight = 12;

/// The numbers of the colours of what a step can be.
enum Meaning { kLaunch = 0, kTransfer = 1, kWait = 2, kOther = 5 };

/// The columns of the picture: one for the caller if any data comes from it, then the queues in the
/// order of their first steps.
class Columns {
 public:
  explicit Columns(const PlacedProgram& program) {
    for (const PlacedStep& step : program.steps) {
      if (step.kind == StepKind::Region) continue;
      if (!step.from.empty() && !FindDevice(step.from)) Add(step.from, 0);
      Add(step.device, step.queue);
    }
  }
  double CentreOf(const std::string& device, int64_t queue) const {
    size_t column = static_cast<size_t>(std::ranges::find(columns_, std::pair(device, queue)) -
                                        columns_.begin());
    return kNumbersWidth + (static_cast<double>(column) + 0.5) * kColumn;
  }
  /// Returns the horizontal centre of the column of a device's first queue.
  double CentreOf(const std::string& device) const {
    return CentreOf(device, FindDevice(device)->second);
  }
  double width() const { return kNumbersWidth + static_cast<double>(columns_.size()) * kColumn; }
  const auto& all() const { return columns_; }

 private:
  using Column = std::pair<std::string, int64_t>;

  const Column* FindDevice(const std::string& device) const {
    auto found = std::ranges::find(columns_, device, &Column::first);
    return found == columns_.end() ? nullptr : &*found;
  }
  void Add(const std::string& device, int64_t queue) {
    Column column(device, queue);
    if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
  }

  std::vector<Column> columns_;
};

void DrawStep(Svg& svg, const PlacedStep& step, const Columns& columns, double y) {
  double x = columns.CentreOf(step.device, step.queue);
  if (step.kind == StepKind::Move) {
    double from = columns.CentreOf(step.from);
    if (from == x) from = x - kColumn / 2;
    svg.Line({from, y + 6}, {x, y + 6},
             {.colour = Colour(kTransfer), .width = 2, .has_arrow = true});
    svg.Text({(from + x) / 2, y}, step.text, {Anchor::Middle, "label"});
    return;
  }
  constexpr double kFaint = 0.25;
  svg.Rect({x - kLabelWidth / 2, y - kHalfHeight, kLabelWidth, 2 * kHalfHeight},
           Colour(step.kind == StepKind::Launch ? kLaunch : kOther), kFaint, step.place);
  svg.Text({x, y + 4}, step.text, {Anchor::Middle});
}

/// Draws dashed lines from the steps that a step waits for. `places` has the centre of each earlier step.
void DrawWaits(Svg& svg, const PlacedStep& step, const std::map<size_t, Point>& places, Point own) {
  for (size_t before : step.after) {
    Point from = places.at(before);
    svg.Line({from.x, from.y + kHalfHeight},
             {own.x, step.kind == StepKind::Move ? own.y + 6 : own.y - kHalfHeight},
             {.colour = Colour(kWait), .dashes = "4 3"});
  }
}

void DrawHead(Svg& svg, const Columns& columns) {
  const LegendEntry legend[] = {{Colour(kLaunch), "launch"},
                                {Colour(kOther), "other step"},
                                {Colour(kTransfer), "transfer", Mark::Arrow},
                                {Colour(kWait), "waits for", Mark::DashedLine}};
  svg.Legend({4, 14}, legend);
  svg.Text({4, 40}, "order (step)", {.kind = "axis"});
  for (const auto& [device, queue] : columns.all()) {
    std::string title = queue == 0 ? device : fmt::format("{}.queue({})", device, queue);
    svg.Text({columns.CentreOf(device, queue), 40}, title, {Anchor::Middle, "title"});
  }
}

std::string PictureOf(const PlacedProgram& program) {
  Columns columns(program);
  Svg svg(columns.width(), fmt::format("the steps of {} on their devices", program.name));
  DrawHead(svg, columns);
  std::map<size_t, Point> places;
  double y = kFirstStep;
  for (const PlacedStep& step : program.steps) {
    if (step.kind == StepKind::Region) {
      svg.Text({4 + 12 * static_cast<double>(step.depth), y + 4}, step.text, {.kind = "small"});
    } else {
      Point own = {columns.CentreOf(step.device, step.queue), y};
      svg.Text({kNumbersWidth - 12, y + 4}, fmt::to_string(step.number), {Anchor::End, "tick"});
      DrawWaits(svg, step, places, own);
      places[step.number] = own;
      DrawStep(svg, step, columns, y);
    }
    y += kStepHeight;
  }
  return svg.Finish(y, SvgUse::InPage);
}

}  // namespace

std::string HtmlPage(const PlacementReport& report) {
  std::string body =
      "<p>A column is a queue of a device. Steps are below those that were submitted "
      "before them.</p>\n";
  for (const PlacedProgram& program : report.programs)
    body += fmt::format("<h2>{}</h2>\n<div class=\"picture\">{}</div>\n", Escaped(program.name),
                        PictureOf(program));
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(fmt::format("Placement in {}", Escaped(report.file)), "", body);
}

}  // namespace kdl::tools
