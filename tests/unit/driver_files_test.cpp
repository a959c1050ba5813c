#include "driver/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/io.h"

namespace kdl::driver {
namespace {

namespace fs = std::filesystem;

TEST_CASE("outputs: a folder of the file's name is an error and stays") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  std::string first = scratch->path() + "/a.h";
  std::string second = scratch->path() + "/b.h";
  fs::create_directory(second);
  DiagnosticEngine diagnostics;
  CHECK_FALSE(WriteOutputFiles({{first, "a", false}, {second, "b", false}}, diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0]->text.ends_with("b.h': Is a directory"));
  CHECK_FALSE(fs::exists(first));
  CHECK(fs::is_directory(second));
}

TEST_CASE("outputs: a named pipe takes the bytes and stays one") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  std::string path = scratch->path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  DiagnosticEngine diagnostics;
  CHECK(WriteOutputFiles({{path, "bytes", false}}, diagnostics));
  char got[16] = {};
  CHECK(::read(reader, got, sizeof got) == 5);
  CHECK(std::string(got) == "bytes");
  CHECK(fs::is_fifo(path));
  ::close(reader);
}

}  // namespace
}  // namespace kdl::driver
