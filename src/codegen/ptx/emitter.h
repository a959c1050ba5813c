#pragma once

#include <vector>

#include "codegen/llvm/workgroup/emitter.h"
#include "codegen/ptx/tensor_map.h"

namespace kdl::codegen::ptx {

constexpr unsigned kWorkgroup = 3;  ///< LLVM's address space for shared memory

/// Emits a kernel whose cores are CUDA blocks.
struct PtxEmitter final : WorkgroupEmitter {
  using WorkgroupEmitter::WorkgroupEmitter;
  int64_t of_multiprocessor = 0;  ///< shared memory for all workgroups of a multiprocessor
  /// Called after the kernel: emits `NAME_launch`, which says what a launch must provide (kdl/workgroup_abi.h).
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
  int64_t WorkgroupsAtOnce() const;
  // tensor_tiles.cpp
  void EmitTileCopy(ir::Op* op);
  void EmitTileCopyFits(ir::Op* op);
  /// Returns the index of the launch's map for the tile's tensor.
  unsigned TensorMapIndex(const ir::Op* op) const;
  // group_step.cpp
  void EmitGroupStep(ir::Op* op);
  void MmaCommit();
  void MmaWait(ir::Op* op);

  std::vector<TensorMap> maps_;
  bool steps_open_ = false;           ///< the current group of instructions is not committed
  llvm::Value* workgroup_ = nullptr;  ///< shared memory that the launch provides
  int64_t workgroup_bytes_ = 0;       ///< shared memory bytes used so far
};

/// Replaces divisions for which the assembler would call a function.
void WriteOutDivisions(llvm::Module& module);
/// Returns the address of a slot of a buffer, or of one mbarrier in a buffer of mbarriers.
llvm::Value* SlotAddress(PtxEmitter& emitter, const ir::Value* buffer, const ir::Value* slot);
/// Returns a pointer to shared memory as the 32-bit number that instructions use.
llvm::Value* WorkgroupAddress(PtxEmitter& emitter, llvm::Value* pointer);
/// Emits PTX instructions that LLVM has no intrinsics for. LLVM does not move them. Returns the value that
/// they write, which has the type `result`.
llvm::CallInst* EmitAsm(PtxEmitter& emitter, std::string_view text, std::string_view constraints,
                        llvm::ArrayRef<llvm::Value*> operands, llvm::Type* result = nullptr);

}  // namespace kdl::codegen::ptx
