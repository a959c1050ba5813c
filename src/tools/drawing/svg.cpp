#include "tools/drawing/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/drawing/escaped.h"

namespace kdl::tools {

namespace {

constexpr size_t kColours = 6;
constexpr double kLegendLine = 15;
constexpr double kSwatch = 18;

// The colours can be told apart by people who do not see red or green, and each has a contrast of at least 4.5 with the paper,
// so that texts can have them.
constexpr std::string_view kStyle =
    ":root { --paper: #fff; --ink: #222; --grid: #ddd; --c0: #2f5d8c; --c1: #b35900; --c2: "
    "#2e7d32; "
    "--c3: #7b4b86; --c4: #b3261e; --c5: #5f6368; } "
    "@media (prefers-color-scheme: dark) { :root { --paper: #1b1b1b; --ink: #e6e6e6; --grid: #444; "
    "--c0: #8ab4e0; --c1: #f5a55a; --c2: #86c98a; --c3: #d0a3dc; --c4: #f28b82; --c5: #bdc1c6; } } "
    "svg text { font: 12px sans-serif; fill: var(--ink); } svg text.title { font-size: 14px; "
    "font-weight: bold; } svg text.small, svg text.label { font-size: 11px; } svg text.label { "
    "paint-order: stroke; "
    "stroke: var(--paper); stroke-width: 3px; } svg .grid { stroke: var(--grid); }";

std::string_view AnchorText(Anchor anchor) {
  constexpr std::string_view kTexts[] = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  return kTexts[static_cast<size_t>(anchor)];
}

std::string LineStyle(const LineLook& look) {
  std::string style =
      fmt::format("fill: none; stroke: {}; stroke-width: {:g}", look.colour, look.width);
  if (!look.dashes.empty()) style += fmt::format("; stroke-dasharray: {}", look.dashes);
  return style;
}

std::string TipOf(std::string_view tip) {
  return tip.empty() ? "" : fmt::format("<title>{}</title>", Escaped(tip));
}

bool IsArea(Mark mark) { return mark == Mark::Full || mark == Mark::Faint; }

}  // namespace

std::string Colour(size_t number) { return fmt::format("var(--c{})", number % kColours); }

std::string_view PictureStyle() { return kStyle; }

double TextWidth(std::string_view text) { return 6.6 * static_cast<double>(text.size()); }

double TickStep(double length, int most) {
  double least = length / most;
  double power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1., 2., 5.})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

Svg::Svg(double width, std::string_view title) : width_(width), title_(title) {}

void Svg::Text(Point at, std::string_view text, TextLook look) {
  std::string kind = look.kind.empty() ? "" : fmt::format(R"( class="{}")", look.kind);
  std::string colour = look.colour.empty() ? "" : fmt::format(R"( style="fill: {}")", look.colour);
  body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}"{}{}{}>{}</text>)"
                       "\n",
                       at.x, at.y, kind, AnchorText(look.anchor), colour, Escaped(text));
}

void Svg::UprightAxis(double middle, std::string_view text) {
  body_ += fmt::format(
      R"svg(<text x="12" y="{0:.1f}" class="axis" text-anchor="middle" transform="rotate(-90 12 {0:.1f})">{1}</text>)svg"
      "\n",
      middle, Escaped(text));
}

void Svg::Rect(Area area, std::string_view colour, double opacity, std::string_view tip) {
  body_ += fmt::format(
      R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" style="fill: {}; fill-opacity: {:.2f}; stroke: {}">{}</rect>)"
      "\n",
      area.x, area.y, area.width, area.height, colour, opacity, opacity < 1 ? colour : "none",
      TipOf(tip));
}

void Svg::Line(Point from, Point to, LineLook look) {
  body_ += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" style="{}"/>)"
                       "\n",
                       from.x, from.y, to.x, to.y, LineStyle(look));
  if (!look.has_arrow) return;
  // The head is drawn as a shape of its own, since markers cannot have the colour of their line everywhere.
  double dx = to.x - from.x;
  double dy = to.y - from.y;
  double length = std::sqrt(dx * dx + dy * dy);
  if (length == 0) return;
  double x = dx / length;
  double y = dy / length;
  constexpr double kLong = 9;
  constexpr double kWide = 4;
  body_ += fmt::format(R"(<path d="M{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}z" style="fill: {}"/>)"
                       "\n",
                       to.x, to.y, to.x - kLong * x - kWide * y, to.y - kLong * y + kWide * x,
                       to.x - kLong * x + kWide * y, to.y - kLong * y - kWide * x, look.colour);
}

void Svg::Line(std::span<const Point> points, LineLook look) {
  std::string all;
  for (const Point& at : points)
    all += fmt::format("{}{:.1f},{:.1f}", all.empty() ? "" : " ", at.x, at.y);
  body_ += fmt::format("<polyline points=\"{}\" style=\"{}\"/>\n", all, LineStyle(look));
}

void Svg::GridLine(Point from, Point to) {
  body_ += fmt::format(R"(<line class="grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)"
                       "\n",
                       from.x, from.y, to.x, to.y);
}

void Svg::Circle(Point centre, std::string_view colour, std::string_view tip) {
  body_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" style="fill: {}">{}</circle>)"
                       "\n",
                       centre.x, centre.y, colour, TipOf(tip));
}

double Svg::Legend(Point at, std::span<const LegendEntry> entries) {
  constexpr double kFaint = 0.3;
  constexpr double kGap = 16;
  body_ += "<g class=\"legend\">\n";
  Point place = at;
  for (const LegendEntry& entry : entries) {
    double end = place.x + kSwatch + 5 + 0.9 * TextWidth(entry.text);
    if (end > width_ && place.x > at.x) {
      end += at.x - place.x;
      place = {at.x, place.y + kLegendLine};
    }
    if (IsArea(entry.mark)) {
      Rect({place.x, place.y - 9, kSwatch, 10}, entry.colour,
           entry.mark == Mark::Full ? 1 : kFaint);
    } else {
      LineLook look{entry.colour, 2, entry.mark == Mark::DashedLine ? "4 3" : "",
                    entry.mark == Mark::Arrow};
      Line({place.x, place.y - 4}, {place.x + kSwatch, place.y - 4}, look);
    }
    Text({place.x + kSwatch + 5, place.y}, entry.text, {.kind = "small"});
    place.x = end + kGap;
  }
  body_ += "</g>\n";
  return place.y + kLegendLine;
}

std::string Svg::Finish(double height, SvgUse use) const {
  // On a small screen, a wide picture is moved instead of made smaller, so that its texts can be read.
  constexpr double kPhone = 480;
  double least = width_ <= kPhone ? 0 : 0.9 * width_;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="100%" style="min-width: {:.0f}px; max-width: {:.0f}px" viewBox="0 0 {:g} {:g}" role="img" aria-label="{}">)"
      "\n",
      least, 1.6 * width_, width_, height, Escaped(title_));
  // In a page, pictures have the style and the background of the page.
  if (use == SvgUse::File) {
    svg += fmt::format(
        "<title>{}</title>\n<style>\n{}\n</style>\n"
        R"svg(<rect width="{:g}" height="{:g}" style="fill: var(--paper)"/>)svg"
        "\n",
        Escaped(title_), kStyle, width_, height);
  }
  return svg + body_ + "</svg>\n";
}

}  // namespace kdl::tools
