// Files in a folder that several processes share. Each file either exists completely or not at all.
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
  std::int64_t used_ns = 0;  // when it was last written or marked, by the system's clock
};

// Creates the folder and its missing parents, accessible only to this user.
bool MakeFolder(const std::string& path);
// Returns the regular files in the folder whose names contain `part`, in no particular order.
std::vector<FolderFile> FilesIn(const std::string& folder, std::string_view part);
// Reads a file that belongs to this user. Returns false if it does not exist or cannot be read.
bool ReadOwnFile(const std::string& path, std::int64_t most, std::string* contents);
// Writes the chunks, concatenated, and replaces an existing file. Returns false if there is no room, or if it
// cannot be written.
bool PutFile(const std::string& path, std::span<const std::string_view> pieces);
void RemoveFile(const std::string& path);
// Marks the file as used now.
void MarkFile(const std::string& path);
std::int64_t SystemTime();  // in the units of used_ns

}  // namespace kdl::runtime
