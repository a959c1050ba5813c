#include "core/disk_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "system/folder.h"

namespace kdl::runtime {

namespace {

// The header of a cache file, before its key and value. A driver that receives a truncated or damaged program
// may crash the process, so a file with a wrong checksum is ignored.
struct CacheHead {
  char mark[8];
  std::uint64_t key_bytes;
  std::uint64_t value_bytes;
  std::uint64_t sum;
};

constexpr char kCacheMark[] = {'k', 'd', 'l', 'c', 'a', 'c', 'h', '1'};
constexpr std::string_view kCacheSuffix = ".kdlcache";

// Returns the FNV-1a hash.
std::uint64_t SumOf(std::string_view bytes, std::uint64_t sum = 0xcbf29ce484222325u) {
  for (char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return sum;
}

CacheHead HeadOf(std::string_view key, std::string_view value) {
  CacheHead head = {{}, key.size(), value.size(), SumOf(value, SumOf(key))};
  std::memcpy(head.mark, kCacheMark, sizeof head.mark);
  return head;
}

std::string_view HeadBytes(const CacheHead& head) {
  return {reinterpret_cast<const char*>(&head), sizeof head};
}

const char* Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool DiskCache::IsNamed() { return std::getenv("KDL_CACHE_DIR") != nullptr; }

std::string DiskCache::UsualFolder() {
  if (IsNamed()) return Variable("KDL_CACHE_DIR");
  // The specification of XDG_CACHE_HOME says that a relative path is invalid.
  const std::string caches = Variable("XDG_CACHE_HOME");
  if (caches.starts_with('/')) return caches + "/kernelc";
  const std::string home = Variable("HOME");
  return home.starts_with('/') ? home + "/.cache/kernelc" : "";
}

// The file also contains the whole key. Two keys with the same file name can therefore replace each other's
// values, but are never confused.
std::string DiskCache::FilePath(std::string_view key) const {
  char digits[16] = {};
  const auto end = std::to_chars(digits, digits + sizeof digits, SumOf(key), 16).ptr;
  std::string path = folder_ + "/";
  path.append(digits, end).append(kCacheSuffix);
  return path;
}

bool DiskCache::Find(std::string_view key, std::string* value) const {
  if (folder_.empty()) return false;
  const std::string path = FilePath(key);
  std::string file;
  if (!ReadOwnFile(path, kMostBytes, &file)) return false;
  CacheHead head = {};
  if (file.size() < sizeof head) return false;
  std::memcpy(&head, file.data(), sizeof head);
  const std::string_view rest = std::string_view(file).substr(sizeof head);
  if (!rest.starts_with(key)) return false;
  const std::string_view kept = rest.substr(key.size());
  if (HeadBytes(head) != HeadBytes(HeadOf(key, kept))) return false;
  *value = kept;
  MarkFile(path);
  return true;
}

void DiskCache::Keep(std::string_view key, std::string_view value) const {
  const auto bytes = static_cast<std::int64_t>(sizeof(CacheHead) + key.size() + value.size());
  if (folder_.empty() || bytes > most_bytes_ || !MakeFolder(folder_)) return;
  const CacheHead head = HeadOf(key, value);
  const std::string_view pieces[] = {HeadBytes(head), key, value};
  if (PutFile(FilePath(key), pieces)) Trim();
}

void DiskCache::Trim() const {
  constexpr std::int64_t kLeftOver = std::int64_t{3600} * 1'000'000'000;
  std::vector<FolderFile> files = FilesIn(folder_, kCacheSuffix);
  std::sort(files.begin(), files.end(),
            [](const FolderFile& a, const FolderFile& b) { return a.used_ns > b.used_ns; });
  std::int64_t bytes = 0;
  for (const FolderFile& file : files) {
    // A file without the suffix is temporary: it is being written, or was left behind by a process that
    // exited.
    const bool is_fresh = !file.name.ends_with(kCacheSuffix);
    bytes += file.bytes;
    if (is_fresh ? SystemTime() - file.used_ns > kLeftOver : bytes > most_bytes_) {
      RemoveFile(folder_ + "/" + file.name);
      bytes -= file.bytes;
    }
  }
}

}  // namespace kdl::runtime
