#pragma once

#include "codegen/llvm/workgroup/emitter.h"

namespace kdl::codegen::cluster {

/// A copy of rows of bytes between global memory and workgroup memory.
struct BlockCopy {
  llvm::Value* to = nullptr;
  llvm::Value* from = nullptr;
  llvm::Value* row_bytes = nullptr;
  llvm::Value* rows = nullptr;
  llvm::Value* to_stride = nullptr;  ///< bytes from the start of one row to the next
  llvm::Value* from_stride = nullptr;
};

/// Emits a kernel whose core is a cluster of small processors, each of which runs one thread.
struct ClusterEmitter final : WorkgroupEmitter {
  using WorkgroupEmitter::WorkgroupEmitter;
  void Declare() override;
  llvm::Value* FindThread() override;
  llvm::Value* TensorMemory(unsigned number) override;
  llvm::Value* InWorkgroupMemory(const ir::Value* buffer) override;
  unsigned TableSpace() const override { return 0; }
  void Wait() override;
  llvm::Value* WaitForAny(llvm::Value* told) override;
  void EmitAsyncCopy(ir::Op* op) override;
  void EmitAsyncCopyWait(ir::Op* op) override;

  int64_t scratchpad_bytes = 0;  ///< scratchpad bytes used so far

 private:
  void BeginCopy(const BlockCopy& copy);
  /// Waits for all pending copies that access these bytes of workgroup memory.
  void AwaitCopies(llvm::Value* workgroup, llvm::Value* bytes);
  llvm::Value* Field(unsigned field, llvm::Type* type, const char* name);
  llvm::Value* MemoryAt(unsigned number, const char* name);

  llvm::Value* memory_ = nullptr;
};

}  // namespace kdl::codegen::cluster
