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

/// A tensor or a buffer: element (i, j, …) lies i * strides[0] + j * strides[1] + … elements after the base.
struct Memory {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> strides;
  llvm::MDNode* alias_scope = nullptr;
  llvm::MDNode* noalias = nullptr;  ///< null: nothing is known
  int64_t panel = 0;                ///< elements of a row of panels; 0: there are none
};

/// A pipe's ring in the core's workspace. `slots` says how a slot's elements lie and what they overlap; its base is the ring's.
struct RingMemory {
  ir::Ring ring;
  llvm::Value* base = nullptr;
  Memory slots;
};

/// The coroutine that a stage becomes. Its state, an i32 that the kernel reads when it gets the turn back: while the stage
/// waits, 1 + the location of the op at which it does; else how it has ended.
struct Coroutine {
  const ir::Op* stage = nullptr;  ///< null: a kernel with barriers
  llvm::Value* state = nullptr;
  llvm::BasicBlock* end = nullptr;  ///< gives the turn back
};

/// How a kernel, or a stage of one, ends.
enum class Ending : int32_t { Done = 0, Trapped = -1, Stopped = -2 };

/// Of a loop that claims its numbers: the launch's counter, and on the core's stack the numbers of the loop's runs that it has
/// left and the one that it holds for the next.
struct DynamicState {
  llvm::Value* counter = nullptr;
  llvm::Value* before = nullptr;
  llvm::Value* taken = nullptr;
};

/// Bytes of a core's frame before the buffers that live across a barrier.
inline constexpr int64_t kFrameHeaderBytes = 64;

/// All traps of a kernel leave through one block; each adds its values here.
struct TrapExit {
  llvm::BasicBlock* block = nullptr;
  llvm::PHINode* code = nullptr;
  llvm::PHINode* location = nullptr;
  llvm::PHINode* index = nullptr;
  llvm::PHINode* bound = nullptr;
};

/// What is known while one kernel, or its launch check, is emitted. State only; the functions below
/// do the work. As it stands it is for cores that are one worker each; others derive theirs.
struct Emitter {
  llvm::Module& module;
  const AbiTypes& abi;
  const ir::Function& kernel;
  KernelCode& code;
  Names& names;
  llvm::IRBuilder<> builder;
  llvm::Function* function = nullptr;
  llvm::Value* args = nullptr;  ///< const kdl_args*
  llvm::Value* trap = nullptr;  ///< where the kdl_trap is written
  llvm::Value* core_id = nullptr;
  llvm::Value* core_num = nullptr;
  llvm::Value* stop = nullptr;  ///< address of kdl_launch.stop; null: nobody looks
  llvm::Value* dynamic_counters =
      nullptr;                       ///< kdl_launch.dynamic_counters, where a loop takes from them
  llvm::Value* frame = nullptr;      ///< kdl_core.frame, where the kernel has barriers
  llvm::Value* core_slot = nullptr;  ///< and where in it the kdl_core of the present call is
  llvm::Value* scratch = nullptr;    ///< null where that may change
  llvm::BasicBlock* stopped = nullptr;  ///< leaves early; made by the first poll
  TrapExit trap_exit;
  ScratchPlan scratch_plan;
  bool stores_past_caches = false;
  class SourceLines* lines = nullptr;  ///< null: nobody wants to know
  int loop_depth = 0;
  llvm::BasicBlock* iteration = nullptr;  ///< where turns of a loop whose addresses are split begin
  std::optional<Coroutine> coroutine;     ///< where a stage is emitted
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

  /// Emits an op that is another thing where a core is no single worker; false: it is not.
  virtual bool EmitOwn(ir::Op*) { return false; }
  llvm::LLVMContext& context() const { return module.getContext(); }
  llvm::BasicBlock* NewBlock(const char* name) const;
  /// The value of a scalar or vector operand.
  llvm::Value* Get(const ir::Value* value) const;
  void Set(const ir::Value* value, llvm::Value* llvm_value) { scalars[value] = llvm_value; }
};

/// How a scalar lives in a register: bool i1, floats below f32 their bits, the rest as it is; and in memory: bool i8. So do lanes.
llvm::Type* RegisterType(llvm::LLVMContext& context, Scalar scalar);
llvm::Type* RegisterType(llvm::LLVMContext& context, ir::Type type);
llvm::Type* MemoryType(llvm::LLVMContext& context, Scalar scalar);
/// `scalar`, or a vector of it with the lanes of `like` where that is a vector.
llvm::Type* WithLanesOf(const llvm::Value* like, llvm::Type* scalar);

