#include "support/io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/system_error.h"

namespace kdl {

namespace {

bool WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Status WriteAndClose(int descriptor, const std::string& path, std::string_view bytes) {
  bool written = WriteAll(descriptor, bytes);
  int reason = errno;
  bool closed = ::close(descriptor) == 0;
  if (written && closed) return {};
  if (!written) errno = reason;
  return SystemFailure("write", path);
}

/// Writes to an existing device or named pipe. Renaming a new file to its path would replace it with a
/// regular file.
Status WriteThrough(const std::string& path, std::string_view bytes) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemFailure("write", path);
  return WriteAndClose(descriptor, path, bytes);
}

/// If standard output or standard error is open on `file`, as for the path `/dev/stdout`, returns its
/// descriptor. Otherwise returns -1.
int StreamTo(const struct stat& file) {
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat info{};
    bool is_it =
        ::fstat(stream, &info) == 0 && info.st_dev == file.st_dev && info.st_ino == file.st_ino;
    // A stream that can only be read takes the place of one that is closed.
    if (is_it && (::fcntl(stream, F_GETFL) & O_ACCMODE) != O_RDONLY) return stream;
  }
  return -1;
}

/// Writes to a stream that is already open. Replacing its file would lose everything else that is printed to
/// the stream.
Status WriteTo(int stream, const std::string& path, std::string_view bytes) {
  if (!WriteAll(stream, bytes)) return SystemFailure("write", path);
  return {};
}

Result<std::string> ReadAll(int descriptor, const std::string& path, size_t max_bytes) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    ssize_t got = ::read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemFailure("read", path);
    if (got == 0) return text;
    text.append(block, static_cast<size_t>(got));
    if (text.size() > max_bytes)
      return Failure{fmt::format("'{}' is larger than {} bytes, the maximum", path, max_bytes)};
  }
}

}  // namespace

FailureKind KindOfError(int error, bool writes) {
  switch (error) {
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return FailureKind::Environment;
    case EACCES:
    case EDQUOT:
    case EFBIG:
    case ENOSPC:
    case EPERM:
    case EROFS:
      return writes ? FailureKind::Environment : FailureKind::User;
    default:
      return FailureKind::User;
  }
}

Failure SystemFailure(std::string_view action, const std::string& path) {
  bool writes = action != "open" && action != "read";
  return {fmt::format("cannot {} '{}': {}", action, path, std::strerror(errno)),
          KindOfError(errno, writes)};
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK keeps open() from waiting on a named pipe that has no writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemFailure("open", path);
  struct stat info{};
  if (::fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Failure{
        fmt::format("cannot read '{}': it is {}", path,
                    S_ISDIR(info.st_mode) ? "a folder, not a file" : "not a regular file")};
  }
  Result<std::string> text = ReadAll(descriptor, path, max_bytes);
  ::close(descriptor);
  return text;
}

Result<std::string> ReadStandardInput(size_t max_bytes) {
  return ReadAll(STDIN_FILENO, "standard input", max_bytes);
}

Result<std::string> ThroughLinks(const std::string& path) {
  constexpr int kMostLinks = 40;  // Linux has the same limit
  std::filesystem::path place = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(place, error); ++links) {
    if (links == kMostLinks) {
      errno = ELOOP;
      return SystemFailure("write", path);
    }
    // A relative link is resolved from the folder that contains it.
    place = place.parent_path() / std::filesystem::read_symlink(place, error);
  }
  return place.string();
}

Result<FreshFile> FreshFile::Write(const std::string& path, std::string_view bytes,
                                   bool executable) {
  struct stat info{};
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (int stream = exists ? StreamTo(info) : -1; stream >= 0) {
    Status written = WriteTo(stream, path, bytes);
    if (!written.ok()) return written.failure();
    return FreshFile(path, path, "");
  }
  if (exists && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) {
      errno = EISDIR;
      return SystemFailure("write", path);
    }
    Status written = WriteThrough(path, bytes);
    if (!written.ok()) return written.failure();
    return FreshFile(path, path, "");
  }
  Result<std::string> place = ThroughLinks(path);
  if (!place.ok()) return place.failure();
  // The temporary name is not derived from the file's own name: that name with a suffix might exceed the
  // limit on the length of file names.
  std::string fresh = (std::filesystem::path(*place).parent_path() / ".kernelc-XXXXXX").string();
  int descriptor = ::mkstemp(fresh.data());
  if (descriptor < 0) return SystemFailure("write", path);
  FreshFile file(path, std::move(*place), std::move(fresh));
  mode_t mask = ::umask(0);
  ::umask(mask);
  mode_t usual = (executable ? 0777 : 0666) & ~mask;
  ::fchmod(descriptor, exists && !executable ? info.st_mode & 0777 : usual);
  Status written = WriteAndClose(descriptor, path, bytes);
  if (!written.ok()) return written.failure();
  return file;
}

FreshFile::FreshFile(std::string path, std::string place, std::string fresh)
    : path_(std::move(path)), place_(std::move(place)), fresh_(std::move(fresh)) {
  if (!fresh_.empty()) removed_.emplace(fresh_);
}

FreshFile::FreshFile(FreshFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      fresh_(std::exchange(other.fresh_, {})),
      removed_(std::move(other.removed_)) {}

FreshFile::~FreshFile() {
  if (!fresh_.empty()) ::unlink(fresh_.c_str());
}

Status FreshFile::Put() {
  if (fresh_.empty()) return {};
  if (::rename(fresh_.c_str(), place_.c_str()) != 0) return SystemFailure("write", path_);
  fresh_.clear();
  removed_.reset();
  return {};
}

Status WriteFileWhole(const std::string& path, std::string_view bytes) {
  Result<FreshFile> file = FreshFile::Write(path, bytes);
  return file.ok() ? file->Put() : Status(file.failure());
}

Result<TemporaryFolder> TemporaryFolder::Make() {
  const char* base = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/kernelc-XXXXXX", base && *base ? base : "/tmp");
  if (!::mkdtemp(path.data())) {
    Failure failure = SystemFailure("make the temporary folder", path);
    failure.kind = FailureKind::Environment;
    return failure;
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::move(other.path_)), removed_(std::move(other.removed_)) {
  other.path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

bool ErrorsGoToTerminal() { return ::isatty(STDERR_FILENO) == 1; }

}  // namespace kdl
