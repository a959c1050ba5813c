#include "ir/parse/text_cursor.h"

#include <charconv>

#include "support/parse_number.h"

namespace kdl::ir {

namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsWordPart(char c) { return IsLetter(c) || IsDigit(c); }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Returns whether the text starts with exactly three slashes.
bool BeginsDoc(std::string_view text) {
  return text.starts_with("///") && !text.starts_with("////");
}

}  // namespace

void TextCursor::SkipSpace() {
  while (position_ < text_.size()) {
    std::string_view rest = text_.substr(position_);
    if (IsSpace(rest[0])) {
      ++position_;
    } else if (rest.starts_with("//") && !BeginsDoc(rest)) {
      position_ += std::min(rest.find('\n'), rest.size());
    } else {
      return;
    }
  }
}

bool TextCursor::AtEnd() { return Here() == text_.size(); }

size_t TextCursor::Here() {
  SkipSpace();
  return position_;
}

Span TextCursor::From(size_t begin) const {
  return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(std::max(begin, position_))};
}

std::string_view TextCursor::WordAt(size_t position) const {
  size_t end = position;
  if (end < text_.size() && IsLetter(text_[end])) {
    while (end < text_.size() && IsWordPart(text_[end])) ++end;
  }
  return text_.substr(position, end - position);
}

std::string_view TextCursor::PeekWord() { return WordAt(Here()); }

/// Returns what comes next in the text, for an error message: a word, a number, or one character.
std::string TextCursor::Found() {
  if (AtEnd()) return "the end of the file";
  size_t end = position_;
  while (end < text_.size() && end - position_ < 40 && IsWordPart(text_[end])) ++end;
  if (end == position_) ++end;
  while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
  return "'" + std::string(text_.substr(position_, end - position_)) + "'";
}

void TextCursor::Expected(std::string_view what) {
  std::string found = Found();
  size_t end = std::min(text_.size(), position_ + std::max<size_t>(WordAt(position_).size(), 1));
  Span span{file_, static_cast<uint32_t>(position_), static_cast<uint32_t>(end)};
  Fail(diag::IrExpected, span, what, found);
}

bool TextCursor::NextIs(std::string_view sign) {
  SkipSpace();
  return text_.substr(position_).starts_with(sign);
}

bool TextCursor::TrySign(std::string_view sign) {
  if (!NextIs(sign)) return false;
  position_ += sign.size();
  return true;
}

bool TextCursor::Sign(std::string_view sign) {
  if (TrySign(sign)) return true;
  Expected("'" + std::string(sign) + "'");
  return false;
}

bool TextCursor::TryWord(std::string_view word) {
  if (PeekWord() != word) return false;
  position_ += word.size();
  return true;
}

bool TextCursor::Word(std::string_view word) {
  if (TryWord(word)) return true;
  Expected("'" + std::string(word) + "'");
  return false;
}

std::string_view TextCursor::Identifier(std::string_view what) {
  std::string_view word = PeekWord();
  if (word.empty()) Expected(what);
  position_ += word.size();
  return word;
}

std::optional<TextCursor::NameText> TextCursor::DottedName(std::string_view what) {
  size_t begin = Here();
  if (NextIs("\"")) {
    std::optional<std::string> text = QuotedText(what);
    if (!text) return std::nullopt;
    return NameText{text_.substr(begin, position_ - begin), std::move(*text)};
  }
  if (Identifier(what).empty()) return std::nullopt;
  while (position_ + 1 < text_.size() && text_[position_] == '.' &&
         IsLetter(text_[position_ + 1])) {
    ++position_;
    position_ += WordAt(position_).size();
  }
  std::string_view written = text_.substr(begin, position_ - begin);
  return NameText{written, std::string(written)};
}

