#include <cstddef>

#include "codegen/cluster/emitter.h"
#include "ir/workgroup_memory.h"
#include "kdl/cluster_abi.hpp"

// The function of a kernel has the type `kdl_cluster_kernel`. Its parameters are the numbers of the launch,
// the offsets of memories, and the current thread. The memories are those of workgroup_abi.h: memory, shared,
// record, prints, and one for each tensor.

namespace kdl::codegen::cluster {

namespace {

enum Param : unsigned { kNumbers, kMemories, kThread };
enum FixedMemory : unsigned { kScratch, kShared, kRecord, kPrints, kFirstTensor };

/// Offsets of the fields of `kdl_cluster_worker`, in units of 8 bytes.
enum ThreadField : unsigned {
  kCore = offsetof(kdl_cluster_worker, core) / 8,
  kNumber = offsetof(kdl_cluster_worker, worker) / 8,
  kMemory = offsetof(kdl_cluster_worker, memory) / 8,
  kScratchpad = offsetof(kdl_cluster_worker, scratchpad) / 8,
  kWait = offsetof(kdl_cluster_worker, wait) / 8,
  kCopy = offsetof(kdl_cluster_worker, copy) / 8,
  kAwait = offsetof(kdl_cluster_worker, await) / 8
};

}  // namespace

llvm::Value* ClusterEmitter::Field(unsigned field, llvm::Type* type, const char* name) {
  llvm::Value* address =
      builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), function->getArg(kThread), field);
  return builder.CreateLoad(type, address, name);
}

/// Returns the address of one of the memories that the kernel receives.
llvm::Value* ClusterEmitter::MemoryAt(unsigned number, const char* name) {
  llvm::Value* address =
      builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), function->getArg(kMemories), number);
  llvm::Value* offset = builder.CreateLoad(builder.getInt64Ty(), address);
  return builder.CreateGEP(builder.getInt8Ty(), memory_, offset, name);
}

void ClusterEmitter::Declare() {
  auto* type = llvm::FunctionType::get(
      builder.getVoidTy(), {builder.getPtrTy(), builder.getPtrTy(), builder.getPtrTy()}, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, code.entry, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  launch = function->getArg(kNumbers);
}

llvm::Value* ClusterEmitter::FindThread() {
  memory_ = Field(kMemory, builder.getPtrTy(), "memory");
  scratch = MemoryAt(kScratch, "scratch");
  shared = MemoryAt(kShared, "shared");
  record = MemoryAt(kRecord, "record");
  prints = MemoryAt(kPrints, "prints");
  thread = Field(kNumber, builder.getInt64Ty(), "thread");
  return Field(kCore, builder.getInt64Ty(), "core");
}

llvm::Value* ClusterEmitter::TensorMemory(unsigned number) {
  return MemoryAt(kFirstTensor + number, "tensor");
}

llvm::Value* ClusterEmitter::InWorkgroupMemory(const ir::Value* buffer) {
  llvm::Value* scratchpad = Field(kScratchpad, builder.getPtrTy(), "scratchpad");
  auto offset = static_cast<uint64_t>(scratchpad_bytes);
  scratchpad_bytes += ir::WorkgroupBytes(buffer->type());
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), scratchpad, offset,
                                            buffer->name().str());
}

void ClusterEmitter::Wait() { WaitForAny(builder.getInt32(0)); }

llvm::Value* ClusterEmitter::WaitForAny(llvm::Value* told) {
  auto* type = llvm::FunctionType::get(builder.getInt32Ty(),
                                       {builder.getPtrTy(), builder.getInt32Ty()}, false);
  llvm::Value* wait = Field(kWait, builder.getPtrTy(), "wait");
  return builder.CreateCall(type, wait, {function->getArg(kThread), told});
}

void ClusterEmitter::BeginCopy(const BlockCopy& copy) {
  auto* pointer = builder.getPtrTy();
  auto* number = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(
      builder.getVoidTy(), {pointer, pointer, pointer, number, number, number, number}, false);
  builder.CreateCall(type, Field(kCopy, pointer, "copy"),
                     {function->getArg(kThread), copy.to, copy.from, copy.row_bytes, copy.rows,
                      copy.to_stride, copy.from_stride});
}

void ClusterEmitter::AwaitCopies(llvm::Value* workgroup, llvm::Value* bytes) {
  auto* pointer = builder.getPtrTy();
  auto* type =
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, builder.getInt64Ty()}, false);
  builder.CreateCall(type, Field(kAwait, pointer, "await"),
                     {function->getArg(kThread), workgroup, bytes});
}

}  // namespace kdl::codegen::cluster
