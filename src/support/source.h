#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/id.h"

namespace kdl {

using FileId = Id<struct FileTag>;

/// The bytes [begin, end) of one file. If `file` is invalid, there is no source location.
struct Span {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file.valid(); }
  bool operator==(const Span&) const = default;
};

/// Returns the smallest span that covers both spans, which must be in the same file.
Span Cover(Span first, Span last);

/// A position in a file, counted from 1. The column counts code points, as editors do.
struct LineColumn {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// The source texts of a compilation. Files are never removed, so string_views into them stay valid.
class SourceManager {
 public:
  /// Adds a file. Diagnostics print `path`, which need not exist on disk. Outputs refer to the file as
  /// `name`, or as `path` if `name` is empty.
  FileId Add(std::string path, std::string text, std::string name = "");

  const std::string& path(FileId file) const { return files_[file.value]->path; }
  const std::string& name(FileId file) const { return files_[file.value]->name; }
  std::string_view text(FileId file) const { return files_[file.value]->text; }
  std::string_view text(Span span) const;
  LineColumn Locate(FileId file, uint32_t offset) const;
  LineColumn Locate(Span span) const { return Locate(span.file, span.begin); }
  /// Returns the text of a line without its line ending. Lines are numbered from 1.
  std::string_view Line(FileId file, uint32_t line) const;
  /// Returns the span of `length` bytes that starts at the given line and column, numbered from 1, of the
  /// file with the given name. Returns an invalid span if there is no such file or line.
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
