// Tests the files of checkpoints: which ones a program continues at, which ones are refused, and which ones are never replaced.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kdl/checkpoint_text.hpp"
#include "kdl/checkpoints.h"
#include "kdl/checkpoints.hpp"

namespace {

namespace fs = std::filesystem;

// A temporary folder, which is the current folder meanwhile.
class CurrentFolder {
 public:
  CurrentFolder() : before_(fs::current_path()) {
    std::string path = (fs::temp_directory_path() / "kdl-checkpoints-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
    fs::current_path(path_);
  }
  ~CurrentFolder() {
    fs::current_path(before_);
    fs::remove_all(path_);
  }
  // Returns how many files there are, also hidden ones.
  std::int64_t files() const { return std::distance(fs::directory_iterator(path_), {}); }

 private:
  fs::path before_;
  fs::path path_;
};

std::string Bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A program with one number and one tensor of two rows, in which three columns of four are used.
class Program {
 public:
  explicit Program(std::vector<float> elements = {1, 2, 3, 4, 5, 6, 7, 8})
      : elements_(std::move(elements)),
        whole_(context_.Wrap(context_.Select("host"), elements_.data(), {2, 4})),
        tensor_(whole_.Part(1, 0, 3, "", "")) {}

  void Resume(const char* file) { kdl::Check(kdl_context_resume(context_.get(), file)); }

  kdl::Checkpoints Call(const char* code = "code") const {
    return kdl::Checkpoints(context_, nullptr, "walk", code, {"p", "q"});
  }
  void Write(std::int32_t number, std::int64_t every = 1) const {
    Call().Write("p", every, {true, number}, {{"x", tensor_}}, {}, nullptr);
  }
  // Returns the number at which a call continues, or -1.
  std::int32_t Restore(const kdl::Checkpoints& call) const {
    bool continues = false;
    std::int32_t number = -1;
    call.Restore("p", {continues, number}, {{"x", tensor_}}, {}, "f.kdl:1:2");
    CHECK(continues == (number != -1));
    return number;
  }
  std::string Failure(const char* code = "code") {
    Resume("p");
    try {
      Restore(Call(code));
    } catch (const kdl::Error& error) {
      return error.what();
    }
    return "";
  }
  const std::vector<float>& elements() const { return elements_; }

 private:
  kdl::Context context_;
  std::vector<float> elements_;
  kdl::Tensor whole_;
  kdl::Tensor tensor_;
};

TEST_CASE(
    "Checkpoints: the next call continues, and only the elements of the tensor are replaced") {
  CurrentFolder folder;
  Program().Write(-7);
  Program program({0, 0, 0, 9, 0, 0, 0, 9});
  CHECK(program.Restore(program.Call()) == -1);  // it is not asked to continue
  program.Resume("./p");
  CHECK(program.Restore(program.Call()) == -7);
  CHECK(program.elements() == std::vector<float>{1, 2, 3, 9, 5, 6, 7, 9});
  CHECK(program.Restore(program.Call()) == -1);  // only the next call
  program.Resume("p");
  program.Resume(nullptr);
  CHECK(program.Restore(program.Call()) == -1);
  fs::remove("p");
  program.Resume("p");
  CHECK(program.Restore(program.Call()) == -1);  // there is no file
}

TEST_CASE("Checkpoints: a call without the checkpoint at which it is to continue fails") {
  CurrentFolder folder;
  Program program;
  program.Resume((fs::current_path() / "other").c_str());
  CHECK_THROWS_WITH(program.Call(),
                    "the program 'walk' has no checkpoint in 'other', so it cannot continue there; "
                    "it has checkpoints in 'p' and 'q'");
}

TEST_CASE("Checkpoints: they are written at multiples of a positive number") {
  CurrentFolder folder;
  Program program;
  const kdl::Checkpoints call = program.Call();
  for (int i = 1; i <= 5; ++i) {
    call.Write("p", 2, {i}, {}, {}, nullptr);
    CHECK(fs::exists("p") == (i >= 2));
  }
  CHECK(Bytes("p").find("\"bits\":4}") != std::string::npos);
  CHECK_THROWS_WITH(
      program.Write(0, 0),
      "a checkpoint cannot be written every 0 iterations: the number must be positive");
}

TEST_CASE("Checkpoints: files of other programs, and damaged ones, are refused") {
  CurrentFolder folder;
  Program program;
  program.Write(3);
  const std::string whole = Bytes("p");
  CHECK(program.Failure() == "");
  CHECK(program.Failure("other") ==
        "f.kdl:1:2: error: 'p' was written by another program, or before the program was changed; "
        "to start from the beginning, run the program without resuming");
  for (std::size_t at = whole.find('\n') + 1; at < whole.size() - 1; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream("p", std::ios::binary) << damaged;
    CHECK(program.Failure().find("'p' is damaged: it does not have its checksum") !=
          std::string::npos);
  }
  std::ofstream("p", std::ios::binary) << whole << "\n";
  CHECK(program.Failure().find("'p' is damaged: it has ") != std::string::npos);
}

TEST_CASE("Checkpoints: other files are kept, and links stay") {
  CurrentFolder folder;
  Program program;
  std::ofstream("p") << "important";
  CHECK(program.Failure().find("'p' exists, but is not a checkpoint, so it is not replaced") !=
        std::string::npos);
  fs::remove("p");
  program.Write(1);
  ::chmod("p", 0600);
  fs::rename("p", "target");
  fs::create_symlink("target", "p");
  program.Write(2);
  CHECK(fs::is_symlink("p"));
  CHECK(program.Failure() == "");
  CHECK(Bytes("target").find("\"bits\":2}") != std::string::npos);
  struct stat facts = {};
  REQUIRE(::stat("target", &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(folder.files() == 2);
}

TEST_CASE("Checkpoints: an observer is told where the temporary file is, and that it is gone") {
  CurrentFolder folder;
  kdl::Context context;
  kdl_checkpoints* call = nullptr;
  const char* file = "p";
  kdl::Check(kdl_checkpoints_create(context.get(), nullptr, "walk", "code", &file, 1, &call));
  std::vector<std::string> told;
  kdl_checkpoints_observe(
      call,
      [](void* state, const char* temporary) {
        CHECK((temporary == nullptr || fs::exists(temporary)));
        static_cast<std::vector<std::string>*>(state)->emplace_back(temporary ? temporary : "");
      },
      &told);
  const auto write = [&] { return kdl_checkpoints_write(call, file, 1, nullptr, 0, nullptr, 0); };
  kdl::Check(write());
  REQUIRE(told.size() == 2);
  CHECK(told[0].starts_with(".checkpoint-"));
  CHECK(told[1].empty());
  CHECK(folder.files() == 1);
  kdl_checkpoints_free(call);
}

TEST_CASE("Checkpoints: the name of a file is its path in the current folder") {
  using kdl::checkpoints::NameOf;
  CHECK(NameOf("p", "/a") == "p");
  CHECK(NameOf("./b/../p", "/a") == "p");
  CHECK(NameOf("/a/b//p", "/a") == "b/p");
  CHECK(NameOf("/a/../a/p", "/a") == "p");
  CHECK(NameOf("/ab/p", "/a") == "/ab/p");
  CHECK(NameOf("../p", "/a") == "../p");
  CHECK(NameOf("/p", "/") == "p");
  CHECK(NameOf("/../p", "/a") == "/p");
  CHECK(NameOf("", "/a") == ".");
}

}  // namespace
