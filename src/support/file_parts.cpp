#include "support/file_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "support/system_error.h"

namespace kdl {

namespace {

/// Calls `transfer(data, count, offset)`, which moves at most `count` bytes, until all bytes are moved. Returns whether that
/// succeeded. At the end of the file, errno is 0.
template <class Span, class Transfer>
bool TransferAll(int64_t offset, Span bytes, Transfer transfer) {
  while (!bytes.empty()) {
    errno = 0;
    ssize_t count = transfer(bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return true;
}

}  // namespace

Result<FileParts> FileParts::OpenToRead(const std::string& path) {
  // O_NONBLOCK keeps open() from waiting on a named pipe that has no writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return SystemFailure("read", path);
  return FileParts(descriptor, path);
}

Result<FileParts> FileParts::OpenToWrite(const std::string& path, const std::string& shown) {
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemFailure("write", shown);
  return FileParts(descriptor, shown);
}

FileParts::~FileParts() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<int64_t> FileParts::Size() const {
  struct stat info{};
  if (::fstat(descriptor_, &info) != 0) return SystemFailure("read", shown_);
  return static_cast<int64_t>(info.st_size);
}

Status FileParts::ReadAt(int64_t offset, std::span<std::byte> bytes) const {
  bool done = TransferAll(offset, bytes, [&](std::byte* data, size_t count, off_t at) {
    return ::pread(descriptor_, data, count, at);
  });
  if (done) return {};
  if (errno != 0) return SystemFailure("read", shown_);
  return Failure{fmt::format("cannot read '{}': it has become shorter", shown_)};
}

Status FileParts::WriteAt(int64_t offset, std::span<const std::byte> bytes) const {
  bool done = TransferAll(offset, bytes, [&](const std::byte* data, size_t count, off_t at) {
    return ::pwrite(descriptor_, data, count, at);
  });
  return done ? Status() : SystemFailure("write", shown_);
}

Status FileParts::Resize(int64_t bytes) const {
  return ::ftruncate(descriptor_, bytes) == 0 ? Status() : SystemFailure("write", shown_);
}

Status FileParts::Sync() const {
  return ::fsync(descriptor_) == 0 ? Status() : SystemFailure("write", shown_);
}

}  // namespace kdl
