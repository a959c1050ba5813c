#pragma once

#include "codegen/llvm/workgroup/emitter.h"

namespace kdl::codegen::cluster {

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
  void BeginCopy(const codegen::BlockCopy& copy) override;
  void AwaitCopies(llvm::Value* workgroup, llvm::Value* bytes) override;

  int64_t scratchpad_bytes = 0;  ///< scratchpad bytes used so far

 private:
  llvm::Value* Field(unsigned field, llvm::Type* type, const char* name);
  llvm::Value* MemoryAt(unsigned number, const char* name);

  llvm::Value* memory_ = nullptr;
};

}  // namespace kdl::codegen::cluster
