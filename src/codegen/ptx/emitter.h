#pragma once

#include <vector>

#include "codegen/llvm/workgroup/emitter.h"
#include "codegen/ptx/launch_memory.h"
#include "codegen/ptx/tensor_map.h"

namespace kdl::codegen::ptx {

constexpr unsigned kWorkgroup = 3;  ///< LLVM's address space for shared memory

/// Emits a kernel whose cores are CUDA blocks.
struct PtxEmitter final : WorkgroupEmitter {
  using WorkgroupEmitter::WorkgroupEmitter;
  int64_t of_multiprocessor = 0;  ///< bytes of shared memory for all workgroups on a multiprocessor
  /// Must be called after the kernel has been emitted. Emits the constant `NAME_launch`, which states what a
  /// launch must provide (kdl/workgroup_abi.h).
  void Finish();
  void Declare() override;
  llvm::Value* FindThread() override;
  llvm::Value* TensorMemory(unsigned number) override;
  llvm::Value* InWorkgroupMemory(const ir::Value* buffer) override;
  unsigned TableSpace() const override;
  void Wait() override;
  llvm::Value* WaitForAny(llvm::Value* told) override;
  void EmitMma(ir::Op* op) override;
  void EmitAsyncCopy(ir::Op* op) override;
  void EmitAsyncCopyCommit() override;
  void EmitAsyncCopyWait(ir::Op* op) override;
  bool EmitMbarrierOrdered(ir::Op* op) override;
  /// Emits a vector load or store of a tensor. Returns false for other ops.
  bool EmitVector(ir::Op* op);

 private:
  void AddMaps();
  bool NeedsWorkgroupMemoryOfLaunch() const;
  llvm::Value* WorkgroupMemoryOfLaunch();
  int64_t WorkgroupsAtOnce(int64_t bytes) const;
  // Defined in tensor_tiles.cpp:
  void EmitSlotCopy(ir::Op* op);
  void EmitTileCopyFits(ir::Op* op);
  /// Returns the index of the tensor map that a tile copy uses.
  unsigned TensorMapIndex(const ir::Op* op) const;
  // Defined in group_step.cpp:
  void EmitGroupStep(ir::Op* op);
  void MmaCommit();
  void MmaWait(ir::Op* op);

  std::vector<TensorMap> maps_;
  bool steps_open_ = false;           ///< whether some matrix instructions are not committed yet
  llvm::Value* workgroup_ = nullptr;  ///< shared memory that the launch provides
  LaunchMemory launch_memory_;        ///< the buffers in that memory
  int64_t static_bytes_ = 0;          ///< of shared memory that the kernel declares
};

/// Expands divisions that the assembler would turn into function calls, and those that share a divisor.
void WriteOutDivisions(llvm::Module& module);
/// Expands f32 divisions in the function that share a divisor.
void WriteOutQuotients(llvm::Function& function);
/// Returns the address of one slot of a ring buffer, or of one mbarrier in a buffer of mbarriers.
llvm::Value* SlotAddress(PtxEmitter& emitter, const ir::Value* buffer, const ir::Value* slot);
/// Converts a pointer to shared memory to the 32-bit address that PTX instructions use.
llvm::Value* WorkgroupAddress(PtxEmitter& emitter, llvm::Value* pointer);
/// Emits inline PTX, for instructions for which LLVM has no intrinsics. LLVM does not move it. Returns the
/// value that the inline PTX computes, which has the type `result`.
llvm::CallInst* EmitAsm(PtxEmitter& emitter, std::string_view text, std::string_view constraints,
                        llvm::ArrayRef<llvm::Value*> operands, llvm::Type* result = nullptr);

}  // namespace kdl::codegen::ptx