std::optional<std::string> TextCursor::QuotedText(std::string_view what) {
  if (!NextIs("\"")) {
    Expected(what);
    return std::nullopt;
  }
  size_t begin = position_++;
  std::string text;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
    char c = text_[position_++];
    if (c != '\\') {
      text += c;
      continue;
    }
    char escape = position_ < text_.size() ? text_[position_++] : '\0';
    int high = escape == 'x' && position_ + 1 < text_.size() ? HexDigit(text_[position_]) : -1;
    int low = high >= 0 ? HexDigit(text_[position_ + 1]) : -1;
    if (escape == '"' || escape == '\\') {
      text += escape;
    } else if (escape == 'n') {
      text += '\n';
    } else if (low >= 0) {
      text += static_cast<char>(high * 16 + low);
      position_ += 2;
    } else {
      Fail(diag::IrExpected, From(begin), "\\\", \\\\, \\n or \\x and two hex digits in the string",
           "another escape");
      return std::nullopt;
    }
  }
  if (!text_.substr(position_).starts_with('"')) {
    Fail(diag::IrExpected, From(begin), "'\"' at the end of the string", "the end of the line");
    return std::nullopt;
  }
  ++position_;
  return text;
}

std::optional<TextCursor::ValueText> TextCursor::Value() {
  if (!NextIs("%")) {
    Expected("a value, '%name'");
    return std::nullopt;
  }
  ++position_;
  return Label("the name of a value");
}

std::optional<TextCursor::ValueText> TextCursor::Label(std::string_view what) {
  size_t begin = Here();
  auto digits = [&] {
    while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
  };
  digits();
  if (position_ > begin) return ValueText{std::string(text_.substr(begin, position_ - begin)), {}};
  std::optional<NameText> name = DottedName(what);
  if (!name) return std::nullopt;
  if (position_ + 1 < text_.size() && text_[position_] == '.' && IsDigit(text_[position_ + 1])) {
    ++position_;
    digits();
  }
  return ValueText{std::string(text_.substr(begin, position_ - begin)), std::move(name->name)};
}

std::optional<int64_t> TextCursor::Integer(std::string_view what) {
  SkipSpace();
  int64_t value = 0;
  std::string_view rest = text_.substr(position_);
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) {
    Expected(what);
    return std::nullopt;
  }
  position_ += static_cast<size_t>(end - rest.data());
  return value;
}

bool TextCursor::NextIsDigit() { return Here() < text_.size() && IsDigit(text_[position_]); }

std::string_view TextCursor::Constant() {
  size_t begin = Here();
  bool hex = text_.substr(begin).starts_with("0x");
  while (position_ < text_.size()) {
    char c = text_[position_];
    char before = position_ > begin ? text_[position_ - 1] : '\0';
    bool sign = c == '-' || c == '+';
    bool sign_fits = position_ == begin || (!hex && (before == 'e' || before == 'E'));
    if (!IsWordPart(c) && c != '.' && !(sign && sign_fits)) break;
    ++position_;
  }
  if (position_ == begin) Expected("a constant");
  return text_.substr(begin, position_ - begin);
}

std::optional<std::string> TextCursor::DocLine() {
  SkipSpace();
  std::string_view rest = text_.substr(position_);
  if (!BeginsDoc(rest)) return std::nullopt;
  std::string_view line = rest.substr(0, rest.find('\n'));
  position_ += line.size();
  line.remove_prefix(3);
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

bool TextCursor::SkipTo(char sign) {
  int depth = 0;
  for (; Here() < text_.size(); ++position_) {
    char c = text_[position_];
    if (c == sign && depth == 0) return true;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c != '"') continue;
    for (++position_; position_ < text_.size() && text_[position_] != '"'; ++position_) {
      if (text_[position_] == '\\') ++position_;
    }
  }
  position_ = std::min(position_, text_.size());
  return false;
}

void TextCursor::Recover(std::initializer_list<std::string_view> words) {
  failed_ = false;
  while (position_ < text_.size()) {
    position_ = std::min(text_.find('\n', position_), text_.size() - 1) + 1;
    std::string_view word = WordAt(position_);
    for (std::string_view wanted : words) {
      if (word == wanted) return;
    }
  }
}

}  // namespace kdl::ir
