#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/common/compiled.h"
#include "codegen/llvm/abi.h"
#include "codegen/llvm/debugging.h"
#include "codegen/llvm/scratch.h"
#include "ir/module.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "support/names.h"

namespace kdl::codegen {

/// A tensor or a buffer: element (i, j, …) is i * strides[0] + j * strides[1] + … elements after the base.
struct Memory {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> strides;
  llvm::MDNode* alias_scope = nullptr;
  llvm::MDNode* noalias = nullptr;  ///< alias metadata for accesses; null if nothing is known
  int64_t panel = 0;  ///< elements in a row of a swizzled panel; 0 if the layout has no panels
};

/// The ring buffer of a pipe, in the core's workspace. `base` is the start of the ring. `slots` describes the
/// layout and the aliasing of each slot.
struct RingMemory {
  ir::Ring ring;
  llvm::Value* base = nullptr;
  Memory slots;
};

/// The coroutine that a stage is compiled to. `state` is an i32 that the kernel reads after each suspension.
/// While the stage waits, `state` is 1 plus the location of the waiting op. Otherwise `state` is an Ending.
struct Coroutine {
  const ir::Op* stage = nullptr;  ///< null if the coroutine runs a whole kernel with barriers
  llvm::Value* state = nullptr;
  llvm::BasicBlock* end = nullptr;  ///< block that returns from the coroutine
};

/// How a kernel, or one of its stages, ends.
enum class Ending : int32_t { Done = 0, Trapped = -1, Stopped = -2 };

/// The state of a dynamically scheduled loop. `counter` is the counter that all cores of the launch share.
/// The core's stack has `before`, the number of iterations of the loop's earlier runs, and `taken`, the
/// iteration that the core has claimed.
struct DynamicState {
  llvm::Value* counter = nullptr;
  llvm::Value* before = nullptr;
  llvm::Value* taken = nullptr;
};

/// Size of the header of a core's frame. Buffers that live across a barrier follow it.
inline constexpr int64_t kFrameHeaderBytes = 64;

/// The block through which all traps leave a kernel. Each trap adds its values to the phi nodes.
struct TrapExit {
  llvm::BasicBlock* block = nullptr;
  llvm::PHINode* code = nullptr;
  llvm::PHINode* location = nullptr;
  llvm::PHINode* index = nullptr;
  llvm::PHINode* bound = nullptr;
};

/// The state while the code for one kernel, or for its launch check, is emitted. This class is for cores that
/// are a single thread. Other emitters derive from it.
struct Emitter {
  llvm::Module& module;
  const AbiTypes& abi;
  const ir::Function& kernel;
  KernelCode& code;
  Names& names;
  llvm::IRBuilder<> builder;
  llvm::Function* function = nullptr;
  llvm::Value* args = nullptr;  ///< const kdl_args*
  llvm::Value* trap = nullptr;  ///< address to which the kdl_trap is written
  llvm::Value* core_id = nullptr;
  llvm::Value* core_num = nullptr;
  llvm::Value* stop = nullptr;  ///< address of kdl_launch.stop; null if loops do not poll it
  llvm::Value* dynamic_counters = nullptr;  ///< address of kdl_launch.dynamic_counters, if used
  llvm::Value* frame = nullptr;             ///< kdl_core.frame, if the kernel has barriers
  llvm::Value* core_slot = nullptr;  ///< address in `frame` of the pointer to the current kdl_core
  llvm::Value* scratch = nullptr;    ///< the core's scratch memory; null if its address may change
  llvm::BasicBlock* stopped = nullptr;  ///< leaves the kernel early; the first poll creates it
  TrapExit trap_exit;
  ScratchPlan scratch_plan;
  bool stores_past_caches = false;
  Debugging debugging;
  int loop_depth = 0;
  llvm::BasicBlock* iteration = nullptr;  ///< start of the innermost loop's body (see AddIndex)
  std::optional<Coroutine> coroutine;     ///< set while a coroutine is emitted
  std::vector<llvm::Value*> stages;       ///< handles of the kernel's coroutines, in order
  std::unordered_map<Name, llvm::Value*> dims;
  std::unordered_map<const ir::Value*, llvm::Value*> scalars;
  std::unordered_map<const ir::Value*, Memory> memories;
  std::unordered_map<const ir::Value*, RingMemory> rings;
  std::unordered_map<const ir::Op*, DynamicState> dynamic_states;

