// What took long to make, kept on disk from process to process by a text that says what it was made of. Other processes may
// use the folder at the same time; what is wrong with it, or with a file in it, only means that nothing is found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace kdl::runtime {

class DiskCache {
 public:
  // An empty folder: nothing is ever found or kept.
  explicit DiskCache(std::string folder, std::int64_t most_bytes = kMostBytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  // The folder that KDL_CACHE_DIR names, which it switches off where it is empty; else kernelc in the user's caches.
  static std::string UsualFolder();
  // Whether the user names the folder.
  static bool IsNamed();

  // Whether it is one at all.
  bool keeps() const { return !folder_.empty(); }
  bool Find(std::string_view key, std::string* value) const;
  // In place of what was kept for the key. Then what has not been used for longest goes, until the rest is small enough.
  void Keep(std::string_view key, std::string_view value) const;

 private:
  static constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

  std::string PathOf(std::string_view key) const;
  void Trim() const;

  std::string folder_;
  std::int64_t most_bytes_;
};

}  // namespace kdl::runtime
