#pragma once

#include <vector>

#include "codegen/llvm/workgroup/emitter.h"
#include "codegen/ptx/tensor_map.h"

namespace kdl::codegen::ptx {

constexpr unsigned kWorkgroup = 3;  ///< LLVM's number of shared memory

/// A kernel whose cores are blocks of CUDA's, of whose threads each is a worker.
struct PtxEmitter final : WorkgroupEmitter {
  using WorkgroupEmitter::WorkgroupEmitter;
  int64_t of_multiprocessor = 0;  ///< near memory that all its teams share
  /// Says, after the kernel, what its launch has to bring: `NAME_launch` (kdl/workgroup_abi.h).
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
  /// Of tensors; whether the op moves one.
  bool EmitVector(ir::Op* op);

 private:
  void AddMaps();
  bool NeedsWorkgroupMemoryOfLaunch() const;
  int64_t WorkgroupsAtOnce() const;
  // tensor_tiles.cpp
  void EmitTileCopy(ir::Op* op);
  void EmitTileCopyFits(ir::Op* op);
  /// Where the launch's map of the box's tensor is.
  unsigned MapOf(const ir::Op* op) const;
  // group_step.cpp
  void EmitGroupStep(ir::Op* op);
  void MmaCommit();
  void MmaWait(ir::Op* op);

  std::vector<TensorMap> maps_;
  bool steps_open_ = false;           ///< what follows adds to a group that has begun
  llvm::Value* workgroup_ = nullptr;  ///< what the launch brings
  int64_t workgroup_bytes_ = 0;       ///< that are taken of it
};

/// Replaces divisions that the assembler would call a function for.
void WriteOutDivisions(llvm::Module& module);
/// Where a slot of a buffer, an element of one of gates, lies.
llvm::Value* SlotAddress(PtxEmitter& emitter, const ir::Value* buffer, const ir::Value* slot);
/// A pointer to shared memory as the number that instructions take.
llvm::Value* WorkgroupAddress(PtxEmitter& emitter, llvm::Value* pointer);
/// Instructions of PTX's that LLVM has no intrinsic for, which stay where they stand; gives what they write, of `result`.
llvm::CallInst* EmitAsm(PtxEmitter& emitter, std::string_view text, std::string_view constraints,
                        llvm::ArrayRef<llvm::Value*> operands, llvm::Type* result = nullptr);

}  // namespace kdl::codegen::ptx
