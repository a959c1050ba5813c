#include "system/shared_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace kdl::runtime {

namespace {

// Calls `transfer(data, count, offset)`, which moves at most `count` bytes, until all bytes are moved.
template <class Data, class Transfer>
bool TransferAll(std::int64_t offset, Data* data, std::size_t bytes, Transfer transfer) {
  while (bytes > 0) {
    errno = 0;
    const ssize_t count = transfer(data, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    bytes -= static_cast<std::size_t>(count);
    offset += count;
  }
  return true;
}

// Creates a file in the folder under a name that no other file has. Returns -1 on failure.
int CreateIn(const std::string& folder, std::string* path) {
  static std::atomic<unsigned> created = 0;
  constexpr int kMostTries = 10000;  // files that killed processes of earlier runs have left
  int file = -1;
  for (int tries = 0; file < 0 && tries < kMostTries; ++tries) {
    *path = folder + ".checkpoint-" + std::to_string(::getpid()) + "-" + std::to_string(created++);
    file = ::open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) return -1;
  }
  return file;
}

}  // namespace

SharedFile SharedFile::OpenToRead(const std::string& path) {
  // O_NONBLOCK is needed, because opening a pipe without a writer would block.
  return SharedFile(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

SharedFile SharedFile::OpenToWrite(const std::string& path) {
  return SharedFile(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

SharedFile::~SharedFile() {
  if (file_ >= 0) ::close(file_);
}

std::int64_t SharedFile::Bytes() const {
  struct stat facts = {};
  return ::fstat(file_, &facts) == 0 ? static_cast<std::int64_t>(facts.st_size) : -1;
}

bool SharedFile::ReadAt(std::int64_t offset, char* to, std::size_t bytes) const {
  return TransferAll(offset, to, bytes, [this](char* data, std::size_t count, off_t at) {
    return ::pread(file_, data, count, at);
  });
}

bool SharedFile::WriteAt(std::int64_t offset, const char* from, std::size_t bytes) const {
  return TransferAll(offset, from, bytes, [this](const char* data, std::size_t count, off_t at) {
    return ::pwrite(file_, data, count, at);
  });
}

bool SharedFile::Resize(std::int64_t bytes) const { return ::ftruncate(file_, bytes) == 0; }

bool SharedFile::Sync() const { return ::fsync(file_) == 0; }

bool ReplacingFile::Create(const std::string& path) {
  struct stat old = {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  place_ = path;
  if (Exists(path)) {
    char* real = ::realpath(path.c_str(), nullptr);
    if (real == nullptr) return false;
    place_ = real;
    ::free(real);
  }
  std::string fresh;
  const int file = CreateIn(place_.substr(0, place_.rfind('/') + 1), &fresh);
  if (file < 0) return false;
  own_ = std::move(fresh);
  observer_.Tell(own_.c_str());
  const bool is_allowed = !exists || ::fchmod(file, old.st_mode & 0777) == 0;
  return ::close(file) == 0 && is_allowed;
}

bool ReplacingFile::Put() {
  if (::rename(own_.c_str(), place_.c_str()) != 0) return false;
  Forget();
  return true;
}

void ReplacingFile::Remove() {
  if (own_.empty()) return;
  ::unlink(own_.c_str());
  Forget();
}

void ReplacingFile::Forget() {
  own_.clear();
  observer_.Tell(nullptr);
}

bool IsFolder(const std::string& path) {
  struct stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool Exists(const std::string& path) {
  struct stat facts = {};
  return ::lstat(path.c_str(), &facts) == 0;
}

std::string CurrentFolder() {
  char* folder = ::getcwd(nullptr, 0);
  std::string path = folder == nullptr ? "" : folder;
  ::free(folder);
  return path;
}

}  // namespace kdl::runtime
