#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/source_variables.h"
#include "ir/module.h"
#include "ir/op.h"

namespace kdl::codegen {

/// Options that say what a code generator should generate. If the generator is given a `Backend`, it uses the
/// optimization level of the `Backend` instead of `opt_level`.
struct CompileOptions {
  bool object = true;
  bool assembly = false;
  bool llvm_ir = false;              ///< also return LLVM IR, after LLVM's passes
  std::string prefix = {};           ///< prefix of all symbols; if empty, the module's name
  int opt_level = 2;                 ///< 0 to 3; used by generators that create their own `Backend`
  std::string kind = {};             ///< kind of device that the code is for
  bool lines = false;                ///< include debug information (PTX: source lines)
  bool observes_blocks = false;      ///< processors: tell `kdl_launch.block` about each block
  bool sanitizes_addresses = false;  ///< processors: add checks for AddressSanitizer
  /// The variables of the source; null if they are unknown, as for KIR text.
  const SourceVariables* variables = nullptr;
  std::string folder = {};  ///< the directory to which the paths of sources are relative
  /// The path of a script that gdb loads with the debug information; empty: none.
  std::string gdb_script = {};
};

/// A row of `kdl_variant.locations`: a source location that a trap or a print refers to.
struct TrapLocation {
  Name file;
  Name text;
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t code = 0;        ///< a trap code of abi.def
  int32_t dimension = -1;  ///< dimension of the tensor that the trap is about, or -1
  /// The call of the inlined fn that contains the location; null if it is in the kernel, and for prints.
  const ir::CallSite* call = nullptr;
  int32_t caller = 0;  ///< 1 + the index of the row of that call; LocationIndex sets it
  bool operator==(const TrapLocation&) const = default;
};

/// The LLVM intrinsics for a matrix instruction (ir/matrix_instruction.h) that the processor has. `intrinsic`
/// is called as `NAME.BITS(accumulators, a, b)`, where BITS is the size of the accumulators. If the
/// instruction multiplies matrices, `intrinsic` is called as `NAME(a, b, accumulators)`. If sums are added to
/// the accumulators separately, `sums` names the intrinsics with the operands (a, b) that return 128, 256 and
/// 512 bits of sums.
struct StepInstruction {
  std::string_view instruction;
  int depth;  ///< number of terms that one instruction multiplies and adds
  std::string_view intrinsic;
  std::array<std::string_view, 3> sums = {};
  bool of_types = false;  ///< whether the intrinsic is overloaded on its types instead of BITS
  /// For instructions that also multiply tiles: the intrinsic to use if the first factor contains the rows of
  /// the result, and the one to use if it contains the columns.
  std::array<std::string_view, 2> tiles = {};
  Scalar a = Scalar::Bool;  ///< element type of the first factor
  /// The types of the factors that the intrinsic accepts. If a factor consists of bytes of the opposite
  /// signedness, 128 is added to them.
  std::array<Scalar, 2> takes = {};
  int taken = 0;  ///< number of terms in each call; an instruction may need several calls
  std::string_view scalable = {};  ///< intrinsic for scalable vectors of more than 128 bits

  bool operator==(const StepInstruction&) const = default;
};

/// The properties of one compiled kernel, which the image records.
struct KernelCode {
  const ir::Function* kernel = nullptr;
  std::string level;               ///< level of the processor, such as `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of `kdl_variant::required_features`
  bool has_fma = true;             ///< whether the processor has fma
  bool has_half = true;
  std::string entry;  ///< symbol of the kernel's function
  /// The symbols of the functions that start the coroutines of the stages.
  std::vector<std::string> stages;
  /// The symbol that starts the coroutine of a kernel with barriers. Empty if the kernel has no barriers.
  std::string resumable;
  int64_t frame_bytes = 0;  ///< size of a core's coroutine frame, if the kernel has barriers
  /// The number of counters that a launch needs for dynamic scheduling.
  int64_t dynamic_counter_count = 0;
  /// The size of a core's scratch memory in bytes. After coroutines have been split, it includes their
  /// frames.
  int64_t scratch_bytes = 0;
  std::vector<TrapLocation> locations;
  /// The name of the kernel in the image's KIR text, which the interpreter runs. Empty if the text already
  /// has the same kernel for a lower processor level.
  std::string reference;
  std::vector<StepInstruction> steps;  ///< matrix instructions of the processor
  uint64_t reference_features = 0;     ///< features that the interpreted kernel requires
};

TrapLocation LocationOf(const ir::Op* op, int32_t code);
/// Returns the index of a location in the kernel's table. Adds the location, and those of the calls through which
/// it was inlined, if the table does not contain them.
int64_t LocationIndex(KernelCode& code, TrapLocation location);

/// Returns the number that the ABI assigns to an element type.
int64_t ElementCode(Scalar scalar);

/// The code for devices of one kind and one architecture.
struct CompiledModule {
  std::string kind;  ///< kind of device that loads the code, such as `host`
  std::string arch;
  std::string payload;  ///< what the device loads; if empty, `object` contains the entries
  /// Whether images contain the payload as a packed text, which its device unpacks (kdl/packed_text.hpp).
  bool packs_payload = false;
  /// The length of the text at the start of the payload, if machine code follows it.
  size_t text_bytes = std::string::npos;
  std::string object;  ///< an object file for the host's linker; may be empty
  std::string assembly;
  std::string llvm_ir;
  std::vector<KernelCode> kernels;  ///< grouped by source, in the order of the sources
};

}  // namespace kdl::codegen
