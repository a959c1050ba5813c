#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/drawing/escaped.h"
#include "tools/drawing/svg.h"
#include "tools/explain/html_text.h"
#include "tools/explain/workspace_map.h"

// The picture has a bar for each kernel. The bar is the workspace slice of one core, with its
// ranges drawn to scale, above an axis of addresses. Below it, the slices of the first few instances and of the last one are
// drawn side by side.

namespace kdl::tools {

namespace {

constexpr double kMapWidth = 680;
constexpr double kSideMargin = 20;
constexpr double kBarHeight = 44;
constexpr double kBarTop = 6;
constexpr double kLeastWidth = 3;  ///< wide enough to make a 64-byte header visible
constexpr double kFaint = 0.3;

/// Returns the drawn widths of the ranges. They are proportional to the sizes, but at least
/// kLeastWidth. Their sum is kMapWidth.
std::vector<double> Widths(const KernelMap& kernel) {
  std::vector<double> widths;
  double sum = 0;
  for (const AddressRange& range : kernel.ranges) {
    double share = static_cast<double>(range.end - range.begin) /
                   static_cast<double>(std::max<int64_t>(kernel.footprint, 1));
    widths.push_back(std::max(kMapWidth * share, kLeastWidth));
    sum += widths.back();
  }
  for (double& width : widths) width *= kMapWidth / sum;
  return widths;
}

void DrawRange(Svg& svg, const AddressRange& range, double x, double width) {
  bool is_header = range.what.ends_with(" header");
  svg.Rect({x, kBarTop, width, kBarHeight}, Colour(range.pipe), is_header ? 1 : kFaint,
           fmt::format("{}: bytes {} to {}", range.what, range.begin, range.end));
  if (width > TextWidth(range.what) + 4)
    svg.Text({x + width / 2, kBarTop + kBarHeight / 2 + 4}, range.what,
             {Anchor::Middle, "", is_header ? "var(--paper)" : ""});
}

/// Draws the first byte of each range below the bar, and the size of the slice at its end, where there is room for them.
/// Returns the height below the axis.
double DrawAddresses(Svg& svg, const KernelMap& kernel, const std::vector<double>& widths) {
  constexpr double kTickHeight = 4;
  double bottom = kBarTop + kBarHeight;
  std::string size = fmt::to_string(kernel.footprint);
  double last = kSideMargin + kMapWidth - TextWidth(size);
  double x = kSideMargin;
  double free = 0;
  auto tick = [&](double at, const std::string& text, Anchor anchor) {
    svg.GridLine({at, bottom}, {at, bottom + kTickHeight});
    svg.Text({at, bottom + 16}, text, {anchor, "tick"});
  };
  for (size_t i = 0; i < kernel.ranges.size(); ++i) {
    std::string text = fmt::to_string(kernel.ranges[i].begin);
    if (x >= free && x + TextWidth(text) < last) {
      tick(x, text, Anchor::Start);
      free = x + TextWidth(text) + 8;
    }
    x += widths[i];
  }
  tick(kSideMargin + kMapWidth, size, Anchor::End);
  svg.Text({kSideMargin + kMapWidth / 2, bottom + 32}, "address in a slice (bytes)",
           {Anchor::Middle, "axis"});
  return bottom + 44;
}

/// Draws the slices of the first few instances and of the last one. All slices have the same size
/// and are adjacent in memory. Returns the height below them.
double DrawInstances(Svg& svg, const KernelMap& kernel, double y) {
  constexpr std::string_view kLabels[] = {"slice 0", "slice 1", "slice 2", "…", "last slice"};
  constexpr double kGap = 4;
  constexpr double kEach = kMapWidth / std::size(kLabels);
  constexpr double kHeight = 24;
  double x = kSideMargin;
  for (std::string_view label : kLabels) {
    svg.Rect({x, y, kEach - kGap, kHeight}, "var(--grid)", kFaint);
    svg.Text({x + (kEach - kGap) / 2, y + 16}, label, {Anchor::Middle});
    x += kEach;
  }
  svg.Text({kSideMargin, y + kHeight + 16},
           fmt::format("slice n begins at byte n * {}", kernel.footprint), {.kind = "small"});
  return y + kHeight + 36;
}

std::vector<LegendEntry> LegendOf(const KernelMap& kernel) {
  std::vector<LegendEntry> legend;
  for (const AddressRange& range : kernel.ranges) {
    bool is_header = range.what.ends_with(" header");
    LegendEntry entry{Colour(range.pipe), kernel.pipes[range.pipe].name,
                      is_header ? Mark::Full : Mark::Faint};
    entry.text += is_header ? ": header" : ": tiles";
    auto is_same = [&](const LegendEntry& other) { return other.text == entry.text; };
    if (std::ranges::none_of(legend, is_same)) legend.push_back(std::move(entry));
  }
  return legend;
}

std::string KernelHtml(const KernelMap& kernel) {
  std::string html = fmt::format("<h2>{} <small>{}</small></h2>\n", Escaped(kernel.kernel),
                                 Escaped(fmt::format("{}", fmt::join(kernel.targets, ", "))));
  for (const SharedTensor& tensor : kernel.shared)
    html += fmt::format("<p>shared by the cores of a launch: {} {}</p>\n", Escaped(tensor.name),
                        Escaped(tensor.type));
  if (kernel.pipes.empty()) return html + fmt::format("<p>{}</p>\n", kNoPipesInMemory);
  html += fmt::format("<p>A slice of {} bytes for each core that runs:</p>\n", kernel.footprint);
  Svg svg(kMapWidth + 2 * kSideMargin,
          fmt::format("the bytes of a workspace slice of {}", kernel.kernel));
  std::vector<double> widths = Widths(kernel);
  double x = kSideMargin;
  for (size_t i = 0; i < kernel.ranges.size(); ++i) {
    DrawRange(svg, kernel.ranges[i], x, widths[i]);
    x += widths[i];
  }
  double y = DrawInstances(svg, kernel, DrawAddresses(svg, kernel, widths));
  y = svg.Legend({kSideMargin, y}, LegendOf(kernel));
  return html + fmt::format("<div class=\"picture\">{}</div>\n", svg.Finish(y, SvgUse::InPage));
}

}  // namespace

std::string HtmlPage(const WorkspaceReport& report) {
  std::string title = fmt::format("Workspaces of {}", Escaped(report.file));
  std::string body;
  for (const KernelMap& kernel : report.kernels) body += KernelHtml(kernel);
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(title, "", body);
}

}  // namespace kdl::tools
