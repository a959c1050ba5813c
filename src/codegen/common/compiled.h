#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"

namespace kdl::codegen {

/// What to generate. If a Backend is given, it determines the optimization level of LLVM's passes.
struct CompileOptions {
  bool object = true;
  bool assembly = false;
  bool llvm_ir = false;     ///< LLVM IR after LLVM's passes
  std::string prefix = {};  ///< prefix of all symbols; empty: the module's name
  int opt_level = 2;        ///< 0 to 3, for generators that create their own Backend
  std::string kind = {};    ///< kind of the devices that the code is for
  bool lines = false;       ///< PTX: include the lines of the source
};

/// A row of kdl_variant.locations.
struct TrapLocation {
  Name file;
  Name text;
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t code = 0;        ///< a trap code of abi.def
  int32_t dimension = -1;  ///< -1 if there is none
  bool operator==(const TrapLocation&) const = default;
};

/// The LLVM intrinsics for a matrix instruction (ir/matrix_instruction.h) that the processor has.
/// `intrinsic` is called as `NAME.BITS(accumulators, a, b)`, where BITS is the size of the accumulators. If
/// the instruction multiplies matrices, it is called as `NAME(a, b, accumulators)`. If sums are added to the
/// accumulators separately, `sums` names the intrinsics of (a, b) that return 128, 256 and 512 bits of sums.
struct StepInstruction {
  std::string_view instruction;
  int depth;  ///< terms that one instruction multiplies and adds
  std::string_view intrinsic;
  std::array<std::string_view, 3> sums = {};
  bool of_types = false;  ///< the intrinsic is overloaded on its types, instead of BITS
  /// For instructions that also multiply tiles: the intrinsic if the rows are the first factor, and the
  /// intrinsic if the columns are.
  std::array<std::string_view, 2> tiles = {};
  Scalar a = Scalar::Bool;  ///< element type of the first factor
  /// The factor types of the intrinsic. Bytes of the other signedness are converted by adding 128.
  std::array<Scalar, 2> takes = {};
  int taken = 0;                   ///< terms for each call of the intrinsic, which may be repeated
  std::string_view scalable = {};  ///< intrinsic for scalable vectors of more than 128 bits

  bool operator==(const StepInstruction&) const = default;
};

/// What the image states about one compiled kernel.
struct KernelCode {
  const ir::Function* kernel = nullptr;
  std::string level;               ///< level of the processor: `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  bool has_fma = true;             ///< whether the processor has fma
  bool has_half = true;
  std::string entry;                ///< symbol of the kernel_fn
  std::vector<std::string> stages;  ///< symbols of the functions that start each stage's coroutine
  std::string
      resumable;  ///< symbol that starts the coroutine of a kernel with barriers; empty if it has none
  int64_t frame_bytes = 0;  ///< size of a core's coroutine frame, if there are barriers
  int64_t dynamic_counter_count =
      0;                      ///< number of counters that a launch needs for dynamic scheduling
  int64_t scratch_bytes = 0;  ///< includes coroutine frames after coroutines have been split
  std::vector<TrapLocation> locations;
  /// The kernel's name in the image's KIR text, as the interpreter runs it. Empty if the text has the same
  /// kernel for a lower level.
  std::string reference;
  std::vector<StepInstruction> steps;  ///< matrix instructions of the processor
  uint64_t reference_features = 0;     ///< features that the interpreted kernel requires
};

TrapLocation LocationOf(const ir::Op* op, int32_t code);
/// Returns the index of a location in the kernel's table, and adds it if needed.
int64_t LocationIndex(KernelCode& code, const TrapLocation& location);

/// Returns the ABI's number for an element type.
int64_t ElementCode(Scalar scalar);

/// The code for devices of one kind and one architecture.
struct CompiledModule {
  std::string kind;  ///< kind of the image, by which devices ask for it: `host`
  std::string arch;
  std::string payload;  ///< what the device loads; if empty, `object` has the entries
  std::string object;   ///< for the host's linker; may be empty
  std::string assembly;
  std::string llvm_ir;
  std::vector<KernelCode> kernels;  ///< grouped by source, in the order of the sources
};

}  // namespace kdl::codegen
