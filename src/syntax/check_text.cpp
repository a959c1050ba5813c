#include "syntax/check_text.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"
#include "syntax/diagnostics.h"
#include "syntax/limits.h"

namespace kdl::syntax {

namespace {

/// Returns the length in bytes of the UTF-8 sequence at the start of `text`, or 0 if the sequence is
/// invalid. Overlong forms, surrogates and code points above U+10FFFF are invalid.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0U; };
  auto continues = [&](size_t i, uint32_t low = 0x80, uint32_t high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    bool second = continues(1, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bool second = continues(1, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool CheckText(const SourceManager& sources, FileId file, DiagnosticEngine& diagnostics) {
  std::string_view text = sources.text(file);
  if (text.size() > kMaxBytes) {
    diagnostics.Report(diag::FileTooLarge, Span{file, 0, 0}, text.size(), kMaxBytes)
        .Help("split it into several files, and import them");
    return false;
  }
  for (size_t at = 0; at < text.size();) {
    auto offset = static_cast<uint32_t>(at);
    size_t length = SequenceLength(text.substr(at));
    if (text[at] == '\0') {
      diagnostics.Report(diag::NulByte, Span{file, offset, offset + 1}, at)
          .Help("save the file as UTF-8; NUL bytes occur in UTF-16 text and in binary files");
      return false;
    }
    if (length == 0) {
      diagnostics
          .Report(diag::InvalidUtf8, Span{file, offset, offset + 1}, static_cast<uint8_t>(text[at]),
                  at)
          .Help("save the file as UTF-8");
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace kdl::syntax
