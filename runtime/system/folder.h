// Files of a folder that processes share: each is there whole or not at all.
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
  std::int64_t used_ns = 0;  // when it was last written or marked, of the system's clock
};

// The folder and those above it, for this user alone where they were not there.
bool MakeFolder(const std::string& path);
// The regular files in it whose names hold `part`, in no order.
std::vector<FolderFile> FilesIn(const std::string& folder, std::string_view part);
// All of a file of this user's, which nobody else has put there; false: it is not there, or not to be read.
bool ReadOwnFile(const std::string& path, std::int64_t most, std::string* contents);
// The pieces, one after the other, in place of a file that is there; false: there is no room, or it is not to be written.
bool PutFile(const std::string& path, std::span<const std::string_view> pieces);
void RemoveFile(const std::string& path);
// It is used now.
void MarkFile(const std::string& path);
std::int64_t SystemTime();  // as used_ns has it

}  // namespace kdl::runtime
