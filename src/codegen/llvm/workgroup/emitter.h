#pragma once

#include <functional>

#include "codegen/common/workgroup.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Emits the code that each thread of a workgroup runs, for a kernel whose cores are workgroups. Derived
/// classes implement what differs between machines: how a kernel is called, where its memories are, and how
/// threads wait for each other.
struct WorkgroupEmitter : Emitter {
  using Emitter::Emitter;
  bool EmitOwn(ir::Op* op) final;

  /// Creates the function without a body, and with the parameters that every kernel has.
  virtual void Declare() = 0;
  /// Called at the start of the body: sets `thread`, and returns the core's number in this call.
  virtual llvm::Value* FindThread() = 0;
  /// Returns the address of tensor `number`.
  virtual llvm::Value* TensorMemory(unsigned number) = 0;
  /// Allocates a buffer in the core's workgroup memory.
  virtual llvm::Value* InWorkgroupMemory(const ir::Value* buffer) = 0;
  /// Returns LLVM's address space for constants.
  virtual unsigned TableSpace() const = 0;
  /// Emits a barrier of all threads.
  virtual void Wait() = 0;
  /// Emits a barrier of all threads. Returns, as an i32, whether `told` (also an i32) is nonzero in any
  /// thread.
  virtual llvm::Value* WaitForAny(llvm::Value* told) = 0;
  /// The following functions emit ops that only some machines support.
  virtual void EmitMma(ir::Op* op);
  virtual void EmitAsyncCopy(ir::Op* op);
  virtual void EmitAsyncCopyCommit();
  virtual void EmitAsyncCopyWait(ir::Op* op);
  /// Emits an op for mbarriers, tensor tiles or asynchronous matrix instructions. Returns false for other ops.
  virtual bool EmitMbarrierOrdered(ir::Op*) { return false; }

  WorkgroupLayout* places = nullptr;
  /// The offset of the core's scratch memory. The size of scratch memory is filled in last.
  llvm::BinaryOperator* scratch_start = nullptr;
  llvm::Value* launch = nullptr;  ///< the numbers that a launch passes (workgroup_abi.h)
  llvm::Value* shared = nullptr;
  llvm::Value* record = nullptr;
  llvm::Value* prints = nullptr;
  llvm::Value* thread = nullptr;
  /// Address of a bool that is false once this thread has trapped. Null if threads that trap leave the
  /// kernel.
  llvm::Value* live = nullptr;
  /// If set, no values are kept in registers across the iterations of a loop, since accumulators fill the
  /// registers.
  bool keeps_blocks = false;
  bool in_workgroup = false;  ///< whether the op is in a workgroup loop, where threads diverge
};

llvm::BasicBlock* NewBlock(WorkgroupEmitter& emitter, const char* name);

// compile.cpp
/// What CompileWorkgroups must know about a machine whose cores are workgroups.
struct WorkgroupMachine {
  FileType file;  ///< format of the payload
  /// The data layout, if the payload is LLVM IR for a different version of LLVM. Empty if this version
  /// compiles the kernels.
  std::string layout = {};
  /// Whether the machine has vectors. LLVM must find uses for them, since the KIR of workgroups has none.
  bool has_vectors = false;
  /// Emits a kernel with EmitWorkgroupKernel.
  std::function<void(llvm::Module&, const AbiTypes&, const ir::Function&, Names&, KernelCode&)>
      emit;
  /// Adds the rest of the image. Called after all kernels have been emitted.
  std::function<void(llvm::Module&, const CompiledModule&)> finish = [](auto&, auto&) {};
  /// Called after LLVM's passes; expands operations for which the machine has no instruction.
  std::function<void(llvm::Module&)> write_out = [](auto&) {};
};
/// Compiles the kernels. The payload is this LLVM's output, or LLVM IR for a different version of LLVM.
Result<CompiledModule> CompileWorkgroups(const KernelSource& source,
                                         const WorkgroupMachine& workgroup,
                                         const CompileOptions& options);

// entry.cpp
/// Emits the kernel's function with its parameters, memories and body.
void EmitWorkgroupKernel(WorkgroupEmitter& emitter);
/// Returns the number of 64-bit numbers that a launch passes to the kernel.
uint64_t CountLaunchNumbers(const ir::Function& kernel);
std::vector<const ir::Param*> TensorParams(const ir::Function& kernel);
/// Loads number `at` of those that the launch passes to the kernel.
llvm::Value* LaunchNumber(WorkgroupEmitter& emitter, uint64_t at, std::string_view name);

// ops/memory.cpp
/// Returns the index of an access in each dimension.
std::vector<llvm::Value*> AccessIndex(Emitter& emitter, const ir::Op* op,
                                      std::span<ir::Value* const> operands);

// control.cpp
/// Emits a loop whose iterations are distributed to the threads.
void EmitWorkgroupLoop(WorkgroupEmitter& emitter, ir::Op* op);
/// Emits a `while` loop in which each iteration is one part of the launch, that is, one call of the kernel.
void EmitParts(WorkgroupEmitter& emitter, ir::Op* op);
void EmitWorkgroupBarrier(WorkgroupEmitter& emitter);
/// Fills the trap exit block, if there is one. The block records the launch's first trap and continues at
/// `then`. If `then` is null, it leaves the kernel.
void FinishWorkgroupTraps(WorkgroupEmitter& emitter, llvm::BasicBlock* then);
/// Returns whether a thread may trap while others do not.
bool MayTrapAlone(const ir::Function& kernel);

// print.cpp
void EmitWorkgroupPrint(WorkgroupEmitter& emitter, ir::Op* op);

}  // namespace kdl::codegen
