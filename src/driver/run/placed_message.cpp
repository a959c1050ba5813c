#include "driver/run/placed_message.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace kdl::driver {
std::optional<PlacedMessage> ReadPlace(std::string_view message, std::string_view kind) {
  std::string mark = fmt::format(": {}: ", kind);
  size_t end_of_place = message.find(mark);
  if (end_of_place == std::string_view::npos) return std::nullopt;
  std::string_view place = message.substr(0, end_of_place);
  PlacedMessage placed;
  placed.text = message.substr(end_of_place + mark.size());
  uint32_t* numbers[] = {&placed.column, &placed.line};
  for (uint32_t* number : numbers) {
    size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    auto [end, failed] =
        std::from_chars(place.data() + colon + 1, place.data() + place.size(), *number);
    if (failed != std::errc() || end != place.data() + place.size()) return std::nullopt;
    place = place.substr(0, colon);
  }
  placed.file = place;
  return placed;
}

std::vector<PlacedMessage> TakeNotes(std::string& text) {
  std::vector<PlacedMessage> notes;
  for (size_t end = text.rfind('\n'); end != std::string::npos; end = text.rfind('\n')) {
    std::optional<PlacedMessage> note = ReadPlace(std::string_view(text).substr(end + 1), "note");
    if (!note) break;
    notes.insert(notes.begin(), std::move(*note));
    text.resize(end);
  }
  return notes;
}

std::string ToString(const PlacedMessage& placed) {
  return fmt::format("{}:{}:{}: {}", placed.file, placed.line, placed.column, placed.text);
}

void AddNote(const PlacedMessage& note, const SourceManager& sources, Diagnostic& report) {
  Span span = MessageSpan(note, sources);
  report.Note(span, span.valid() ? note.text : ToString(note));
}

Span MessageSpan(const PlacedMessage& placed, const SourceManager& sources) {
  size_t quote = placed.text.rfind('\'');
  size_t open = quote == std::string::npos || quote == 0 ? std::string::npos
                                                         : placed.text.rfind('\'', quote - 1);
  if (open != std::string::npos) {
    std::string_view quoted = std::string_view(placed.text).substr(open + 1, quote - open - 1);
    Span span = sources.FindSpan(placed.file, placed.line, placed.column,
                                 static_cast<uint32_t>(quoted.size()));
    if (span.valid() && sources.text(span) == quoted) return span;
  }
  return sources.FindSpan(placed.file, placed.line, placed.column, 1);
}

}  // namespace kdl::driver
