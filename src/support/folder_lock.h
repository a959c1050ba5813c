#pragma once

#include <string>

namespace kdl {

/// Keeps other processes with a lock on the same folder waiting during its lifetime. Without such locks, as on some
/// network file systems, does nothing.
class FolderLock {
 public:
  /// Locks the folder of a file, which need not exist.
  explicit FolderLock(const std::string& file);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace kdl