  Emitter(llvm::Module& m, const AbiTypes& types, const ir::Function& k, KernelCode& c, Names& n)
      : module(m), abi(types), kernel(k), code(c), names(n), builder(m.getContext()) {}
  virtual ~Emitter() = default;
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  /// Emits an op whose implementation differs if a core is not a single thread. Returns false for other ops.
  virtual bool EmitOwn(ir::Op*) { return false; }
  llvm::LLVMContext& context() const { return module.getContext(); }
  llvm::BasicBlock* NewBlock(const char* name) const;
  /// Returns the value of a scalar or vector operand.
  llvm::Value* Get(const ir::Value* value) const;
  void Set(const ir::Value* value, llvm::Value* llvm_value) { scalars[value] = llvm_value; }
};

/// Returns the type of a scalar in a register: i1 for bool, an integer with the same bits for floats below
/// f32, and the scalar's own type otherwise. In memory, bool is i8. Vectors have lanes of these types.
llvm::Type* RegisterType(llvm::LLVMContext& context, Scalar scalar);
llvm::Type* RegisterType(llvm::LLVMContext& context, ir::Type type);
llvm::Type* MemoryType(llvm::LLVMContext& context, Scalar scalar);
/// Returns a vector of `scalar` with as many lanes as `like`, or `scalar` if `like` is not a vector.
llvm::Type* WithLanesOf(const llvm::Value* like, llvm::Type* scalar);

/// Emits the instructions of one op. Each op that remains after lowering to loops has a specialization; if
/// one is missing, linking fails.
template <ir::OpKind kind>
void Emit(Emitter& emitter, ir::Op* op);
#define KDL_OP_SHAPE(kind, ...) \
  template <>                   \
  void Emit<ir::OpKind::kind>(Emitter & emitter, ir::Op * op);
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
#define KDL_EMIT(kind, function)                                \
  template <>                                                   \
  void Emit<ir::OpKind::kind>(Emitter & emitter, ir::Op * op) { \
    (function)(emitter, op);                                    \
  }

void EmitOp(Emitter& emitter, ir::Op* op);
/// Emits nothing, for ops whose work is done once for the whole kernel.
inline void EmitNothing(Emitter&, ir::Op*) {}
/// Emits a region's ops, without its terminator, at the builder's insertion point.
void EmitRegion(Emitter& emitter, const ir::Region* region);

// ops/arithmetic.cpp
/// Emit floor(a / b) and a - b * floor(a / b), for b != 0.
llvm::Value* EmitFloorDivide(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);
llvm::Value* EmitFloorModulo(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);

// ops/casts.cpp
llvm::Value* WidenNarrowFloat(Emitter& emitter, Scalar from,
                              llvm::Value* bits);  ///< returns an f32
llvm::Value* EmitCast(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to);

// ops/vectors.cpp
/// Returns a vector of `lanes` with `value` in each lane, or `value` itself if it is a vector or `lanes` is 1.
llvm::Value* Splat(Emitter& emitter, llvm::Value* value, int64_t lanes);

// ops/print.cpp
void EmitPrint(Emitter& emitter, ir::Op* op);

// ops/atomics.cpp
/// Emits an update of an element that other threads may update at the same time.
void EmitAtomicUpdate(Emitter& emitter, ir::Op* op);

// ops/control.cpp
/// Emits one iteration of a loop. If `polls` is true, the iteration first checks whether another core has
/// trapped.
void EmitLoopBody(Emitter& emitter, const ir::Region* region, bool polls);

// ops/dynamic_counters.cpp
/// Returns the number of counters that the dynamically scheduled loops of a kernel use.
int64_t CountDynamicCounters(const ir::Function& kernel);
/// Fills `dynamic_states` for the dynamically scheduled loops that will be emitted.
void PrepareDynamicCounters(Emitter& emitter);
void EmitDynamicLoop(Emitter& emitter, ir::Op* op);

// regions.cpp
/// The kinds of memory areas whose overlaps are analyzed.
enum class RegionKind : uint8_t { Tensor, LaunchTensor, Buffer, Ring };
struct Region {
  RegionKind kind;
  Memory* memory;
  bool read_only = false;
  const BufferPlace* place = nullptr;  ///< null if the buffer overlaps no other buffer
  llvm::MDNode* scope = nullptr;
};
/// Tells LLVM which areas never overlap. An `out` or `inout` tensor overlaps no other parameter. Tensors,
/// scratch and rings are separate. Buffers overlap only where the scratch plan gives them the same memory.
/// LLVM analyzes the stack itself.
void SetAliasScopes(Emitter& emitter, std::vector<Region>& regions);
/// Returns row-major strides in elements. All extents must be constants.
std::vector<llvm::Value*> ConstantStrides(Emitter& emitter, ir::Type type);
/// Fills `memories` for constant tables, which are in LLVM's address space `space`, and for views of tensors.
void PrepareTablesAndViews(Emitter& emitter, unsigned space);
/// Fills `memories` and `rings`: the addresses and strides of tensors, the addresses of the buffers in the
/// code that will be emitted, and all alias scopes.
void PrepareMemories(Emitter& emitter);
/// Visits the ops that will be emitted: those of the current stage, or those of the kernel that are in no stage.
void WalkEmitted(const Emitter& emitter, const std::function<void(const ir::Op*)>& visit);
/// Allocates memory on the core's stack at the function's entry, with unspecified contents.
llvm::AllocaInst* StackPlace(Emitter& emitter, llvm::Type* type, std::string_view name);
/// Loads field `field` of an ABI struct, which no core may write. The result has the field's type.
llvm::Value* LoadField(Emitter& emitter, llvm::StructType* type, llvm::Value* base, unsigned field,
                       const char* name);
/// Loads an address from kdl_core, with the alignment that the ABI guarantees.
llvm::Value* LoadAligned(Emitter& emitter, llvm::Value* core, unsigned field, const char* name);
/// Computes the addresses of the rings in the current call's workspace.
void FindRings(Emitter& emitter);
llvm::Value* FieldAddress(Emitter& emitter, llvm::StructType* type, llvm::Value* base,
                          unsigned field);

// ops/memory.cpp
/// Ends the lifetimes of the stack buffers that the region has created.
void EndBuffers(Emitter& emitter, const ir::Region* region);
/// Returns the address of an access's element, which must be in bounds.
llvm::Value* AccessAddress(Emitter& emitter, const ir::Op* op, const ir::Value* tensor,
                           std::span<ir::Value* const> index);
/// Returns the address of an element of a buffer.
llvm::Value* PlaceAddress(Emitter& emitter, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// Emits code that computes a size as an i64 from the kernel's dimensions.
llvm::Value* EmitSize(Emitter& emitter, Size size);

// ops/traps.cpp
/// Emits a check: if `ok` is true, the core continues; otherwise it stops with the trap at `location`.
void TrapUnless(Emitter& emitter, llvm::Value* ok, const TrapLocation& location, llvm::Value* index,
                llvm::Value* bound);
/// Sets `trap` to the address where the current call writes a trap.
void FindTrap(Emitter& emitter);
/// Emits the block through which all traps leave, if the kernel has traps.
void FinishTraps(Emitter& emitter);
/// Emits a check that leaves the kernel if another core of the launch has trapped.
void PollStop(Emitter& emitter);
/// Emits the end of the kernel, or of the stage that is being emitted.
void Leave(Emitter& emitter, llvm::IRBuilder<>& builder, Ending ending);
/// Stores the code and location of a trap, then stops the core and the launch. The other fields of the trap
/// must already have been written.
void StoreTrap(Emitter& emitter, llvm::Value* code, llvm::Value* location);

// entry.cpp
void EmitKernel(Emitter& emitter);
/// Emits the start of a kernel or stage, which loads the core's id, sizes, scalars and addresses.
void EmitPrologue(Emitter& emitter);

// coroutines/barriers.cpp
bool HasBarriers(const ir::Function& kernel);
/// Emits the kernel's function, which starts a coroutine and resumes it. The coroutine runs the kernel's body.
void EmitResumable(Emitter& emitter);
/// Returns the kdl_core of the current call.
llvm::Value* PresentCore(Emitter& emitter);

// before_launch/launch_tensors.cpp
struct LaunchTensorMemory {
  const ir::Value* tensor;
  Memory memory;
};
/// Returns whether the kernel has tensors that all cores of a launch share.
bool HasLaunchTensors(const ir::Function& kernel);
/// Returns the memories of the tensors that all cores share. They are placed one after another, starting at
/// `shared`.
std::vector<LaunchTensorMemory> LaunchTensors(Emitter& emitter, llvm::Value* shared);
/// Emits the shared_bytes_fn if the kernel has launch tensors. Otherwise returns null.
llvm::Function* EmitSharedBytes(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// ops/pipes.cpp
void EmptyRings(Emitter& emitter);

// coroutines/stages.cpp
/// Declares ptr SYMBOL(const kdl_args* args, kdl_core* core), a coroutine that returns its handle.
void DeclareCoroutine(Emitter& emitter, const std::string& symbol);
/// Emits the allocation of the coroutine's frame, at an offset from `memory` that is determined later, and
/// the first suspension.
void BeginCoroutine(Emitter& emitter, const ir::Op* stage, llvm::Value* memory);
/// Loads the state that the coroutine has stored.
llvm::Value* CoroutineState(Emitter& emitter, llvm::Value* handle);
/// Suspends the coroutine. It continues at `again` when it is resumed.
void EmitSuspend(Emitter& emitter, llvm::BasicBlock* again);
/// Resumes the stages that the kernel has started, one after another, until all have ended.
void RunStages(Emitter& emitter);

/// Loads the sizes from emitter.args.
void ReadDims(Emitter& emitter);

// before_launch/busy_cores.cpp
/// Emits code that evaluates a size. `overflow` becomes true if an operation overflows 64 bits.
llvm::Value* EmitSaturating(Emitter& emitter, Size size, llvm::Value*& overflow);
/// Emits a sum, difference or product together with its overflow flag.
llvm::Value* WithOverflow(Emitter& emitter, SizeKind kind, llvm::Value* lhs, llvm::Value* rhs);
/// Emits the busy_cores_fn if the kernel has `busy_cores` ops. Otherwise returns null.
llvm::Function* EmitBusyCores(llvm::Module& module, const AbiTypes& abi, Names& names,
                              KernelCode& code);

// before_launch/launch_check.cpp
/// Emits the check_fn if launches need one. Otherwise returns null. The traps of the check are added to the
/// kernel's locations.
llvm::Function* EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// before_launch/host_module.cpp
/// Declares a function for the emitter's kernel in the module of host code, such as
/// `scale.f32.x86-64-v3.check`.
llvm::Function* DeclareHostFunction(Emitter& emitter, llvm::FunctionType* type,
                                    std::string_view what);

}  // namespace kdl::codegen
