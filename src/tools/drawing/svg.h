// Pictures as SVG. All pictures of kernelc use the same colours, on light and on dark screens, and the same classes: a text of
// the class `axis` is the title of an axis, with its unit in parentheses, `tick` a number at an axis, and a group of the class
// `legend` says what the colours mean. tests/run/pictures.py checks this.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kdl::tools {

/// Returns the colour with this number, as a value for CSS. Numbers that are too large begin again.
std::string Colour(size_t number);

/// The style rules of pictures. Pages with pictures contain it once; other pictures contain it themselves.
std::string_view PictureStyle();

struct Point {
  double x = 0;
  double y = 0;
};

struct Area {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

enum class Anchor { Start, Middle, End };

struct TextLook {
  Anchor anchor = Anchor::Start;
  std::string_view kind =
      {};  ///< a class: `title`, `axis`, `tick`, `small`, or `label` for a text over lines
  std::string_view colour = {};  ///< empty: that of the page's text
};

struct LineLook {
  std::string_view colour = {};
  double width = 1;
  std::string_view dashes = {};  ///< such as `5 4`; empty for a continuous line
  bool has_arrow = false;
};

enum class Mark { Full, Faint, Line, DashedLine, Arrow };

struct LegendEntry {
  std::string colour;
  std::string text;
  Mark mark = Mark::Faint;
};

enum class SvgUse { InPage, File };

/// A picture that is being drawn.
class Svg {
 public:
  /// `title` says what the picture shows. Browsers read it out to those who do not see the picture.
  Svg(double width, std::string_view title);

  void Text(Point at, std::string_view text, TextLook look = {});
  /// Draws the title of an axis that goes up, next to the left edge.
  void UprightAxis(double middle, std::string_view text);
  /// Draws a rectangle that shows `tip` under the pointer. An opacity below 1 leaves text in it readable.
  void Rect(Area area, std::string_view colour, double opacity, std::string_view tip = {});
  void Line(Point from, Point to, LineLook look);
  void Line(std::span<const Point> points, LineLook look);
  void GridLine(Point from, Point to);
  void Circle(Point centre, std::string_view colour, std::string_view tip);
  /// Draws the legend in as many lines as it needs. Returns the height below it.
  double Legend(Point at, std::span<const LegendEntry> entries);

  /// Returns the picture, which is as high as needed.
  std::string Finish(double height, SvgUse use) const;
  double width() const { return width_; }

 private:
  double width_;
  std::string title_;
  std::string body_;
};

/// Returns the width of a text, which is about right for all fonts.
double TextWidth(std::string_view text);

/// Returns a step of 1, 2 or 5 times a power of ten, at which an axis of this length has at most so many numbers.
double TickStep(double length, int most);

}  // namespace kdl::tools
