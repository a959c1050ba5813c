#include "driver/compile/runtime_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kdl::driver {

namespace {

/// A 64-bit FNV-1a hash of strings and their lengths.
class Hash {
 public:
  void Add(std::string_view text) {
    for (char ch : fmt::format("{}:{}", text.size(), text)) {
      value_ = (value_ ^ static_cast<unsigned char>(ch)) * 0x100000001b3u;
    }
  }

  uint32_t Folded() const { return static_cast<uint32_t>(value_ ^ (value_ >> 32)); }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

/// Computes the hash. It does not depend on paths or targets, so that objects for several
/// architectures match a header generated on another machine.
uint32_t HashOf(const Session& s, const std::vector<std::string>& files_read) {
  Hash hash;
  for (uint32_t file = 0; file < s.sources.file_count(); ++file) {
    const std::string& path = s.sources.path(FileId(file));
    bool is_compiled = file == 0;  // it may be a file of the library, which is not read from disk
    if (is_compiled || std::ranges::find(files_read, path) != files_read.end())
      hash.Add(s.sources.text(FileId(file)));
  }
  for (const std::string& define : s.options.define) hash.Add(define);
  return hash.Folded();
}

std::string Joined(const Session& s, const Lowered& made, char separator) {
  return fmt::format("{}{}{:08x}", made.module->name.text(), separator, HashOf(s, made.files_read));
}

}  // namespace

std::string RuntimeName(const Session& s, const Lowered& made) { return Joined(s, made, '#'); }

std::string SymbolPrefix(const Session& s, const Lowered& made) { return Joined(s, made, '.'); }

}  // namespace kdl::driver
