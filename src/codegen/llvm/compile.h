#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/llvm/backend.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::codegen {

/// What to make. LLVM's passes are those of the backend's optimization level.
struct CompileOptions {
  bool object = true;
  bool assembly = false;
  bool llvm_ir = false;     ///< after the passes
  std::string prefix = {};  ///< of all symbols; empty: the module's name
};

/// A row of kdl_variant.locations.
struct TrapLocation {
  Name file;
  Name text;
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t code = 0;        ///< a trap code of abi.def
  int32_t dimension = -1;  ///< -1: none
  bool operator==(const TrapLocation&) const = default;
};

/// What the image says about one compiled kernel.
struct KernelCode {
  const ir::Function* kernel = nullptr;
  const ir::TargetFacts* facts = nullptr;  ///< of the processor that it is for
  std::string entry;                       ///< symbol of the kernel_fn
  std::string check;                       ///< symbol of the check_fn; empty: none is needed
  std::string busy_cores;                  ///< symbol of the busy_cores_fn; empty: there is none
  std::vector<std::string> stages;         ///< symbols of what starts each stage's coroutine
  std::string
      resumable;  ///< symbol of what starts the coroutine of a kernel with barriers; else empty
  std::string shared_bytes;   ///< symbol of the shared_bytes_fn; empty: there is none
  int64_t frame_bytes = 0;    ///< of a core, where there are barriers
  int64_t claim_count = 0;    ///< counters of a launch, from which loops take their numbers
  int64_t scratch_bytes = 0;  ///< the coroutines' frames too, once they are split
  std::vector<TrapLocation> locations;
  /// The kernel as the interpreter runs it: its name in the images' KIR text. Empty: a level below has the same.
  std::string reference;
};

/// A module's kernels at loop level, as one processor is to run them. Other functions are passed over.
struct KernelSource {
  const ir::Module* module;
  const ir::TargetFacts* facts;
};

struct CompiledModule {
  std::string object;
  std::string assembly;
  std::string llvm_ir;
  std::vector<KernelCode> kernels;  ///< source by source, in the modules' order
};

/// Compiles the kernels of all sources, whose processors have the backend's architecture, into one object. Symbols are
/// hidden and hold the prefix and the processor, so objects of several modules link together.
Result<CompiledModule> CompileKernels(const Backend& backend, std::span<const KernelSource> sources,
                                      const CompileOptions& options);

}  // namespace kdl::codegen
