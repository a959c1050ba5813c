#include "syntax/check_text.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/diagnostics.h"
#include "support/source.h"
#include "support/utf8.h"
#include "syntax/diagnostics.h"
#include "syntax/limits.h"

namespace kdl::syntax {

bool CheckText(const SourceManager& sources, FileId file, DiagnosticEngine& diagnostics) {
  std::string_view text = sources.text(file);
  if (text.size() > kMaxBytes) {
    diagnostics.Report(diag::FileTooLarge, Span{file, 0, 0}, text.size(), kMaxBytes)
        .Help("split it into several files, and import them");
    return false;
  }
  for (size_t at = 0; at < text.size();) {
    auto offset = static_cast<uint32_t>(at);
    size_t length = Utf8Length(text.substr(at));
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
