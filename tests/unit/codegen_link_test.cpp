#include "codegen/llvm/link_shared.h"

#include <doctest/doctest.h>

#include <llvm/Support/CommandLine.h>

#include "codegen_run.h"

namespace kdl::codegen {

namespace {

constexpr std::string_view kKernel = R"(module "kernels"

kernel @nothing dims(%N) {export} (%x: tensor<f32,[N]> in) {
  return
}
)";

/// Returns the value of one of LLVM's options.
bool IsSet(llvm::StringRef name) {
  return static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions().find(name)->second)
      ->getValue();
}

Status LinkBytes(const std::string& bytes, const std::string& folder) {
  REQUIRE(WriteFileWhole(folder + "/kernels.o", bytes).ok());
  return LinkShared({folder + "/kernels.o"}, folder + "/kernels.so");
}

}  // namespace

TEST_CASE("what cannot be linked is reported, and then the next objects are linked") {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  Status wrong = LinkBytes("no object", folder->path());
  REQUIRE(!wrong.ok());
  CHECK(wrong.failure().message.starts_with("cannot link kernels: ld.lld: error: "));
  CHECK(wrong.failure().message.find("/kernels.o") != std::string::npos);
  Status missing = LinkShared({"/nowhere/kernels.o"}, folder->path() + "/kernels.so");
  REQUIRE(!missing.ok());
  CHECK(missing.failure().message.ends_with("No such file or directory"));
  ir::ReadText text{std::string(kKernel)};
  Result<Backend> backend = Backend::Create(X86Processor(), 2);
  REQUIRE(backend.ok());
  Result<CompiledModule> compiled = CompileKernels(*backend, *text.module, {});
  REQUIRE(compiled.ok());
  CHECK(LinkBytes(compiled->object, folder->path()).ok());
  CHECK(!LinkShared({folder->path() + "/kernels.o"}, "/nowhere/kernels.so").ok());
  CHECK(LinkBytes(compiled->object, folder->path()).ok());
}

TEST_CASE("a full disk is reported") {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  ir::ReadText text{std::string(kKernel)};
  Result<Backend> backend = Backend::Create(X86Processor(), 2);
  REQUIRE(backend.ok());
  Result<CompiledModule> compiled = CompileKernels(*backend, *text.module, {});
  REQUIRE(compiled.ok());
  REQUIRE(LinkBytes(compiled->object, folder->path()).ok());
  pid_t child = fork();  // after such a failure, a process cannot link again
  if (child == 0) {
    Status full = LinkShared({folder->path() + "/kernels.o"}, "/dev/full");
    bool told = !full.ok() && full.failure().message.ends_with("No space left on device");
    bool again = LinkShared({folder->path() + "/kernels.o"}, folder->path() + "/kernels.so").ok();
    _exit(told && !again ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("after lld has reset the options of LLVM, code is generated with the same ones") {
  Result<Backend> backend = Backend::Create(X86Processor(), 2);
  REQUIRE(backend.ok());
  REQUIRE(IsSet("nvptx-short-ptr"));
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  CHECK(!LinkBytes("no object", folder->path()).ok());
  CHECK(IsSet("nvptx-short-ptr"));
  CHECK(IsSet("disable-x86-domain-reassignment"));
}

}  // namespace kdl::codegen
