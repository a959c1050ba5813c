#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/common/compiled.h"
#include "codegen/llvm/abi.h"
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
  llvm::MDNode* noalias = nullptr;  ///< null if nothing is known
  int64_t panel = 0;                ///< elements in a row of a panel; 0 if there are no panels
};

/// A pipe's ring in the core's workspace. `slots` describes the layout and the aliasing of a slot; its
/// `base` is the start of the ring.
struct RingMemory {
  ir::Ring ring;
  llvm::Value* base = nullptr;
  Memory slots;
};

/// The coroutine that a stage is compiled to. `state` is an i32 that the kernel reads after each suspension.
/// While the stage waits, it is 1 + the location of the op at which the stage waits, otherwise an Ending.
struct Coroutine {
  const ir::Op* stage = nullptr;  ///< null for a kernel with barriers
  llvm::Value* state = nullptr;
  llvm::BasicBlock* end = nullptr;  ///< block that returns from the coroutine
};

/// How a kernel, or one of its stages, ends.
enum class Ending : int32_t { Done = 0, Trapped = -1, Stopped = -2 };

/// The state of a dynamically scheduled loop. `counter` is the launch's counter. On the core's stack are `before`,
/// the total number of iterations of the loop's earlier runs, and `taken`, the number that the core has claimed.
struct DynamicState {
  llvm::Value* counter = nullptr;
  llvm::Value* before = nullptr;
  llvm::Value* taken = nullptr;
};

/// Bytes at the start of a core's frame, before the buffers that live across a barrier.
inline constexpr int64_t kFrameHeaderBytes = 64;

/// The block through which all traps leave a kernel. Each trap adds its values to the phi nodes.
struct TrapExit {
  llvm::BasicBlock* block = nullptr;
  llvm::PHINode* code = nullptr;
  llvm::PHINode* location = nullptr;
  llvm::PHINode* index = nullptr;
  llvm::PHINode* bound = nullptr;
};

/// The state while one kernel, or its launch check, is emitted; the functions below do the work. This class
/// is for cores that are a single thread; other emitters derive from it.
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
  llvm::Value* stop = nullptr;  ///< address of kdl_launch.stop; null: no polling
  llvm::Value* dynamic_counters =
      nullptr;  ///< kdl_launch.dynamic_counters, if any loop is dynamically scheduled
  llvm::Value* frame = nullptr;         ///< kdl_core.frame, if the kernel has barriers
  llvm::Value* core_slot = nullptr;     ///< the slot in `frame` with the current kdl_core
  llvm::Value* scratch = nullptr;       ///< the core's scratch; null if it may change between calls
  llvm::BasicBlock* stopped = nullptr;  ///< block that leaves early; made by the first poll
  TrapExit trap_exit;
  ScratchPlan scratch_plan;
  bool stores_past_caches = false;
  class SourceLines* lines = nullptr;  ///< null if no line table is wanted
  int loop_depth = 0;
  llvm::BasicBlock* iteration = nullptr;  ///< block where iterations begin, if addresses are split
  std::optional<Coroutine> coroutine;     ///< set while a stage is emitted
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
/// Returns `scalar`, or a vector of it with as many lanes as `like` if that is a vector.
llvm::Type* WithLanesOf(const llvm::Value* like, llvm::Type* scalar);

/// Emits the instructions of one op. Each op of loop level has a specialization; without one, linking fails.
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
/// Emits one iteration of a loop. If `polls` is set, the iteration first checks whether another core has trapped.
void EmitLoopBody(Emitter& emitter, const ir::Region* region, bool polls);

// ops/dynamic_counters.cpp
/// Returns the number of counters that the dynamically scheduled loops of a kernel use.
int64_t CountDynamicCounters(const ir::Function& kernel);
/// Fills `dynamic_states` for the dynamically scheduled loops that will be emitted.
void PrepareDynamicCounters(Emitter& emitter);
void EmitDynamicLoop(Emitter& emitter, ir::Op* op);