/// Emits the instructions of one op. Each op of loop level has one: without it nothing links.
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
/// Nothing: what there is to do is done for the whole kernel.
inline void EmitNothing(Emitter&, ir::Op*) {}
/// Emits a block's ops, without its terminator, at the builder's place.
void EmitRegion(Emitter& emitter, const ir::Region* region);

// ops/arithmetic.cpp
/// floor(a / b) and a - b * floor(a / b); b is not 0.
llvm::Value* EmitFloorDivide(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);
llvm::Value* EmitFloorModulo(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);

// ops/casts.cpp
llvm::Value* WidenNarrowFloat(Emitter& emitter, Scalar from, llvm::Value* bits);  ///< to float
llvm::Value* EmitCast(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to);

// ops/vectors.cpp
/// `value` in every lane of a vector of `lanes`; itself where it is a vector or lanes is 1.
llvm::Value* Splat(Emitter& emitter, llvm::Value* value, int64_t lanes);

// ops/print.cpp
void EmitPrint(Emitter& emitter, ir::Op* op);

// ops/atomics.cpp
/// An update that other workers may make at the same time.
void EmitAtomicUpdate(Emitter& emitter, ir::Op* op);

// ops/control.cpp
/// One turn of a loop; it looks first whether another core has trapped where `polls` says so.
void EmitLoopBody(Emitter& emitter, const ir::Region* region, bool polls);

// ops/dynamic_counters.cpp
/// How many counters the loops of a kernel take numbers from.
int64_t CountDynamicCounters(const ir::Function& kernel);
/// Makes `dynamic_states` for the loops to be emitted that claim their numbers.
void PrepareDynamicCounters(Emitter& emitter);
void EmitDynamicLoop(Emitter& emitter, ir::Op* op);

// regions.cpp
/// A piece of memory that does not change its place, and which others it overlaps.
enum class RegionKind : uint8_t { Tensor, LaunchTensor, Buffer, Ring };
struct Region {
  RegionKind kind;
  Memory* memory;
  bool read_only = false;
  const BufferPlace* place = nullptr;  ///< of a buffer; null: it overlaps no other
  llvm::MDNode* scope = nullptr;
};
/// Tells LLVM which regions never overlap: an `out` or `inout` tensor overlaps no other parameter,
/// tensors, scratch and each ring lie apart, and buffers overlap where the plan says so. What is on
/// the stack LLVM sees itself.
void SetAliasScopes(Emitter& emitter, std::vector<Region>& regions);
/// Row-major over extents that are constants, in elements.
std::vector<llvm::Value*> ConstantStrides(Emitter& emitter, ir::Type type);
/// Makes the `memories` of tables, which lie in LLVM's address space `space`, and of views.
void PrepareTablesAndViews(Emitter& emitter, unsigned space);
/// Makes `memories` and `rings`: tensors' addresses and strides, the places of the buffers in the blocks to be emitted, and
/// what overlaps what.
void PrepareMemories(Emitter& emitter);
/// Visits what is emitted: the ops of a stage, or those of the kernel that stand in none.
void WalkEmitted(const Emitter& emitter, const std::function<void(const ir::Op*)>& visit);
/// A place on the core's stack, made where the function begins, whose contents start unspecified.
llvm::AllocaInst* StackPlace(Emitter& emitter, llvm::Type* type, std::string_view name);
/// Reads field `field` of an ABI struct that no core writes; its type is the field's.
llvm::Value* LoadField(Emitter& emitter, llvm::StructType* type, llvm::Value* base, unsigned field,
                       const char* name);
/// An address of kdl_core, of which the ABI says how it is aligned.
llvm::Value* LoadAligned(Emitter& emitter, llvm::Value* core, unsigned field, const char* name);
/// Finds the rings in the workspace of the present call.
void FindRings(Emitter& emitter);
llvm::Value* FieldAddress(Emitter& emitter, llvm::StructType* type, llvm::Value* base,
                          unsigned field);

