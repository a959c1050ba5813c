#pragma once

// Compiles KIR text with LLVM, links it with lld, loads it and runs its kernels, without the runtime and
// without passes.

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/before_launch/host_module.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/link_shared.h"
#include "ir/print/printer.h"
#include "ir_text.h"
#include "kdl/kernel_abi.h"
#include "support/io.h"

namespace kdl::codegen {

inline Processor X86Processor() {
  Processor processor;
  processor.arch = "x86-64";
  processor.triple = "x86_64-unknown-linux-gnu";
  processor.level = processor.cpu = "x86-64-v3";
  return processor;
}

/// Returns a processor that has neither FMAs nor conversions of f16.
inline Processor OldProcessor() {
  Processor processor = X86Processor();
  processor.level = processor.cpu = "x86-64-v2";
  processor.has_fma = processor.has_half = false;
  return processor;
}

inline Processor Avx512Processor() {
  Processor processor = X86Processor();
  processor.level = processor.cpu = "x86-64-v4";
  processor.features = "-prefer-256-bit";
  return processor;
}

inline Processor Arm64Processor() {
  Processor processor;
  processor.arch = "aarch64";
  processor.triple = "aarch64-unknown-linux-gnu";
  processor.level = "armv8-a";
  processor.cpu = "generic";
  return processor;
}

/// Runs the program words[0] with these arguments. Its output goes to the file `output`, unless that name is
/// empty. Returns the exit status.
inline int RunProgram(std::vector<std::string> words, const std::string& output = "") {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  }
  pid_t child = 0;
  int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline std::vector<const ir::Function*> KernelsOf(const ir::Module& module) {
  std::vector<const ir::Function*> kernels;
  for (const ir::Function* function : module.functions()) {
    if (function->kind == ir::FunctionKind::Kernel) kernels.push_back(function);
  }
  return kernels;
}

/// Compiles the kernels of a module for the processor of the backend.
inline Result<CompiledModule> CompileKernels(const Backend& backend, const ir::Module& module,
                                             const CompileOptions& options) {
  KernelSource source{&module, KernelsOf(module), &backend.processor()};
  CompileOptions of_kind = options;
  of_kind.kind = "host";
  return CompileKernels(backend, {&source, 1}, of_kind);
}

/// Returns the host's object for the kernels of a module.
inline std::string HostObject(const Backend& backend, std::string_view name, Names& names,
                              CompiledModule& compiled, std::string_view kir_text = "KIR text") {
  CompiledModule* devices[] = {&compiled};
  return CompileHostModule(backend, name, names, devices, {"reference", kir_text});
}

/// Returns the symbols that an object uses but does not define, as llvm-nm prints them.
inline std::string UndefinedSymbols(const std::string& object) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  REQUIRE(folder.ok());
  REQUIRE(WriteFileWhole(folder->path() + "/test.o", object).ok());
  std::string listing = folder->path() + "/symbols";
  REQUIRE(RunProgram({"llvm-nm-19", "--undefined-only", folder->path() + "/test.o"}, listing) == 0);
  return *ReadFile(listing, 1 << 20);
}

/// Links objects into a shared object and loads it.
class SharedObject {
 public:
  explicit SharedObject(const std::vector<std::string>& objects) {
    Result<TemporaryFolder> folder = TemporaryFolder::Make();
    REQUIRE(folder.ok());
    std::string path = folder->path() + "/test.so";
    std::vector<std::string> files;
    for (const std::string& object : objects) {
      files.push_back(folder->path() + "/" + std::to_string(files.size()) + ".o");
      REQUIRE(WriteFileWhole(files.back(), object).ok());
    }
    Status linked = LinkShared(files, path);
    REQUIRE_MESSAGE(linked.ok(), linked.failure().message);
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(handle_, dlerror());
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    if (handle_) dlclose(handle_);
  }

  const kdl_image* const* images(const char* symbol = "kdl_module_images") const {
    auto* images = static_cast<const kdl_image* const*>(dlsym(handle_, symbol));
    REQUIRE_MESSAGE(images, dlerror());
    return images;
  }

 private:
  void* handle_ = nullptr;
};

