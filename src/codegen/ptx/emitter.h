#pragma once

#include "codegen/llvm/team_emitter.h"

namespace kdl::codegen::ptx {

constexpr unsigned kNear = 3;  ///< LLVM's number of shared memory

/// A kernel whose cores are blocks of CUDA's, of whose threads each is a worker.
struct PtxEmitter final : TeamEmitter {
  using TeamEmitter::TeamEmitter;
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
};

}  // namespace kdl::codegen::ptx
