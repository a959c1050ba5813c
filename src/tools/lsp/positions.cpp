#include "tools/lsp/positions.h"

#include <algorithm>

namespace kdl::tools::lsp {

namespace {

/// Returns the number of UTF-16 units of the code point that begins with this byte, and 0 for other bytes.
size_t Utf16Length(char byte) {
  auto value = static_cast<uint8_t>(byte);
  if ((value & 0xC0) == 0x80) return 0;
  return value >= 0xF0 ? 2 : 1;
}

}  // namespace

Positions::Positions(std::string_view text) : text_(text), starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

std::string_view Positions::Line(size_t line) const {
  if (line >= starts_.size()) return {};
  size_t end = line + 1 < starts_.size() ? starts_[line + 1] - 1 : text_.size();
  std::string_view text = text_.substr(starts_[line], end - starts_[line]);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

size_t Positions::LineOf(uint32_t offset) const {
  auto after = std::ranges::upper_bound(starts_, offset);
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

uint32_t Positions::Offset(const nlohmann::json& position) const {
  auto line = position.at("line").get<size_t>();
  auto wanted = position.at("character").get<size_t>();
  if (line >= starts_.size()) return static_cast<uint32_t>(text_.size());
  std::string_view text = Line(line);
  size_t units = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (units >= wanted && Utf16Length(text[i]) > 0)
      return starts_[line] + static_cast<uint32_t>(i);
    units += Utf16Length(text[i]);
  }
  return starts_[line] + static_cast<uint32_t>(text.size());
}

nlohmann::json Positions::Position(uint32_t offset) const {
  offset = std::min(offset, static_cast<uint32_t>(text_.size()));
  size_t line = LineOf(offset);
  size_t units = 0;
  for (size_t i = starts_[line]; i < offset; ++i) units += Utf16Length(text_[i]);
  return {{"line", line}, {"character", units}};
}

nlohmann::json Positions::Range(uint32_t begin, uint32_t end) const {
  return {{"start", Position(begin)}, {"end", Position(end)}};
}

}  // namespace kdl::tools::lsp
