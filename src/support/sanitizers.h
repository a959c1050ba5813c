#pragma once

#include <optional>
#include <string_view>

namespace kdl {

/// The kinds of errors that the interpreter detects while it runs a kernel, as selected by the device key
/// `sanitize`.
struct Sanitizers {
  bool races = false;  ///< report an element that one block writes and another block accesses
  /// Report an element that is read before it has been written, and an element of an `out` tensor that is
  /// never written.
  bool init = false;

  bool any() const { return races || init; }
};

inline constexpr std::string_view kSanitizeKey = "sanitize";

/// Reads `races`, `init`, or both joined by `+`. Returns nothing if the text contains another word.
inline std::optional<Sanitizers> ParseSanitizers(std::string_view text) {
  Sanitizers sanitizers;
  while (true) {
    std::string_view word = text.substr(0, text.find('+'));
    if (word == "races") {
      sanitizers.races = true;
    } else if (word == "init") {
      sanitizers.init = true;
    } else {
      return std::nullopt;
    }
    if (word.size() == text.size()) return sanitizers;
    text.remove_prefix(word.size() + 1);
  }
}

}  // namespace kdl
