#include "system/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "system/files.h"

namespace kdl::runtime {

namespace {

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

bool MakeFolder(const std::string& path) {
  for (std::size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const bool is_made = ::mkdir(path.substr(0, at).c_str(), 0700) == 0 || errno == EEXIST;
    if (at == std::string::npos) return is_made;
  }
}

std::vector<FolderFile> FilesIn(const std::string& folder, std::string_view part) {
  std::vector<FolderFile> files;
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr) return files;
  while (const dirent* entry = ::readdir(open)) {
    std::string name = entry->d_name;
    struct stat facts = {};
    if (name.find(part) == std::string::npos ||
        ::fstatat(::dirfd(open), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode)) {
      continue;
    }
    files.push_back({std::move(name), facts.st_size, Nanoseconds(facts.st_mtim)});
  }
  ::closedir(open);
  return files;
}

bool ReadOwnFile(const std::string& path, std::int64_t most, std::string* contents) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  struct stat facts = {};
  bool is_read = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size <= most &&
                 facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (is_read) {
    contents->resize(static_cast<std::size_t>(facts.st_size));
    // The file may have become shorter since its size was determined.
    is_read = ReadBytes(file, contents->data(), contents->size()) == facts.st_size;
  }
  ::close(file);
  return is_read;
}

bool PutFile(const std::string& path, std::span<const std::string_view> pieces) {
  std::string fresh = path + "-XXXXXX";
  const int file = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return false;
  bool is_written = true;
  for (std::string_view piece : pieces) is_written = is_written && WriteAll(file, piece);
  is_written = ::close(file) == 0 && is_written;
  if (is_written && ::rename(fresh.c_str(), path.c_str()) == 0) return true;
  ::unlink(fresh.c_str());
  return false;
}

void RemoveFile(const std::string& path) { ::unlink(path.c_str()); }

void MarkFile(const std::string& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

std::int64_t SystemTime() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Nanoseconds(now);
}

}  // namespace kdl::runtime
