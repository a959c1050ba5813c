#pragma once

#include <string>
#include <string_view>

#include "syntax/antlr.h"

namespace kdl::syntax {

/// Feeds source text to ANTLR byte by byte, so that token positions are byte offsets.
class ByteStream : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override;
  size_t LA(ssize_t i) override;
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return at_; }
  void seek(size_t index) override { at_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "<kdl>"; }
  std::string getText(const antlr4::misc::Interval& interval) override;
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace kdl::syntax
