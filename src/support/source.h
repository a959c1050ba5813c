#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/id.h"

namespace kdl {

using FileId = Id<struct FileTag>;

/// Bytes [begin, end) of one file. An invalid file means "no place in any source".
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file.valid(); }
  bool operator==(const Span&) const = default;
};

/// The smallest span that covers both; both lie in one file.
Span Cover(Span first, Span last);

/// 1-based; the column counts code points, as editors do.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// The texts of a compile. Files are only added, so string_views into them stay good.
class SourceManager {
 public:
  /// `path` is what diagnostics print; it need not name a file on disk. `name` is what outputs call the file; empty: the
  /// same.
  FileId Add(std::string path, std::string text, std::string name = "");

  const std::string& path(FileId file) const { return files_[file.value]->path; }
  const std::string& name(FileId file) const { return files_[file.value]->name; }
  std::string_view text(FileId file) const { return files_[file.value]->text; }
  std::string_view text(Span span) const;
  LineColumn Locate(FileId file, uint32_t offset) const;
  LineColumn Locate(Span span) const { return Locate(span.file, span.begin); }
  /// The text of a 1-based line, without its line end.
  std::string_view Line(FileId file, uint32_t line) const;
  /// The span of `length` bytes from a 1-based line and column of the file with that name; invalid where there is none.
  Span FindSpan(std::string_view name, uint32_t line, uint32_t column, uint32_t length) const;
  size_t file_count() const { return files_.size(); }

 private:
  struct File {
    std::string path;
    std::string name;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace kdl
