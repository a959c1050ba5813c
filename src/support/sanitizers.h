#pragma once

#include <optional>
#include <string_view>

namespace kdl {

/// What the interpreter looks for while it runs a kernel: the value of the device key `sanitize`.
struct Sanitizers {
  bool races = false;  ///< two blocks access an element, and one of them changes it
  bool init = false;   ///< an element is read that nothing has written, or stays unwritten in an `out`

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