// regions.cpp
/// A memory area with a fixed address, used to determine which areas may overlap.
enum class RegionKind : uint8_t { Tensor, LaunchTensor, Buffer, Ring };
struct Region {
  RegionKind kind;
  Memory* memory;
  bool read_only = false;
  const BufferPlace* place = nullptr;  ///< the place of a buffer; null: overlaps no other buffer
  llvm::MDNode* scope = nullptr;
};
/// Tells LLVM which areas never overlap. An `out` or `inout` tensor overlaps no other parameter. Tensors,
/// scratch and rings are separate, and buffers overlap only as planned. LLVM analyses the stack itself.
void SetAliasScopes(Emitter& emitter, std::vector<Region>& regions);
/// Returns row-major strides in elements. All extents must be constants.
std::vector<llvm::Value*> ConstantStrides(Emitter& emitter, ir::Type type);
/// Sets up the `memories` of tables, which are in LLVM's address space `space`, and of views.
void PrepareTablesAndViews(Emitter& emitter, unsigned space);
/// Sets up `memories` and `rings`: addresses and strides of tensors, addresses of the buffers in the blocks
/// that will be emitted, and their alias scopes.
void PrepareMemories(Emitter& emitter);
/// Visits the ops that will be emitted: those of the current stage, or those of the kernel that are in no stage.
void WalkEmitted(const Emitter& emitter, const std::function<void(const ir::Op*)>& visit);
/// Allocates memory on the core's stack at the function's entry, with unspecified contents.
llvm::AllocaInst* StackPlace(Emitter& emitter, llvm::Type* type, std::string_view name);
/// Loads field `field` of an ABI struct that no core writes. The result has the field's type.
llvm::Value* LoadField(Emitter& emitter, llvm::StructType* type, llvm::Value* base, unsigned field,
                       const char* name);
/// Loads an address from kdl_core, with the alignment that the ABI guarantees.
llvm::Value* LoadAligned(Emitter& emitter, llvm::Value* core, unsigned field, const char* name);
/// Computes the addresses of the rings in the current call's workspace.
void FindRings(Emitter& emitter);
llvm::Value* FieldAddress(Emitter& emitter, llvm::StructType* type, llvm::Value* base,
                          unsigned field);

// ops/memory.cpp
/// Ends the lifetimes of the buffers on the stack that the region has made.
void EndBuffers(Emitter& emitter, const ir::Region* region);
/// Returns the address of an access's element, which must be in bounds.
llvm::Value* AccessAddress(Emitter& emitter, const ir::Op* op, const ir::Value* tensor,
                           std::span<ir::Value* const> index);
/// Returns the address of an element of a buffer.
llvm::Value* PlaceAddress(Emitter& emitter, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// Emits a size of an access as an i64 computed from the dimensions.
llvm::Value* EmitSize(Emitter& emitter, Size size);

// ops/traps.cpp
/// Continues if `ok` is true; otherwise stops the core with the trap at `location`.
void TrapUnless(Emitter& emitter, llvm::Value* ok, const TrapLocation& location, llvm::Value* index,
                llvm::Value* bound);
/// Sets `trap` to the address where the current call writes a trap.
void FindTrap(Emitter& emitter);
/// Fills the block through which all traps leave, if the kernel has traps.
void FinishTraps(Emitter& emitter);
/// Leaves the kernel if another core of the launch has trapped.
void PollStop(Emitter& emitter);
/// Ends the kernel, or the stage that is being emitted.
void Leave(Emitter& emitter, llvm::IRBuilder<>& builder, Ending ending);
/// Stops the core and the launch with a trap whose other fields have been written.
void StoreTrap(Emitter& emitter, llvm::Value* code, llvm::Value* location);

// entry.cpp
void EmitKernel(Emitter& emitter);
/// Emits the start of a kernel and of each of its stages: core id, sizes, scalars and addresses.
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
/// Returns the memories of these tensors, which are placed one after another from `shared` on.
std::vector<LaunchTensorMemory> LaunchTensors(Emitter& emitter, llvm::Value* shared);
/// Emits the shared_bytes_fn if the kernel has launch tensors; else returns null.
llvm::Function* EmitSharedBytes(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// ops/pipes.cpp
void EmptyRings(Emitter& emitter);

// coroutines/stages.cpp
/// Declares ptr SYMBOL(const kdl_args* args, kdl_core* core), a coroutine that returns its handle.
void DeclareCoroutine(Emitter& emitter, const std::string& symbol);
/// Emits the allocation of the coroutine's frame at some offset from `memory`, and the first suspension.
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
/// Emits the value of a size. Sets `overflow` if an operation overflows 64 bits.
llvm::Value* EmitSaturating(Emitter& emitter, Size size, llvm::Value*& overflow);
/// Emits a sum, difference or product together with its overflow flag.
llvm::Value* WithOverflow(Emitter& emitter, SizeKind kind, llvm::Value* lhs, llvm::Value* rhs);
/// Emits the busy_cores_fn if the kernel states its numbers of blocks; else returns null.
llvm::Function* EmitBusyCores(llvm::Module& module, const AbiTypes& abi, Names& names,
                              KernelCode& code);

// before_launch/launch_check.cpp
/// Emits the check_fn if launches need one; else returns null. The traps of the check are added to the
/// kernel's locations.
llvm::Function* EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// before_launch/host_module.cpp
/// Declares a function in the host's module for the emitter's kernel, such as `scale.f32.x86-64-v3.check`.
llvm::Function* DeclareHostFunction(Emitter& emitter, llvm::FunctionType* type,
                                    std::string_view what);

}  // namespace kdl::codegen
