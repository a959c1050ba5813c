#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"

namespace kdl::codegen {

/// What to make. LLVM's passes are those of the backend's optimization level.
struct CompileOptions {
  bool object = true;
  bool assembly = false;
  bool llvm_ir = false;     ///< after the passes
  std::string prefix = {};  ///< of all symbols; empty: the module's name
  int opt_level = 2;        ///< 0 to 3, of backends that are made for it
  std::string kind = {};    ///< of the devices that the code is for
  bool lines = false;       ///< in PTX: those of the source
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

/// Steps of a unit (ir/matrix_instruction.h) that are one instruction: of LLVM the intrinsic `NAME.BITS`, BITS those of the
/// accumulators, of (accumulators, a, b); of a unit of matrices the intrinsic itself, of (a, b, accumulators); or, where an
/// addition of its own follows, those of (a, b) that give 128, 256 and 512 bits of sums.
struct StepInstruction {
  std::string_view instruction;
  int depth;  ///< of the unit
  std::string_view intrinsic;
  std::array<std::string_view, 3> sums = {};
  bool of_types =
      false;  ///< the intrinsic is one for all numbers of bits, of the types that it takes
  /// Where it is one for tiles, too: of those of a unit whose first factor has the rows, and the columns.
  std::array<std::string_view, 2> tiles = {};
  Scalar a = Scalar::Bool;  ///< the first factor's
  /// The intrinsic's factors: bytes of another sign are moved there.
  std::array<Scalar, 2> takes = {};
  int taken = 0;  ///< terms that the intrinsic takes: a step is as many as it needs
  std::string_view scalable =
      {};  ///< of vectors of more than 128 bits, where they are scalable ones

  bool operator==(const StepInstruction&) const = default;
};

/// What the image says about one compiled kernel.
struct KernelCode {
  const ir::Function* kernel = nullptr;
  std::string level;               ///< of the processor that it is for: `x86-64-v3`
  uint64_t required_features = 0;  ///< bits of kdl_variant::required_features
  bool has_fma = true;             ///< as the processor's
  bool has_half = true;
  std::string entry;                ///< symbol of the kernel_fn
  std::vector<std::string> stages;  ///< symbols of what starts each stage's coroutine
  std::string
      resumable;  ///< symbol of what starts the coroutine of a kernel with barriers; else empty
  int64_t frame_bytes = 0;            ///< of a core, where there are barriers
  int64_t dynamic_counter_count = 0;  ///< counters of a launch, from which loops take their numbers
  int64_t scratch_bytes = 0;          ///< the coroutines' frames too, once they are split
  std::vector<TrapLocation> locations;
  /// The kernel as the interpreter runs it: its name in the images' KIR text. Empty: a level below has the same.
  std::string reference;
  std::vector<StepInstruction> steps;  ///< of the processor
  uint64_t reference_features = 0;     ///< that it asks for
};

TrapLocation LocationOf(const ir::Op* op, int32_t code);
/// The number of a location in the kernel's table.
int64_t LocationIndex(KernelCode& code, const TrapLocation& location);

/// The number of an element kind in the ABI.
int64_t ElementCode(Scalar scalar);

/// The code for devices of one kind and one architecture.
struct CompiledModule {
  std::string kind;  ///< of the image, as a device asks for it: `host`
  std::string arch;
  std::string payload;  ///< what the device loads; empty: entries are symbols of the object
  std::string object;   ///< for the host's linker; empty: there is none
  std::string assembly;
  std::string llvm_ir;
  std::vector<KernelCode> kernels;  ///< source by source, in the sources' order
};

}  // namespace kdl::codegen