/// Returns a row-major tensor argument over the test's memory.
inline kdl_tensor TensorOf(void* data, std::vector<int64_t> sizes) {
  kdl_tensor tensor = {};
  tensor.data = data;
  tensor.rank = static_cast<int32_t>(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    tensor.size[d] = sizes[d];
    tensor.stride[d] = stride;
    if (__builtin_mul_overflow(stride, sizes[d], &stride)) stride = 0;  // such sizes are refused
  }
  return tensor;
}

struct Call {
  std::vector<int64_t> dims;
  std::vector<kdl_tensor> tensors;
  std::vector<uint64_t> scalars;
  int64_t core_num = 1;
  bool already_stopped = false;
};

struct Outcome {
  int32_t code = 0;  ///< result of the first core that does not return KDL_DONE
  kdl_trap trap = {};
  bool stopped = false;  ///< the final value of kdl_launch.stop
};

/// Returns the first address in `memory` that is a multiple of 64. The memory must have 64 bytes to spare.
inline char* Aligned(std::vector<char>& memory) {
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64;
}

/// Calls a kernel for each core, in order, until one traps.
inline Outcome RunKernel(const kdl_variant& variant, const Call& call) {
  kdl_launch launch = {};
  launch.stop = call.already_stopped ? 1 : 0;
  std::vector<int64_t> dynamic_counters(static_cast<size_t>(variant.dynamic_counter_count));
  launch.dynamic_counters = dynamic_counters.data();
  kdl_args args = {sizeof(kdl_args), KDL_ABI_VERSION, call.dims.data(), call.tensors.data(),
                   call.scalars.data()};
  std::vector<char> scratch(static_cast<size_t>(variant.scratch_bytes) + 64, 0x5A);
  kdl_core core = {};
  core.core_num = call.core_num;
  std::vector<char> workspace(static_cast<size_t>(variant.footprint_bytes) + 64,
                              static_cast<char>(0xA5));
  core.workspace = Aligned(workspace);
  core.scratch = Aligned(scratch);
  core.launch = &launch;
  Outcome outcome;
  for (core.core_id = 0; core.core_id < call.core_num && outcome.code == 0; ++core.core_id) {
    outcome.code = variant.entry(&args, &core);
  }
  outcome.trap = core.trap;
  outcome.stopped = launch.stop != 0;
  return outcome;
}

/// A compiled and loaded module of loop-level kernels.
class LoadedModule {
 public:
  LoadedModule(std::string text, int opt_level, const Processor& processor = X86Processor())
      : read_(std::move(text)), level_(processor.level) {
    REQUIRE_MESSAGE(read_.module, read_.Errors());
    if (read_.module->name.empty()) read_.module->name = read_.names.Intern("test");
    Result<Backend> backend = Backend::Create(processor, opt_level);
    REQUIRE(backend.ok());
    Result<CompiledModule> compiled = CompileKernels(*backend, *read_.module, {});
    REQUIRE(compiled.ok());
    compiled_ = std::move(*compiled);
    std::string host = HostObject(*backend, read_.module->name.text(), read_.names, compiled_);
    shared_ = std::make_unique<SharedObject>(std::vector<std::string>{compiled_.object, host});
    const kdl_image* image = shared_->images()[0];
    for (int32_t k = 0; k < image->kernel_count; ++k) {
      for (int32_t v = 0; v < image->kernels[k].variant_count; ++v) {
        const kdl_variant& variant = image->kernels[k].variants[v];
        variants_[variant.symbol] = &variant;
      }
    }
  }

  const CompiledModule& compiled() const { return compiled_; }
  const SharedObject& shared() const { return *shared_; }
  const kdl_variant& variant(const std::string& function) const {
    auto found = variants_.find(function + "." + level_);
    REQUIRE_MESSAGE(found != variants_.end(), function);
    return *found->second;
  }
  Outcome LaunchKernel(const std::string& function, const Call& call) const {
    return RunKernel(variant(function), call);
  }

 private:
  ir::ReadText read_;
  std::string level_;
  CompiledModule compiled_;
  std::unique_ptr<SharedObject> shared_;
  std::map<std::string, const kdl_variant*> variants_;
};

}  // namespace kdl::codegen
