#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/explain/html_text.h"
#include "tools/explain/workspace_map.h"

// The picture has a bar for each kernel. The bar is the workspace slice of one core, with its
// ranges drawn to scale. Below it, the slices of the first few instances and of the last one are
// drawn side by side.

namespace kdl::tools {

namespace {

constexpr double kMapWidth = 960;
constexpr double kBarHeight = 44;
constexpr double kLeastWidth = 3;  ///< wide enough to make a 64-byte header visible
constexpr std::string_view kPipeColours[] = {"#4e79a7", "#f28e2b", "#59a14f",
                                             "#b07aa1", "#76b7b2", "#edc948"};

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

std::string RangeSvg(const AddressRange& range, double x, double width) {
  bool is_header = range.what.ends_with(" header");
  std::string_view colour = kPipeColours[range.pipe % std::size(kPipeColours)];
  std::string svg = fmt::format(
      R"(<g><title>{}: bytes {} .. {}</title><rect x="{:.1f}" y="18" width="{:.1f}" height="{}" fill="{}" fill-opacity="{}" stroke="#fff"/>)",
      Escaped(range.what), range.begin, range.end, x, width, kBarHeight, colour,
      is_header ? "1" : "0.6");
  constexpr double kLetter = 7;
  if (width > kLetter * static_cast<double>(range.what.size())) {
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x + width / 2,
                       18 + kBarHeight / 2 + 4, Escaped(range.what));
  }
  if (width > 60) svg += fmt::format(R"(<text x="{:.1f}" y="12">{}</text>)", x, range.begin);
  return svg + "</g>\n";
}

/// Draws the slices of the first few instances and of the last one. All slices have the same size
/// and are adjacent in memory.
std::string InstancesSvg(const KernelMap& kernel) {
  constexpr std::string_view kLabels[] = {"slice 0", "slice 1", "slice 2", "…", "last slice"};
  constexpr double kGap = 4;
  constexpr double kEach = kMapWidth / std::size(kLabels);
  std::string svg;
  double x = 0;
  for (std::string_view label : kLabels) {
    svg += fmt::format(
        R"(<rect x="{:.1f}" y="78" width="{:.1f}" height="24" fill="currentColor" fill-opacity="0.15"/><text x="{:.1f}" y="94" text-anchor="middle">{}</text>)",
        x, kEach - kGap, x + (kEach - kGap) / 2, label);
    x += kEach;
  }
  return svg + fmt::format(R"(<text x="0" y="118">slice n begins at byte n * {}</text>)",
                           kernel.footprint);
}

std::string KernelHtml(const KernelMap& kernel) {
  std::string html = fmt::format("<h2>{} <small>{}</small></h2>\n", Escaped(kernel.kernel),
                                 Escaped(fmt::format("{}", fmt::join(kernel.targets, ", "))));
  for (const SharedTensor& tensor : kernel.shared)
    html += fmt::format("<p>shared by the cores of a launch: {} {}</p>\n", Escaped(tensor.name),
                        Escaped(tensor.type));
  if (kernel.pipes.empty()) return html + fmt::format("<p>{}</p>\n", kNoPipesInMemory);
  html += fmt::format(
      "<p>A slice of {} bytes for each core that runs. The numbers above it are bytes from its "
      "start:</p>\n",
      kernel.footprint);
  html +=
      fmt::format("<div class=\"picture\"><svg viewBox=\"0 0 {} 124\" role=\"img\">\n", kMapWidth);
  std::vector<double> widths = Widths(kernel);
  double x = 0;
  for (size_t i = 0; i < kernel.ranges.size(); ++i) {
    html += RangeSvg(kernel.ranges[i], x, widths[i]);
    x += widths[i];
  }
  return html + InstancesSvg(kernel) + "\n</svg></div>\n";
}

}  // namespace

std::string HtmlPage(const WorkspaceReport& report) {
  std::string title = fmt::format("Workspaces of {}", Escaped(report.file));
  std::string body;
  for (const KernelMap& kernel : report.kernels) body += KernelHtml(kernel);
  body += fmt::format("<h2>In words</h2>\n<pre class=\"words\">{}</pre>\n",
                      Escaped(ReportText(report)));
  return HtmlDocument(title, "svg { min-width: 720px; }", body);
}

}  // namespace kdl::tools
