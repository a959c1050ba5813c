#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "support/result.h"

namespace kdl {

/// The whole of a regular file, at most `max_bytes`. What is missing, unreadable, longer, or no regular file, such as a folder, a
/// device or a pipe, is a Failure that names it.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

/// The most that is read of what a tool has made.
inline constexpr size_t kMostOfTool = size_t{1} << 32;

/// What `path` means, behind the symbolic links that it may be: a file, whether it is there or not. A Failure where links
/// lead to each other.
Result<std::string> BehindLinks(const std::string& path);

/// A file that has been written next to its place, and takes that place with Put: a reader sees the old file or the new one,
/// never a part. Without Put it is removed, and the old file stays. A symbolic link stays, and the file that it leads to is
/// replaced. A device or a named pipe stays, and takes the bytes when they are written.
class FreshFile {
 public:
  static Result<FreshFile> Write(const std::string& path, std::string_view bytes,
                                 bool executable = false);
  FreshFile(FreshFile&& other) noexcept;
  FreshFile& operator=(FreshFile&&) = delete;
  ~FreshFile();

  Status Put();

 private:
  FreshFile(std::string path, std::string place, std::string fresh)
      : path_(std::move(path)), place_(std::move(place)), fresh_(std::move(fresh)) {}

  std::string path_;   ///< as the caller calls it
  std::string place_;  ///< behind links
  std::string fresh_;  ///< where it lies until then; empty: there is nothing to put
};

/// Writes one file, and puts it.
Status WriteFileWhole(const std::string& path, std::string_view bytes);

/// Whether somebody sees standard error as it is written.
bool ErrorsGoToTerminal();

/// A private folder (mode 0700) under TMPDIR, removed with all that is in it when the object dies.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace kdl
