// A cache on disk for things that take long to make, found by a text that describes their inputs. Several
// processes may use the folder at the same time. If the folder or a file in it is damaged, nothing is found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace kdl::runtime {

class DiskCache {
 public:
  // With an empty folder, nothing is ever found or kept.
  explicit DiskCache(std::string folder, std::int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // Returns the folder named by KDL_CACHE_DIR, where an empty value turns the cache off; by default, kernelc
  // in the user's cache folder.
  static std::string UsualFolder();
  // Whether the user has named a folder.
  static bool IsNamed();

  // Whether the cache is on.
  bool keeps() const { return !folder_.empty(); }
  bool Find(std::string_view key, std::string* value) const;
  // Keeps a value and replaces the key's old one. Then removes the least recently used files until the rest
  // is small enough.
  void Keep(std::string_view key, std::string_view value) const;

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

  std::string FilePath(std::string_view key) const;
  void Trim() const;

  std::string folder_;
  std::int64_t most_bytes_;
};

}  // namespace kdl::runtime
