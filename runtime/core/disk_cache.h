// A cache on disk for things that take long to create, such as compiled programs. The key is a string
// that describes their inputs. Several processes may use the folder at the same time. A damaged folder or file is
// treated as a cache miss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace kdl::runtime {

class DiskCache {
 public:
  // Creates a cache in `folder`. If `folder` is empty, nothing is ever found or stored.
  explicit DiskCache(std::string folder, std::int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // Returns the value of KDL_CACHE_DIR if it is set; an empty value turns the cache off. Otherwise, returns
  // the folder `kernelc` in the user's cache folder.
  static std::string UsualFolder();
  // Whether the user has set KDL_CACHE_DIR.
  static bool IsNamed();

  // Whether the cache is on.
  bool keeps() const { return !folder_.empty(); }
  bool Find(std::string_view key, std::string* value) const;
  // Stores a value, which replaces the old value of the key. Then removes the least recently used files until
  // the total size of the remaining files is within the limit.
  void Keep(std::string_view key, std::string_view value) const;

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

  std::string FilePath(std::string_view key) const;
  void Trim() const;

  std::string folder_;
  std::int64_t most_bytes_;
};

}  // namespace kdl::runtime
