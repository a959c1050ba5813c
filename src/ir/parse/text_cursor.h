#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/diagnostics.h"
#include "support/source.h"

namespace kdl::ir {

/// Reads words and signs of KIR text from front to back. Spaces, line ends and `//` comments (but not `///`)
/// only separate them. The first failure reports a diagnostic; further ones are dropped until `Recover`,
/// because they follow from the first.
class TextCursor {
 public:
  TextCursor(std::string_view text, FileId file, DiagnosticEngine& diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {}

  bool AtEnd();
  /// Here returns the position of the next word or sign; GoTo returns to a position.
  size_t Here();
  void GoTo(size_t position) { position_ = position; }
  Span From(size_t begin) const;

  /// Consumes `sign` if it comes next. Signs are compared character by character.
  bool TrySign(std::string_view sign);
  bool Sign(std::string_view sign);
  bool NextIs(std::string_view sign);
  /// Consumes `word` if it is the next whole word.
  bool TryWord(std::string_view word);
  bool Word(std::string_view word);
  /// Returns the next word without consuming it; empty if no word is next.
  std::string_view PeekWord();

  /// Reads letters, digits and `_`, not starting with a digit. Reports an error and returns an empty text if
  /// there is none.
  std::string_view Identifier(std::string_view what);
  /// An identifier, identifiers joined by dots, or a quoted text: as written, and its meaning.
  struct NameText {
    std::string_view written;
    std::string name;
  };
  std::optional<NameText> DottedName(std::string_view what);
  std::optional<std::string> QuotedText(std::string_view what);
  /// `%name`, `%name.2` or `%7`: `key` is unique in the function, `name` is the source name, if any.
  struct ValueText {
    std::string key;
    std::optional<std::string> name;
  };
  std::optional<ValueText> Value();
  /// Reads the same without the `%`.
  std::optional<ValueText> Label(std::string_view what);
  std::optional<int64_t> Integer(std::string_view what);
  bool NextIsDigit();
  /// Returns a number or word as written, for a constant whose type is not known yet: `-1.5e-7`, `0x7f`,
  /// `inf`.
  std::string_view Constant();
  /// Returns the text of a `///` line, if one is next.
  std::optional<std::string> DocLine();

  template <class Kind, class... Args>
  void Fail(const Kind& kind, Span span, Args&&... args) {
    if (!failed_) diagnostics_.Report(kind, span, std::forward<Args>(args)...);
    failed_ = true;
  }
  /// Reports that `what` is needed instead of what was found.
  void Expected(std::string_view what);
  bool failed() const { return failed_; }
  /// Moves to the next `sign` outside of parentheses and quotes; returns false if there is none.
  bool SkipTo(char sign);
  /// Continues at the next line that starts with one of these words, and reports errors again.
  void Recover(std::initializer_list<std::string_view> words);

 private:
  void SkipSpace();
  std::string_view WordAt(size_t position) const;
  std::string Found();

  std::string_view text_;
  FileId file_;
  DiagnosticEngine& diagnostics_;
  size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace kdl::ir
