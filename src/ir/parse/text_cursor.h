#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/diagnostics.h"
#include "support/source.h"

namespace kdl::ir {

/// Reads words and signs of KIR text from front to back. Spaces, line ends and `//` comments (but
/// not `///`) separate and mean nothing. Whatever fails reports one diagnostic; until `Recover`,
/// further ones are dropped, since they follow from the first.
class TextCursor {
 public:
  TextCursor(std::string_view text, FileId file, DiagnosticEngine& diagnostics)
      : text_(text), file_(file), diagnostics_(diagnostics) {}

  bool AtEnd();
  /// The place of the next word or sign, and a return to a place.
  size_t Here();
  void GoTo(size_t position) { position_ = position; }
  Span From(size_t begin) const;

  /// Takes `sign` if it is next; signs are matched by their characters.
  bool TrySign(std::string_view sign);
  bool Sign(std::string_view sign);
  bool NextIs(std::string_view sign);
  /// Takes `word` if it is the next word, whole.
  bool TryWord(std::string_view word);
  bool Word(std::string_view word);
  /// The next word, not taken; empty where no word is next.
  std::string_view PeekWord();

  /// Letters, digits and `_`, not starting with a digit. Empty and reported where there is none.
  std::string_view Identifier(std::string_view what);
  /// An identifier, identifiers joined by dots, or a quoted text; as it is written and as it means.
  struct NameText {
    std::string_view written;
    std::string name;
  };
  std::optional<NameText> DottedName(std::string_view what);
  std::optional<std::string> QuotedText(std::string_view what);
  /// `%name`, `%name.2` or `%7`: `key` is unique in the function, `name` the source name, if any.
  struct ValueText {
    std::string key;
    std::optional<std::string> name;
  };
  std::optional<ValueText> Value();
  /// The same for what stands without `%`.
  std::optional<ValueText> Label(std::string_view what);
  std::optional<int64_t> Integer(std::string_view what);
  bool NextIsDigit();
  /// A number or word as it stands, for a constant whose type comes later: `-1.5e-7`, `0x7f`,
  /// `inf`.
  std::string_view Constant();
  /// The text of a `///` line, if one is next.
  std::optional<std::string> DocLine();

  template <class Kind, class... Args>
  void Fail(const Kind& kind, Span span, Args&&... args) {
    if (!failed_) diagnostics_.Report(kind, span, std::forward<Args>(args)...);
    failed_ = true;
  }
  /// Reports that `what` is needed where something else stands.
  void Expected(std::string_view what);
  bool failed() const { return failed_; }
  /// Goes to the next `sign` outside parentheses and quotes; false where there is none.
  bool SkipTo(char sign);
  /// Goes on at the next line that begins with one of these words and reports again.
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
