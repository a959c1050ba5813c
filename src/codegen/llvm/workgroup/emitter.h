#pragma once

#include <functional>

#include "codegen/common/workgroup.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/machine.h"

namespace kdl::codegen {

/// Rows of bytes on their way between memory far from the workers and near to them.
struct BlockCopy {
  llvm::Value* to = nullptr;
  llvm::Value* from = nullptr;
  llvm::Value* row_bytes = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* to_stride = nullptr;  ///< bytes from row to row
  llvm::Value* from_stride = nullptr;
};

/// A kernel whose core is a team, of whose workers each runs what is emitted. What differs from machine to machine its own
/// emitter tells: how a kernel is called, where memories lie, how workers wait for each other.
struct WorkgroupEmitter : Emitter {
  using Emitter::Emitter;
  bool EmitOwn(ir::Op* op) final;

  /// Makes the function, without a body, and what it takes that every kernel has.
  virtual void Declare() = 0;
  /// Finds, where the body begins, `worker`, and gives the number of the core in this call.
  virtual llvm::Value* FindThread() = 0;
  /// Tensor number `number`'s memory.
  virtual llvm::Value* TensorMemory(unsigned number) = 0;
  /// Memory of the core's that is near its workers.
  virtual llvm::Value* InWorkgroupMemory(const ir::Value* buffer) = 0;
  /// LLVM's address space of constants.
  virtual unsigned TableSpace() const = 0;
  /// Waits for all workers.
  virtual void Wait() = 0;
  /// And gives, as an i32, whether `told`, another, is other than 0 for one of them.
  virtual llvm::Value* WaitForAny(llvm::Value* told) = 0;
  /// What only some machines have.
  virtual void EmitMma(ir::Op* op);
  virtual void EmitAsyncCopy(ir::Op* op);
  virtual void EmitAsyncCopyCommit();
  virtual void EmitAsyncCopyWait(ir::Op* op);
  /// An op of gates, boxes or steps that go on; false: it is none.
  virtual bool EmitMbarrierOrdered(ir::Op*) { return false; }
  /// Begins a block copy. Of machines alone whose pipeline has such, as the next one.
  virtual void BeginCopy(const BlockCopy& copy);
  /// Waits for those that have begun and touch these bytes near the workers.
  virtual void AwaitCopies(llvm::Value* workgroup, llvm::Value* bytes);

  WorkgroupLayout* places = nullptr;
  llvm::BinaryOperator* scratch_start =
      nullptr;  ///< of the core; how much each has is known in the end
  llvm::Value* launch =
      nullptr;  ///< the launch's numbers (workgroup_abi.h), as a parameter has them
  llvm::Value* shared = nullptr;
  llvm::Value* record = nullptr;
  llvm::Value* prints = nullptr;
  llvm::Value* thread = nullptr;
  llvm::Value* live =
      nullptr;  ///< a place: whether the worker has not trapped; null: none goes on when it has
  /// Whether blocks of products fill the registers: what would be kept over turns of other loops finds none.
  bool keeps_blocks = false;
  bool in_workgroup = false;  ///< in a loop of the team's, whose workers go their own ways
};

llvm::BasicBlock* NewBlock(WorkgroupEmitter& emitter, const char* name);

// compile.cpp
/// A machine whose cores are teams.
struct WorkgroupMachine {
  FileType file;  ///< what the payload is
  std::string layout =
      {};  ///< of data, where it is LLVM's IR for another LLVM; empty: this one makes the file
  bool has_vectors = false;  ///< of which KIR of teams says nothing: LLVM looks for them
  /// Emits a kernel, by EmitWorkgroupKernel.
  std::function<void(llvm::Module&, const AbiTypes&, const ir::Function&, Names&, KernelCode&)>
      emit;
  /// Adds, after all kernels, what the image has besides.
  std::function<void(llvm::Module&, const CompiledModule&)> finish = [](auto&, auto&) {};
  /// Writes out what the machine has no instruction for, after LLVM's passes.
  std::function<void(llvm::Module&)> write_out = [](auto&) {};
};
/// The payload is what LLVM makes of the kernels, or, for another LLVM, their IR.
Result<CompiledModule> CompileWorkgroups(const KernelSource& source,
                                         const WorkgroupMachine& workgroup,
                                         const CompileOptions& options);

// entry.cpp
/// The kernel's function, parameters and memories, and its body.
void EmitWorkgroupKernel(WorkgroupEmitter& emitter);
/// How many numbers a launch of the kernel has.
uint64_t CountLaunchNumbers(const ir::Function& kernel);
std::vector<const ir::Param*> TensorParams(const ir::Function& kernel);
/// Number `at` of the launch's.
llvm::Value* LaunchNumber(WorkgroupEmitter& emitter, uint64_t at, std::string_view name);

// ops/memory.cpp
/// Of an access the index of each dimension.
std::vector<llvm::Value*> AccessIndex(Emitter& emitter, const ir::Op* op,
                                      std::span<ir::Value* const> operands);

// control.cpp
/// A loop whose turns the workers share.
void EmitWorkgroupLoop(WorkgroupEmitter& emitter, ir::Op* op);
/// A `while` whose turns are parts of the launch.
void EmitParts(WorkgroupEmitter& emitter, ir::Op* op);
void EmitWorkgroupBarrier(WorkgroupEmitter& emitter);
/// Fills the block that traps have left through since it was made, where there are any: tells the first trap of the launch,
/// and goes on at `then`; null: leaves the kernel.
void FinishWorkgroupTraps(WorkgroupEmitter& emitter, llvm::BasicBlock* then);
/// Whether a worker may trap where others do not.
bool MayTrapAlone(const ir::Function& kernel);

// copies.cpp
void EmitCopyIn(WorkgroupEmitter& emitter, ir::Op* op);
void EmitCopyOut(WorkgroupEmitter& emitter, ir::Op* op);
void EmitAwaitCopies(WorkgroupEmitter& emitter, ir::Op* op);

// print.cpp
void EmitWorkgroupPrint(WorkgroupEmitter& emitter, ir::Op* op);

}  // namespace kdl::codegen
