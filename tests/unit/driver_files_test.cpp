#include "driver/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>

#include "support/io.h"

namespace kdl::driver {
namespace {

namespace fs = std::filesystem;

TEST_CASE("outputs: a folder with the file's name is an error and is kept") {
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

TEST_CASE("outputs: a named pipe receives the bytes and remains a pipe") {
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

TEST_CASE("outputs: a symbolic link is kept, and its target is written") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  fs::path folder = scratch->path();
  fs::create_directory(folder / "data");
  // A path through two symbolic links. Their target does not exist in the first iteration, and exists in the
  // second.
  fs::create_symlink("data/inner.npy", folder / "link.npy");
  fs::create_symlink("file.npy", folder / "data/inner.npy");
  std::string link = folder / "link.npy";
  DiagnosticEngine diagnostics;
  CHECK(MayWrite({link}, "", diagnostics));
  for (const char* bytes : {"old", "new"}) {
    CHECK(WriteOutputFiles({{link, bytes, false}}, diagnostics));
    CHECK(*ReadFile(folder / "data/file.npy", 1 << 20) == bytes);
    CHECK(fs::is_symlink(folder / "link.npy"));
    CHECK(fs::is_symlink(folder / "data/inner.npy"));
  }
  CHECK_FALSE(MayWrite({folder / "data/file.npy"}, "name another", diagnostics));
  CHECK(diagnostics.all()[0]->text.find("link.npy") == std::string::npos);
}

TEST_CASE("outputs: dangling links are errors and are kept") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  fs::path folder = scratch->path();
  fs::create_symlink("missing/file.npy", folder / "lost.npy");
  fs::create_symlink("round.npy", folder / "round.npy");
  DiagnosticEngine diagnostics;
  CHECK_FALSE(MayWrite({folder / "lost.npy"}, "", diagnostics));
  CHECK_FALSE(MayWrite({folder / "round.npy"}, "", diagnostics));
  CHECK_FALSE(WriteOutputFiles({{folder / "round.npy", "bytes", false}}, diagnostics));
  std::string missing = folder / "missing";
  REQUIRE(diagnostics.all().size() == 3);
  CHECK(diagnostics.all()[0]->text.ends_with("lost.npy': it is a link to '" + missing +
                                             "/file.npy', and there is no folder '" + missing +
                                             "'"));
  CHECK(diagnostics.all()[1]->text.ends_with("round.npy': Too many levels of symbolic links"));
  CHECK(diagnostics.all()[2]->text.ends_with("round.npy': Too many levels of symbolic links"));
  CHECK(fs::is_symlink(folder / "lost.npy"));
  CHECK(fs::is_symlink(folder / "round.npy"));
}

TEST_CASE("outputs: a failure leaves all files unchanged, and no other files") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  fs::path folder = scratch->path();
  fs::create_symlink("file.npy", folder / "link.npy");
  fs::create_directory(folder / "b.npy");
  REQUIRE(WriteFileWhole(folder / "file.npy", "old").ok());
  DiagnosticEngine diagnostics;
  CHECK_FALSE(WriteOutputFiles({{folder / "link.npy", "a", false}, {folder / "b.npy", "b", false}},
                               diagnostics));
  CHECK(fs::is_symlink(folder / "link.npy"));
  CHECK(*ReadFile(folder / "file.npy", 1 << 20) == "old");
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 3);
}

TEST_CASE("outputs: files that are read later are kept, and the reason is reported once") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  fs::path folder = scratch->path();
  std::string path = folder / "a.kdl";
  REQUIRE(WriteFileWhole(path, "source").ok());
  fs::create_symlink("a.kdl", folder / "link");
  std::string link = folder / "link";
  DiagnosticEngine diagnostics;
  CHECK(MayWrite({link}, "name another", diagnostics));
  CHECK(ReadRewrittenFile(path, 1 << 20, diagnostics) == "source");
  CHECK(WriteOutputFiles({{link, "again", false}}, diagnostics));
  CHECK(ReadInputFile(path, 1 << 20, diagnostics) == "again");
  CHECK_FALSE(WriteOutputFiles({{link, "bytes", false}}, diagnostics));
  CHECK_FALSE(WriteOutputFiles({{link, "bytes", false}}, diagnostics));
  CHECK(diagnostics.all().size() == 1);
  CHECK(*ReadFile(path, 1 << 20) == "again");
}

TEST_CASE("outputs: of two outputs in one file, neither is written") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  fs::path folder = scratch->path();
  DiagnosticEngine diagnostics;
  CHECK(MayWrite({folder / "one"}, "", diagnostics));
  CHECK_FALSE(MayWrite({folder / "./one"}, "", diagnostics));
  CHECK_FALSE(WriteOutputFiles({{folder / "one", "bytes", false}}, diagnostics));
  CHECK(diagnostics.all().size() == 1);
  CHECK_FALSE(fs::exists(folder / "one"));
}

TEST_CASE("outputs: a name may have the maximum length, and a file may be executable") {
  Result<TemporaryFolder> scratch = TemporaryFolder::Make();
  REQUIRE(scratch.ok());
  std::string path = scratch->path() + "/" + std::string(255, 'n');
  DiagnosticEngine diagnostics;
  CHECK(WriteOutputFiles({{path, "bytes", true}}, diagnostics));
  CHECK(*ReadFile(path, 1 << 20) == "bytes");
  CHECK(::access(path.c_str(), X_OK) == 0);
}

}  // namespace
}  // namespace kdl::driver
