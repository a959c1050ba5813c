#include "tools/lsp/diagnostics.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <string>
#include <string_view>

namespace kdl::tools::lsp {

namespace {

constexpr std::string_view kScheme = "file://";

int SeverityOf(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return 1;
    case Severity::Warning:
      return 2;
    case Severity::Remark:
      return 3;
  }
  return 1;
}

std::string PlaceText(const SourceManager& sources, Span span) {
  if (!span.valid()) return {};
  LineColumn at = sources.Locate(span);
  return fmt::format("{}:{}:{}: ", sources.path(span.file), at.line, at.column);
}

Json DiagnosticOf(const Diagnostic& one, const SourceManager& sources, FileId file,
                  const Positions& positions) {
  bool is_here = one.span.valid() && one.span.file == file;
  std::string message = is_here ? one.text : PlaceText(sources, one.span) + one.text;
  Json related = Json::array();
  for (const DiagnosticNote& note : one.notes) {
    if (note.span.valid() && note.span.file == file) {
      related.push_back(
          {{"location",
            {{"uri", UriOf(sources.path(file))}, {"range", positions.Range(note.span)}}},
           {"message", note.text}});
    } else {
      message += fmt::format("\nnote: {}{}", PlaceText(sources, note.span), note.text);
    }
  }
  if (!one.help.empty()) message += "\nhelp: " + one.help;
  Json json{{"range", is_here ? positions.Range(one.span) : positions.Range(0, 0)},
            {"severity", SeverityOf(one.severity)},
            {"code", one.id},
            {"source", "kernelc"},
            {"message", message}};
  if (!related.empty()) json["relatedInformation"] = related;
  return json;
}

bool IsPlain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("/-._~").find(c) != std::string_view::npos;
}

}  // namespace

Json DiagnosticsOf(const DiagnosticEngine& diagnostics, const SourceManager& sources, FileId file,
                   const Positions& positions) {
  Json all = Json::array();
  for (const auto& one : diagnostics.all())
    all.push_back(DiagnosticOf(*one, sources, file, positions));
  return all;
}

std::string UriOf(const std::string& path) {
  std::string uri(kScheme);
  for (char c : path)
    uri += IsPlain(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<uint8_t>(c));
  return uri;
}

std::string PathOf(const std::string& uri) {
  std::string_view rest = uri;
  if (rest.starts_with(kScheme)) rest.remove_prefix(kScheme.size());
  std::string path;
  for (size_t i = 0; i < rest.size(); ++i) {
    unsigned byte = 0;
    bool is_code =
        rest[i] == '%' && i + 2 < rest.size() &&
        std::from_chars(rest.data() + i + 1, rest.data() + i + 3, byte, 16).ec == std::errc();
    path += is_code ? static_cast<char>(byte) : rest[i];
    if (is_code) i += 2;
  }
  return path;
}

}  // namespace kdl::tools::lsp