// ops/memory.cpp
/// Ends the lives of the buffers on the stack that the block has made.
void EndBuffers(Emitter& emitter, const ir::Region* region);
/// Where the element of an access lies, which is inside of the tensor.
llvm::Value* AccessAddress(Emitter& emitter, const ir::Op* op, const ir::Value* tensor,
                           std::span<ir::Value* const> index);
/// Of an element of a buffer.
llvm::Value* PlaceAddress(Emitter& emitter, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// A size of an access as an i64 over the dims.
llvm::Value* EmitSize(Emitter& emitter, Size size);

// ops/traps.cpp
/// Goes on where `ok` holds; else stops the core with the trap at `location`.
void TrapUnless(Emitter& emitter, llvm::Value* ok, const TrapLocation& location, llvm::Value* index,
                llvm::Value* bound);
/// Finds where the present call writes a trap.
void FindTrap(Emitter& emitter);
/// Fills the block that all traps leave through, where there are any.
void FinishTraps(Emitter& emitter);
/// Leaves the kernel when another core of the launch has trapped.
void PollStop(Emitter& emitter);
/// Ends the kernel, or the stage that is emitted.
void Leave(Emitter& emitter, llvm::IRBuilder<>& builder, Ending ending);
/// Stops the core, and the launch, with a trap whose other fields have been written.
void StoreTrap(Emitter& emitter, llvm::Value* code, llvm::Value* location);

// entry.cpp
void EmitKernel(Emitter& emitter);
/// What a kernel and each of its stages begin with: the core's facts, sizes, scalars, addresses.
void EmitPrologue(Emitter& emitter);

// coroutines/barriers.cpp
bool HasBarriers(const ir::Function& kernel);
/// Emits, in the kernel's function, the start of a coroutine that is its body, and its resumption.
void EmitResumable(Emitter& emitter);
/// The kdl_core of the present call.
llvm::Value* PresentCore(Emitter& emitter);

// before_launch/launch_tensors.cpp
struct LaunchTensorMemory {
  const ir::Value* tensor;
  Memory memory;
};
/// Whether the launch has tensors for all its cores.
bool HasLaunchTensors(const ir::Function& kernel);
/// Where they lie: one after the other from `shared` on.
std::vector<LaunchTensorMemory> LaunchTensors(Emitter& emitter, llvm::Value* shared);
/// Makes the shared_bytes_fn where the kernel has such tensors; else null.
llvm::Function* EmitSharedBytes(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// ops/pipes.cpp
void EmptyRings(Emitter& emitter);

// coroutines/stages.cpp
/// ptr SYMBOL(const kdl_args* args, kdl_core* core): a coroutine, which gives its handle.
void DeclareCoroutine(Emitter& emitter, const std::string& symbol);
/// The coroutine's frame, somewhere behind `memory`, and its first suspension, in the block at the builder's place.
void BeginCoroutine(Emitter& emitter, const ir::Op* stage, llvm::Value* memory);
/// What the coroutine has left in its state.
llvm::Value* CoroutineState(Emitter& emitter, llvm::Value* handle);
/// Gives the turn back; the coroutine goes on at `again` with its next one.
void EmitSuspend(Emitter& emitter, llvm::BasicBlock* again);
/// Runs the stages that the kernel has started in turn until all have ended.
void RunStages(Emitter& emitter);

/// The sizes, from emitter.args.
void ReadDims(Emitter& emitter);

// before_launch/busy_cores.cpp
/// The size; `overflow` collects whether an operation left 64 bits.
llvm::Value* EmitSaturating(Emitter& emitter, Size size, llvm::Value*& overflow);
/// A sum, difference or product with whether it left 64 bits.
llvm::Value* WithOverflow(Emitter& emitter, SizeKind kind, llvm::Value* lhs, llvm::Value* rhs);
/// Makes the busy_cores_fn where the kernel says how many blocks there are; else null.
llvm::Function* EmitBusyCores(llvm::Module& module, const AbiTypes& abi, Names& names,
                              KernelCode& code);

// before_launch/launch_check.cpp
/// Makes the check_fn where a parameter has a dimension that is an expression; else null. Its traps join the locations.
llvm::Function* EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code);

// before_launch/host_module.cpp
/// A function of the host's module for the emitter's kernel: `scale.f32.x86-64-v3.check`.
llvm::Function* DeclareHostFunction(Emitter& emitter, llvm::FunctionType* type,
                                    std::string_view what);

}  // namespace kdl::codegen
