#include "syntax/byte_stream.h"

#include <sys/types.h>
#include <algorithm>
#include <cstddef>
#include <string>

namespace kdl::syntax {

void ByteStream::consume() {
  if (at_ < text_.size()) ++at_;
}

size_t ByteStream::LA(ssize_t i) {
  if (i == 0) return 0;
  ssize_t at = static_cast<ssize_t>(at_) + (i > 0 ? i - 1 : i);
  if (at < 0 || at >= static_cast<ssize_t>(text_.size())) return antlr4::IntStream::EOF;
  return static_cast<unsigned char>(text_[static_cast<size_t>(at)]);
}

std::string ByteStream::getText(const antlr4::misc::Interval& interval) {
  if (interval.a < 0 || interval.b < interval.a) return {};
  auto begin = static_cast<size_t>(interval.a);
  if (begin >= text_.size()) return {};
  size_t end = std::min(static_cast<size_t>(interval.b) + 1, text_.size());
  return std::string(text_.substr(begin, end - begin));
}

}  // namespace kdl::syntax
