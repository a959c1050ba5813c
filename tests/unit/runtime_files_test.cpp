// Tests how the runtime reads files: it only reads regular files, and each error contains a reason.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "system/files.h"
#include "system/library.h"

namespace kdl::runtime {
namespace {

namespace fs = std::filesystem;

std::string Refusal(const std::string& path, std::size_t most = 100) {
  std::string text;
  std::string reason;
  return ReadFile(path, most, &text, &reason) ? "read: " + text : reason;
}

TEST_CASE("Files: only a readable regular file is read, up to the given size") {
  std::string folder = (fs::temp_directory_path() / "kdl-files-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/file";
  std::ofstream(file) << "1234567";
  const std::string pipe = folder + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);

  CHECK(Refusal(file) == "read: 1234567");
  CHECK(Refusal(file, 7) == "read: 1234567");
  CHECK(Refusal(file, 6) == "it is larger than 6 bytes, the maximum");
  CHECK(Refusal(folder) == "it is not a regular file");
  CHECK(Refusal(pipe) == "it is not a regular file");  // the call does not wait for a writer
  CHECK(Refusal("/dev/zero") == "it is not a regular file");
  CHECK(Refusal(folder + "/none") == "No such file or directory");
  // The system reports a regular file, but reading fails at unmapped addresses.
  CHECK(Refusal("/proc/self/mem") == "Input/output error");

  CHECK(ArchOfLibrary("/proc/self/exe") != nullptr);
  for (const std::string& other : {file, folder, pipe, std::string("/proc/self/mem")})
    CHECK(ArchOfLibrary(other) == nullptr);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace kdl::runtime
