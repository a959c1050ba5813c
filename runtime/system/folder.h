// Files in a folder that several processes share. Each file either exists completely or does not exist.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::runtime {

struct FolderFile {
  std::string name;
  std::int64_t bytes = 0;
  // When the file was last written or marked as used, by the system clock.
  std::int64_t used_ns = 0;
};

// Creates the folder and its missing parents. They are accessible only to this user.
bool MakeFolder(const std::string& path);
// Returns the regular files in the folder whose names contain `part`, in no particular order.
std::vector<FolderFile> FilesIn(const std::string& folder, std::string_view part);
// Reads a file that belongs to this user. Returns false if it does not exist, is longer than `most` bytes, or
// cannot be read.
bool ReadOwnFile(const std::string& path, std::int64_t most, std::string* contents);
// Writes the pieces one after another to a file, and replaces the file if it exists. Returns false if the
// file cannot be written, for example because the disk is full.
bool PutFile(const std::string& path, std::span<const std::string_view> pieces);
void RemoveFile(const std::string& path);
// Marks the file as used now.
void MarkFile(const std::string& path);
std::int64_t SystemTime();  // in nanoseconds, like `used_ns`

}  // namespace kdl::runtime
