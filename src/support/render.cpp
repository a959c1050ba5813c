#include "support/render.h"
#include "support/json_text.h"
#include "support/utf8.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace kdl {

namespace {

constexpr size_t kLongestShownLine = 160;

std::string_view SeverityWord(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Remark:
      return "remark";
  }
  return "error";
}

std::string Paint(std::string_view text, const char* code, bool colour) {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// Returns the text with U+FFFD for bytes that are not UTF-8 and for control characters, which a terminal would obey.
std::string Readable(std::string_view text) {
  std::string readable;
  while (!text.empty()) {
    size_t length = Utf8Length(text);
    auto first = static_cast<unsigned char>(text[0]);
    bool is_shown = length > 0 && (first >= ' ' || first == '\t') && first != 0x7F;
    readable += is_shown ? text.substr(0, length) : "\uFFFD";
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return readable;
}

/// Returns the source line and, below it, carets under the part of the span that is on this line. If the
/// line is long, only the text around the span is shown.
std::string Excerpt(Span span, const SourceManager& sources, bool colour) {
  LineColumn at = sources.Locate(span);
  std::string_view line = sources.Line(span.file, at.line);
  size_t start = 0;
  for (uint32_t column = 1; start < line.size(); ++start) {
    if (StartsCodePoint(line[start]) && column++ == at.column) break;
  }
  size_t length = std::min<size_t>(std::max<size_t>(span.end, span.begin + 1) - span.begin,
                                   std::max<size_t>(line.size() - start, 1));
  size_t window = start + length > kLongestShownLine ? start - std::min<size_t>(start, 40) : 0;
  while (window > 0 && window < line.size() && !StartsCodePoint(line[window])) --window;
  std::string shown(line.substr(window, kLongestShownLine));
  while (!shown.empty() && window + shown.size() < line.size() &&
         !StartsCodePoint(line[window + shown.size()])) {
    shown.pop_back();
  }
  std::string carets;
  for (size_t i = window; i < start && i < line.size(); ++i) {
    if (StartsCodePoint(line[i])) carets += line[i] == '\t' ? '\t' : ' ';
  }
  for (size_t i = start; i < start + length && i - window < kLongestShownLine; ++i) {
    if (i >= line.size() || StartsCodePoint(line[i])) carets += '^';
  }
  return fmt::format("  {}\n  {}\n", Readable(shown), Paint(carets, "32", colour));
}

std::string Place(Span span, const SourceManager& sources) {
  LineColumn at = sources.Locate(span);
  return fmt::format("{}:{}:{}", sources.path(span.file), at.line, at.column);
}

nlohmann::json PlaceJson(Span span, const SourceManager& sources) {
  nlohmann::json place;
  if (!span.valid()) return place;
  LineColumn begin = sources.Locate(span);
  LineColumn end = sources.Locate(span.file, span.end);
  place["file"] = sources.path(span.file);
  place["line"] = begin.line;
  place["column"] = begin.column;
  place["end_line"] = end.line;
  place["end_column"] = end.column;
  return place;
}

}  // namespace

std::string RenderText(const Diagnostic& diagnostic, const SourceManager& sources, bool colour) {
  std::string out;
  out += diagnostic.span.valid() ? Place(diagnostic.span, sources) : std::string("kernelc");
  out += ": " + Paint(SeverityWord(diagnostic.severity),
                      diagnostic.severity == Severity::Error ? "1;31" : "1;35", colour);
  out += fmt::format(": {} [{}]\n", diagnostic.text, diagnostic.id);
  if (diagnostic.span.valid()) out += Excerpt(diagnostic.span, sources, colour);
  for (const DiagnosticNote& note : diagnostic.notes) {
    if (note.span.valid()) out += Place(note.span, sources) + ": ";
    out += fmt::format("{}: {}\n", Paint("note", "1;36", colour), note.text);
    if (note.span.valid()) out += Excerpt(note.span, sources, colour);
  }
  if (!diagnostic.help.empty())
    out += fmt::format("{}: {}\n", Paint("help", "1;32", colour), diagnostic.help);
  return out;
}

std::string RenderJson(const Diagnostic& diagnostic, const SourceManager& sources) {
  nlohmann::json out = PlaceJson(diagnostic.span, sources);
  out["id"] = diagnostic.id;
  out["severity"] = SeverityWord(diagnostic.severity);
  out["message"] = diagnostic.text;
  if (!diagnostic.help.empty()) out["help"] = diagnostic.help;
  out["notes"] = nlohmann::json::array();
  for (const DiagnosticNote& note : diagnostic.notes) {
    nlohmann::json entry = PlaceJson(note.span, sources);
    entry["message"] = note.text;
    out["notes"].push_back(std::move(entry));
  }
  return JsonText(out) + "\n";
}

}  // namespace kdl
