#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/end_by_signal.h"
#include "support/result.h"

namespace kdl {

/// Reads a whole regular file of at most `max_bytes`. Fails with a message that names the path if the file
/// is missing, unreadable, too long, or not a regular file (a folder, a device or a pipe).
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);

/// Reads standard input to its end. Fails if it cannot be read or is longer than `max_bytes`.
Result<std::string> ReadStandardInput(size_t max_bytes);

/// The maximum number of bytes that are read from a file that an external tool has written.
inline constexpr size_t kMostOfTool = size_t{1} << 32;

/// Follows the symbolic links at `path`. The file that they lead to need not exist. Fails if the links form a
/// cycle.
Result<std::string> ThroughLinks(const std::string& path);

/// A file that is written next to its destination and then moved there by `Put`. A reader sees the old file
/// or the new one, but never a partly written one. If `Put` is not called, the destructor removes the new
/// file, and the old one stays. If the path is a symbolic link, the link stays and the file that it leads to
/// is replaced. The new file has the permissions of the old one, unless it is executable. A device or a named
/// pipe is not replaced: `Write` writes the bytes to it directly.
class FreshFile {
 public:
  static Result<FreshFile> Write(const std::string& path, std::string_view bytes,
                                 bool executable = false);
  FreshFile(FreshFile&& other) noexcept;
  FreshFile& operator=(FreshFile&&) = delete;
  ~FreshFile();

  Status Put();
  /// Returns the path of the new file. Returns nothing if the bytes were written directly.
  std::optional<std::string> fresh() const {
    return fresh_.empty() ? std::nullopt : std::optional(fresh_);
  }

 private:
  FreshFile(std::string path, std::string place, std::string fresh);

  std::string path_;   ///< the path that the caller passed
  std::string place_;  ///< the destination, with links resolved
  std::string fresh_;  ///< the temporary file; empty if there is nothing to move
  std::optional<RemovedBySignal> removed_;
};

/// Writes a whole file and moves it to its destination.
Status WriteFileWhole(const std::string& path, std::string_view bytes);

/// Returns whether standard error is a terminal.
bool ErrorsGoToTerminal();

/// A private folder (mode 0700) under TMPDIR. The destructor removes it with everything in it, and so does a signal
/// that ends the process.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)), removed_(path_) {}
  std::string path_;
  RemovedBySignal removed_;
};

}  // namespace kdl
