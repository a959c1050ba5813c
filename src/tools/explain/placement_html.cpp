#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/explain/html_text.h"
#include "tools/explain/placement_map.h"

// The picture has a column for each queue, and a row for each step in program order from top to
// bottom. Arrows are transfers between devices. Dashed lines connect events of one queue to steps
// of other queues that wait for them.

namespace kdl::tools {

namespace {

constexpr int kColumn = 260;
constexpr int kRow = 34;
constexpr int kFirstRow = 44;
constexpr int kLabelWidth = 230;

constexpr std::string_view kPlacementStyle =
    "svg text.small { font-size: 11px; } svg text.step { fill: #fff; } .move { stroke: #f28e2b; "
    "stroke-width: 2; marker-end: url(#a); } .event { stroke: #59a14f; stroke-dasharray: 4 3; }";

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
  int CentreOf(const std::string& device, int64_t queue) const {
    size_t column = static_cast<size_t>(std::ranges::find(columns_, std::pair(device, queue)) -
                                        columns_.begin());
    return static_cast<int>(column) * kColumn + kColumn / 2;
  }
  /// Returns the horizontal centre of the column of a device's first queue.
  int CentreOf(const std::string& device) const {
    return CentreOf(device, FindDevice(device)->second);
  }
  int width() const { return static_cast<int>(columns_.size()) * kColumn; }
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

std::string Text(int x, int y, std::string_view text, std::string_view extra = "") {
  return fmt::format(R"(<text x="{}" y="{}" text-anchor="middle"{}>{}</text>)"
                     "\n",
                     x, y, extra, Escaped(text));
}

std::string StepSvg(const PlacedStep& step, const Columns& columns, int y) {
  int x = columns.CentreOf(step.device, step.queue);
  if (step.kind == StepKind::Move) {
    int from = columns.CentreOf(step.from);
    if (from == x) from = x - kColumn / 2;
    return fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="move"/>)"
                       "\n",
                       from, y + 6, x, y + 6) +
           Text((from + x) / 2, y, step.text, R"( class="small")");
  }
  std::string_view fill = step.kind == StepKind::Launch ? "#3f6690" : "#6e6e6e";
  return fmt::format(
             R"(<rect x="{}" y="{}" width="{}" height="{}" rx="3" fill="{}"><title>{}</title></rect>)"
             "\n",
             x - kLabelWidth / 2, y - 12, kLabelWidth, 24, fill, Escaped(step.place)) +
         Text(x, y + 4, step.text, R"( class="step")");
}

std::string PictureOf(const PlacedProgram& program) {
  Columns columns(program);
  int height = kFirstRow + kRow * static_cast<int>(program.steps.size());
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}">)"
      "\n",
      columns.width(), height);
  svg += R"(<defs><marker id="a" orient="auto" markerWidth="8" markerHeight="8" refX="7" refY="4">)"
         R"(<path d="M0 0 8 4 0 8z" fill="#f28e2b"/></marker></defs>)"
         "\n";
  for (const auto& [device, queue] : columns.all()) {
    std::string title = queue == 0 ? device : fmt::format("{}.queue({})", device, queue);
    svg += Text(columns.CentreOf(device, queue), 18, title, R"( font-weight="bold")");
  }
  // Maps the number of a step to the point where the step's line ends.
  std::map<size_t, std::pair<int, int>> places;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const PlacedStep& step = program.steps[i];
    int y = kFirstRow + kRow * static_cast<int>(i);
    if (step.kind == StepKind::Region) {
      svg += fmt::format(R"(<text x="4" y="{}" class="small">{}{}</text>)"
                         "\n",
                         y + 4, std::string(2 * step.depth, ' '), Escaped(step.text));
      continue;
    }
    int x = columns.CentreOf(step.device, step.queue);
    for (size_t before : step.after) {
      auto [from_x, from_y] = places.at(before);
      svg += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="event"/>)"
                         "\n",
                         from_x, from_y + 12, x, step.kind == StepKind::Move ? y + 6 : y - 12);
    }
    places[step.number] = {x, y};
    svg += StepSvg(step, columns, y);
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string HtmlPage(const PlacementReport& report) {
  std::string body =
      "<p>A column is a queue of a device, and time goes down. Blue boxes are launches, and grey "
      "ones "
      "other steps. Orange arrows are transfers. A dashed green line leads from a step to one that "
      "waits for it.</p>\n";
  for (const PlacedProgram& program : report.programs)
    body += fmt::format("<h2>{}</h2>\n<div class=\"picture\">{}</div>\n", Escaped(program.name),
                        PictureOf(program));
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(fmt::format("Placement in {}", Escaped(report.file)), kPlacementStyle, body);
}

}  // namespace kdl::tools
