// Tests the cache that the runtime keeps on disk, in a folder that other processes write to and damage.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "core/disk_cache.h"

namespace kdl::runtime {
namespace {

namespace fs = std::filesystem;

// A temporary folder that the destructor removes.
class CacheFolder {
 public:
  CacheFolder() {
    std::string name = (fs::temp_directory_path() / "kdl-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~CacheFolder() { fs::remove_all(path_); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  const fs::path& path() const { return path_; }
  std::vector<fs::path> Files() const {
    return {fs::directory_iterator(path_), fs::directory_iterator()};
  }

 private:
  fs::path path_;
};

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Overwrite(const fs::path& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
}

std::string Found(const DiskCache& cache, std::string_view key) {
  std::string value;
  return cache.Find(key, &value) ? value : "nothing";
}

void Age(const fs::path& path, std::chrono::seconds by) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - by);
}

// Sets or removes an environment variable. The destructor restores it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, had_one_ = true;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Setting() { had_one_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_one_ = false;
};

TEST_CASE("disk cache: values are found by their whole key, in a folder that only the user reads") {
  const CacheFolder folder;
  const std::string deep = folder.path() / "a/b";
  const DiskCache cache(deep);
  CHECK(Found(cache, "key") == "nothing");
  cache.Keep("key", std::string_view("va\0lue", 6));
  cache.Keep("empty", "");
  CHECK(Found(cache, "key") == std::string_view("va\0lue", 6));
  CHECK(Found(cache, "empty") == "");
  CHECK(Found(cache, "ke") == "nothing");
  CHECK(Found(cache, "keyva") == "nothing");
  cache.Keep("key", "another");
  CHECK(Found(DiskCache(deep), "key") == "another");
  struct stat facts = {};
  REQUIRE(::stat(deep.c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0700);
}

TEST_CASE("disk cache: a file with another key under the same name is not used") {
  const CacheFolder folder;
  const DiskCache cache(folder.path());
  cache.Keep("one", "1");
  const fs::path one = folder.Files().at(0);
  const std::string contents = Contents(one);
  cache.Keep("two", "2");
  for (const fs::path& file : folder.Files()) Overwrite(file, contents);
  CHECK(Found(cache, "one") == "1");
  CHECK(Found(cache, "two") == "nothing");
}

TEST_CASE("disk cache: truncated or corrupted files are ignored and replaced") {
  const CacheFolder folder;
  const DiskCache cache(folder.path());
  cache.Keep("key", "value");
  const fs::path file = folder.Files().at(0);
  const std::string whole = Contents(file);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    Overwrite(file, whole.substr(0, bytes));
    CHECK_MESSAGE(Found(cache, "key") == "nothing", bytes);
    std::string wrong = whole;
    wrong[bytes] = static_cast<char>(wrong[bytes] ^ 4);
    Overwrite(file, wrong);
    CHECK_MESSAGE(Found(cache, "key") == "nothing", bytes);
  }
  Overwrite(file, whole + "more");
  CHECK(Found(cache, "key") == "nothing");
  cache.Keep("key", "value");
  CHECK(Found(cache, "key") == "value");
  CHECK(folder.Files().size() == 1);
}

TEST_CASE("disk cache: files that others may write, links and folders are ignored") {
  const CacheFolder folder;
  const DiskCache cache(folder.path());
  cache.Keep("key", "value");
  const fs::path file = folder.Files().at(0);
  const fs::path aside = folder.path() / "aside";
  REQUIRE(::chmod(file.c_str(), 0620) == 0);
  CHECK(Found(cache, "key") == "nothing");
  REQUIRE(::chmod(file.c_str(), 0600) == 0);
  CHECK(Found(cache, "key") == "value");
  fs::rename(file, aside);
  fs::create_symlink(aside, file);
  CHECK(Found(cache, "key") == "nothing");
  fs::remove(file);
  fs::create_directory(file);
  CHECK(Found(cache, "key") == "nothing");
  cache.Keep("key", "value");
  CHECK(Found(cache, "key") == "nothing");
}

TEST_CASE("disk cache: if nothing can be written, nothing is kept, without an error") {
  const CacheFolder folder;
  const std::string file = folder.path() / "file";
  Overwrite(file, "");
  for (const std::string& place :
       {file, file + "/below", std::string("/proc/no such"), std::string()}) {
    const DiskCache cache(place);
    cache.Keep("key", "value");
    CHECK_MESSAGE(Found(cache, "key") == "nothing", place);
  }
}

TEST_CASE("disk cache: a full disk leaves existing files, and no incomplete file") {
  const CacheFolder folder;
  const DiskCache cache(folder.path());
  cache.Keep("key", "value");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    cache.Keep("key", std::string(5000, 'x'));
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(Found(cache, "key") == "value");
  CHECK(folder.Files().size() == 1);
}

TEST_CASE("disk cache: the least recently used values are removed, but not the files of others") {
  const CacheFolder folder;
  Overwrite(folder.path() / "notes.txt", std::string(10000, 'n'));
  const DiskCache cache(folder.path(), 3000);
  auto age_all = [&] {
    for (const fs::path& file : folder.Files())
      Age(file, std::chrono::duration_cast<std::chrono::seconds>(fs::file_time_type::clock::now() -
                                                                 fs::last_write_time(file)) +
                    std::chrono::seconds(100));
  };
  for (const char* key : {"a", "b", "c"}) {
    cache.Keep(key, std::string(800, 'v'));
    age_all();
  }
  CHECK(Found(cache, "a").size() == 800);  // finding "a" marks it as used
  cache.Keep("d", std::string(800, 'v'));
  CHECK(Found(cache, "b") == "nothing");
  for (const char* key : {"a", "c", "d"}) CHECK_MESSAGE(Found(cache, key).size() == 800, key);
  cache.Keep("large", std::string(3000, 'v'));
  CHECK(Found(cache, "large") == "nothing");
  CHECK(Found(cache, "a").size() == 800);
  CHECK(fs::exists(folder.path() / "notes.txt"));
}

TEST_CASE("disk cache: incomplete files that a process left are removed after some time") {
  const CacheFolder folder;
  const fs::path old = folder.path() / "0.kdlcache-aaaaaa";
  const fs::path fresh = folder.path() / "1.kdlcache-bbbbbb";
  Overwrite(old, "half");
  Age(old, std::chrono::hours(2));
  Overwrite(fresh, "half");
  DiskCache(folder.path()).Keep("key", "value");
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(fresh));
}

