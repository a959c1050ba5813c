// Files of which several processes read and write parts, and files that replace others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace kdl::runtime {

// A file of which several processes may read or write parts at the same time. On failure, all functions set errno.
class SharedFile {
 public:
  // The path must be that of an existing file. If it cannot be opened, the result is not open.
  static SharedFile OpenToRead(const std::string& path);
  static SharedFile OpenToWrite(const std::string& path);
  SharedFile(SharedFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile();

  bool is_open() const { return file_ >= 0; }
  std::int64_t Bytes() const;  // or -1
  // If the file ends before all bytes are read, sets errno to 0.
  bool ReadAt(std::int64_t offset, char* to, std::size_t bytes) const;
  bool WriteAt(std::int64_t offset, const char* from, std::size_t bytes) const;
  // Appends zeros, or removes bytes, until the file has this size.
  bool Resize(std::int64_t bytes) const;
  // Waits until everything that was written is on the disk.
  bool Sync() const;

 private:
  explicit SharedFile(int file) : file_(file) {}

  int file_;
};

// Is told the path of a temporary file when the file has been created, and null when it has got its name or is removed.
struct TemporaryObserver {
  void (*changed)(void* state, const char* path) = nullptr;
  void* state = nullptr;

  void Tell(const char* path) const {
    if (changed != nullptr) changed(state, path);
  }
};

// A file that is written next to the one that it replaces. The destructor removes it, unless it has replaced the other one.
class ReplacingFile {
 public:
  explicit ReplacingFile(TemporaryObserver observer) : observer_(observer) {}
  ReplacingFile(const ReplacingFile&) = delete;
  ReplacingFile& operator=(const ReplacingFile&) = delete;
  ~ReplacingFile() { Remove(); }

  // Creates an empty file with the permissions of the one that it will replace. If the path is a symbolic link, the file to
  // which it leads will be replaced. On failure, returns false and sets errno.
  bool Create(const std::string& path);
  const std::string& path() const { return own_; }
  // Gives the file its name. On failure, returns false and sets errno.
  bool Put();
  void Remove();

 private:
  void Forget();

  TemporaryObserver observer_;
  std::string own_;    // empty if there is no file
  std::string place_;  // of the file that is replaced
};

bool IsFolder(const std::string& path);
// Whether the path names anything, even a symbolic link that leads nowhere.
bool Exists(const std::string& path);
// Returns the absolute path of the current folder, or "" if it has been removed.
std::string CurrentFolder();

}  // namespace kdl::runtime
