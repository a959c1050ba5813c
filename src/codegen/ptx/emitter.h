#pragma once

#include "codegen/llvm/team_emitter.h"

namespace kdl::codegen::ptx {

constexpr unsigned kNear = 3;  ///< LLVM's number of shared memory

/// A kernel whose cores are blocks of CUDA's, of whose threads each is a worker.
struct PtxEmitter final : TeamEmitter {
  using TeamEmitter::TeamEmitter;
  int64_t most_near = 0;  ///< near memory that a team may have
  /// Says, behind the kernel, what its launch has to bring: `NAME_launch` (kdl/team_abi.h).
  void Finish();
  void Declare() override;
  llvm::Value* FindWorker() override;
  llvm::Value* TensorMemory(unsigned number) override;
  llvm::Value* NearMemory(const ir::Value* buffer) override;
  unsigned TableSpace() const override;
  void Wait() override;
  llvm::Value* WaitForAny(llvm::Value* told) override;
  void EmitMatrixStep(ir::Op* op) override;
  void EmitCopyAhead(ir::Op* op) override;
  void EmitCloseAhead() override;
  void EmitAwaitAhead(ir::Op* op) override;

 private:
  bool TakesNearOfLaunch() const;
  llvm::Value* near_ = nullptr;  ///< what the launch brings
  int64_t near_bytes_ = 0;       ///< that are taken of it
};

/// A pointer to shared memory as the number that instructions take.
llvm::Value* NearAddress(PtxEmitter& emitter, llvm::Value* pointer);
/// Instructions of PTX's that LLVM has no intrinsic for, which stay where they stand; gives what they write, of `result`.
llvm::CallInst* EmitAsm(PtxEmitter& emitter, std::string_view text, std::string_view constraints,
                        llvm::ArrayRef<llvm::Value*> operands, llvm::Type* result = nullptr);

}  // namespace kdl::codegen::ptx
