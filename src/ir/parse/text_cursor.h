#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/diagnostics.h"
#include "support/source.h"

namespace kdl::ir {

/// Reads words and signs of KIR text from front to back. Spaces, line ends and `//` comments (but not `///`)
/// only separate words and signs. The first failure reports a diagnostic. Later failures are consequences of
/// the first one, so they are not reported until `Recover` is called.
class TextCursor {
 public:
  TextCursor(std::string_view text, FileId file, DiagnosticEngine& diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {}

  bool AtEnd();
  /// Here returns the position of the next word or sign; GoTo returns to such a position.
  size_t Here();
  void GoTo(size_t position) { position_ = position; }
  Span From(size_t begin) const;

  /// Consumes `sign` if it comes next. The text may continue with any character: TrySign("<") also consumes
  /// the first character of `<=`.
  bool TrySign(std::string_view sign);
  bool Sign(std::string_view sign);
  bool NextIs(std::string_view sign);
  /// Consumes `word` if it is the next whole word.
  bool TryWord(std::string_view word);
  bool Word(std::string_view word);
  /// Returns the next word without consuming it, or an empty string if no word comes next.
  std::string_view PeekWord();

  /// Reads a word of letters, digits and `_` that does not start with a digit. Reports an error and returns
  /// an empty string if there is no such word.
  std::string_view Identifier(std::string_view what);
  /// A name in the text: an identifier, several identifiers joined by dots, or a quoted string. `written`
  /// includes the quotes and escapes.
  struct NameText {
    std::string_view written;
    std::string name;
  };
  std::optional<NameText> DottedName(std::string_view what);
  std::optional<std::string> QuotedText(std::string_view what);
  /// The name of a value in the text: `%name`, `%name.2` or `%7`. `key` is unique in the function; `name` is
  /// the source name, if the value has one.
  struct ValueText {
    std::string key;
    std::optional<std::string> name;
  };
  std::optional<ValueText> Value();
  /// Reads the name of a value without its `%`.
  std::optional<ValueText> Label(std::string_view what);
  std::optional<int64_t> Integer(std::string_view what);
  bool NextIsDigit();
  /// Returns a number or word as it is written, such as `-1.5e-7`, `0x7f` or `inf`, for a constant whose type
  /// is not known yet.
  std::string_view Constant();
  /// Returns the text of a `///` line, if such a line comes next.
  std::optional<std::string> DocLine();

  template <class Kind, class... Args>
  void Fail(const Kind& kind, Span span, Args&&... args) {
    if (!failed_) diagnostics_.Report(kind, span, std::forward<Args>(args)...);
    failed_ = true;
  }
  /// Reports an error that says what was expected (`what`) and what was found instead.
  void Expected(std::string_view what);
  bool failed() const { return failed_; }
  /// Moves to the next `sign` outside of parentheses and quotes. Returns false if there is no such sign.
  bool SkipTo(char sign);
  /// Moves to the next line that starts with one of these words. From then on, errors are reported again.
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
