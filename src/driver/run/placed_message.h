#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

/// A parsed message `FILE:12:9: error: TEXT`. The runtime reports traps in this format.
struct PlacedMessage {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string text;
};

/// Parses a message with a position. `kind` is `error` or `note`.
std::optional<PlacedMessage> ReadPlace(std::string_view message, std::string_view kind = "error");

/// Removes the notes with further positions from the text, and returns them. Each note is on a line after the error.
std::vector<PlacedMessage> TakeNotes(std::string& text);

/// Returns `FILE:12:9: TEXT`.
std::string ToString(const PlacedMessage& placed);

/// Adds a note at the position. If `sources` does not contain it, the note's text names it.
void AddNote(const PlacedMessage& note, const SourceManager& sources, Diagnostic& report);

/// Returns the span at the message's source position. The span is as long as the text that the
/// message quotes. It is invalid if `sources` does not contain the position.
Span MessageSpan(const PlacedMessage& placed, const SourceManager& sources);

}  // namespace kdl::driver