TEST_CASE("disk cache: concurrent processes and threads find a whole value or nothing") {
  const CacheFolder folder;
  constexpr int kWriters = 4;
  constexpr int kTimes = 60;
  const std::string values[] = {std::string(1, 'a'), std::string(70000, 'b'),
                                std::string(9000, 'c')};
  const DiskCache cache(folder.path(), 300000);
  auto work = [&](int seed) {
    bool is_right = true;
    for (int i = 0; i < kTimes; ++i) {
      const std::string& value = values[(i + seed) % 3];
      const std::string key = "key" + std::to_string(i % 5);
      cache.Keep(key, value);
      const std::string found = Found(cache, key);
      is_right = is_right && (found == "nothing" || found == values[0] || found == values[1] ||
                              found == values[2]);
    }
    return is_right;
  };
  std::vector<pid_t> children;
  for (int n = 0; n < kWriters; ++n) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work(n) ? 0 : 1);
    children.push_back(child);
  }
  bool is_right[2] = {};
  std::thread other([&] { is_right[0] = work(1); });
  is_right[1] = work(2);
  other.join();
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(is_right[0]);
  CHECK(is_right[1]);
  CHECK(folder.Files().size() <= 5);
}

TEST_CASE("disk cache: the folder is the named folder, or one of the user's caches") {
  const Setting home("HOME", "/home/somebody");
  const Setting caches("XDG_CACHE_HOME", nullptr);
  const Setting none("KDL_CACHE_DIR", nullptr);
  CHECK(DiskCache::UsualFolder() == "/home/somebody/.cache/kernelc");
  CHECK_FALSE(DiskCache::IsNamed());
  {
    const Setting relative("XDG_CACHE_HOME", "caches");
    CHECK(DiskCache::UsualFolder() == "/home/somebody/.cache/kernelc");
    const Setting absolute("XDG_CACHE_HOME", "/caches");
    CHECK(DiskCache::UsualFolder() == "/caches/kernelc");
    const Setting named("KDL_CACHE_DIR", "here");
    CHECK(DiskCache::UsualFolder() == "here");
    CHECK(DiskCache::IsNamed());
    const Setting off("KDL_CACHE_DIR", "");
    CHECK(DiskCache::UsualFolder() == "");
    CHECK(DiskCache::IsNamed());
  }
  const Setting homeless("HOME", nullptr);
  CHECK(DiskCache::UsualFolder() == "");
}

}  // namespace
}  // namespace kdl::runtime
