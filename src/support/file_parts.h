#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "support/result.h"

namespace kdl {

/// A regular file of which parts are read or written. Several processes may use parts of one file at the same time.
class FileParts {
 public:
  static Result<FileParts> OpenToRead(const std::string& path);
  /// The file must exist. `shown` is its name in messages.
  static Result<FileParts> OpenToWrite(const std::string& path, const std::string& shown);
  FileParts(FileParts&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), shown_(std::move(other.shown_)) {}
  FileParts& operator=(FileParts&&) = delete;
  ~FileParts();

  /// Returns the number of bytes in the file.
  Result<int64_t> Size() const;
  /// Fails if the file ends before all bytes are read.
  Status ReadAt(int64_t offset, std::span<std::byte> bytes) const;
  Status WriteAt(int64_t offset, std::span<const std::byte> bytes) const;
  /// Appends zeros, or removes bytes, until the file has this size.
  Status Resize(int64_t bytes) const;
  /// Waits until everything that was written is on disk.
  Status Sync() const;

 private:
  FileParts(int descriptor, std::string shown)
      : descriptor_(descriptor), shown_(std::move(shown)) {}

  int descriptor_;
  std::string shown_;
};

}  // namespace kdl
