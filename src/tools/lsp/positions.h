#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace kdl::tools::lsp {

/// Converts between offsets in a text and the positions of the protocol, which count lines, and UTF-16 units in a line,
/// from 0. The text must outlive this object.
class Positions {
 public:
  explicit Positions(std::string_view text);

  /// Returns the offset of a position. One after the end of a line or of the text is the end.
  uint32_t Offset(const nlohmann::json& position) const;
  nlohmann::json Position(uint32_t offset) const;
  nlohmann::json Range(uint32_t begin, uint32_t end) const;
  nlohmann::json Range(Span span) const { return Range(span.begin, span.end); }
  std::string_view Line(size_t line) const;
  size_t LineOf(uint32_t offset) const;

 private:
  std::string_view text_;
  std::vector<uint32_t> starts_;
};

}  // namespace kdl::tools::lsp
