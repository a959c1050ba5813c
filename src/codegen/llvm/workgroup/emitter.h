#pragma once

#include <functional>

#include "codegen/common/workgroup.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// A copy of rows of bytes between global memory and workgroup memory.
struct BlockCopy {
  llvm::Value* to = nullptr;
  llvm::Value* from = nullptr;
  llvm::Value* row_bytes = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* to_stride = nullptr;  ///< bytes from the start of one row to the next
  llvm::Value* from_stride = nullptr;
};

/// Emits a kernel whose core is a workgroup, as code that each of its threads runs. Derived classes implement what
/// differs between machines: how a kernel is called, where its memories are, and how threads wait for each other.
struct WorkgroupEmitter : Emitter {
  using Emitter::Emitter;
  bool EmitOwn(ir::Op* op) final;

  /// Creates the function, without a body, and the parameters that every kernel has.
  virtual void Declare() = 0;
  /// Called at the start of the body: sets `thread`, and returns the number of the core in this call.
  virtual llvm::Value* FindThread() = 0;
  /// Returns the address of tensor `number`.
  virtual llvm::Value* TensorMemory(unsigned number) = 0;
  /// Allocates a buffer in the core's workgroup memory.
  virtual llvm::Value* InWorkgroupMemory(const ir::Value* buffer) = 0;
  /// Returns LLVM's address space for constants.
  virtual unsigned TableSpace() const = 0;
  /// Waits for all threads.
  virtual void Wait() = 0;
  /// Waits for all threads. Returns, as an i32, whether `told` (also an i32) is not 0 in any thread.
  virtual llvm::Value* WaitForAny(llvm::Value* told) = 0;
  /// These functions emit ops that only some machines support.
  virtual void EmitMma(ir::Op* op);
  virtual void EmitAsyncCopy(ir::Op* op);
  virtual void EmitAsyncCopyCommit();
  virtual void EmitAsyncCopyWait(ir::Op* op);
  /// Emits an op for mbarriers, tensor tiles or asynchronous matrix instructions. Returns false for other ops.
  virtual bool EmitMbarrierOrdered(ir::Op*) { return false; }
  /// Begins a block copy. BeginCopy and AwaitCopies are only for machines whose pipelines create block
  /// copies.
  virtual void BeginCopy(const BlockCopy& copy);
  /// Waits for the block copies that were begun and access these bytes of workgroup memory.
  virtual void AwaitCopies(llvm::Value* workgroup, llvm::Value* bytes);

  WorkgroupLayout* places = nullptr;
  llvm::BinaryOperator* scratch_start =
      nullptr;                    ///< start of the core's scratch; the size is set last
  llvm::Value* launch = nullptr;  ///< the launch's numbers (workgroup_abi.h)
  llvm::Value* shared = nullptr;
  llvm::Value* record = nullptr;
  llvm::Value* prints = nullptr;
  llvm::Value* thread = nullptr;
  llvm::Value* live =
      nullptr;  ///< address of a bool: this thread has not trapped; null: a thread that traps leaves
  /// Accumulators fill the registers, so that none are left to keep values across the iterations of other loops.
  bool keeps_blocks = false;
  bool in_workgroup = false;  ///< in a workgroup loop, where threads diverge
};

llvm::BasicBlock* NewBlock(WorkgroupEmitter& emitter, const char* name);

// compile.cpp
/// A machine whose cores are workgroups.
struct WorkgroupMachine {
  FileType file;             ///< format of the payload
  std::string layout = {};   ///< data layout for LLVM IR as the payload; empty: compile here
  bool has_vectors = false;  ///< LLVM looks for vectors, since KIR has none for workgroups
  /// Emits a kernel with EmitWorkgroupKernel.
  std::function<void(llvm::Module&, const AbiTypes&, const ir::Function&, Names&, KernelCode&)>
      emit;
  /// Adds the rest of the image after all kernels.
  std::function<void(llvm::Module&, const CompiledModule&)> finish = [](auto&, auto&) {};
  /// Called after LLVM's passes; expands operations for which the machine has no instruction.
  std::function<void(llvm::Module&)> write_out = [](auto&) {};
};
/// Compiles the kernels. The payload is LLVM's output, or LLVM IR for another version of LLVM.
Result<CompiledModule> CompileWorkgroups(const KernelSource& source,
                                         const WorkgroupMachine& workgroup,
                                         const CompileOptions& options);

// entry.cpp
/// Emits the kernel's function, parameters, memories and body.
void EmitWorkgroupKernel(WorkgroupEmitter& emitter);
/// Returns how many numbers a launch passes to the kernel.
uint64_t CountLaunchNumbers(const ir::Function& kernel);
std::vector<const ir::Param*> TensorParams(const ir::Function& kernel);
/// Loads the number at index `at` among the numbers of the launch.
llvm::Value* LaunchNumber(WorkgroupEmitter& emitter, uint64_t at, std::string_view name);

// ops/memory.cpp
/// Returns the index of each dimension of an access.
std::vector<llvm::Value*> AccessIndex(Emitter& emitter, const ir::Op* op,
                                      std::span<ir::Value* const> operands);

// control.cpp
/// Emits a loop whose iterations are distributed to the threads.
void EmitWorkgroupLoop(WorkgroupEmitter& emitter, ir::Op* op);
/// Emits a `while` whose iterations are parts of the launch.
void EmitParts(WorkgroupEmitter& emitter, ir::Op* op);
void EmitWorkgroupBarrier(WorkgroupEmitter& emitter);
/// Fills the trap exit block, if there is one: records the launch's first trap, and continues at `then` or,
/// if that is null, leaves the kernel.
void FinishWorkgroupTraps(WorkgroupEmitter& emitter, llvm::BasicBlock* then);
/// Returns whether a thread may trap while others do not.
bool MayTrapAlone(const ir::Function& kernel);

// copies.cpp
void EmitCopyIn(WorkgroupEmitter& emitter, ir::Op* op);
void EmitCopyOut(WorkgroupEmitter& emitter, ir::Op* op);
void EmitAwaitCopies(WorkgroupEmitter& emitter, ir::Op* op);

// print.cpp
void EmitWorkgroupPrint(WorkgroupEmitter& emitter, ir::Op* op);

}  // namespace kdl::codegen
