#include <llvm/IR/Intrinsics.h>

#include <cstdint>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/op_kind.h"
#include "kdl/kernel_abi.h"
#include "support/scalar.h"
#include "support/size.h"

// The tensors that a launch allocates for all its cores. They are placed one after another in
// kdl_launch.shared, and each is aligned to a cache line.

namespace kdl::codegen {

namespace {

constexpr uint64_t kLine = KDL_SCRATCH_ALIGNMENT;

std::vector<const ir::Op*> TensorsOf(const ir::Function& kernel) {
  std::vector<const ir::Op*> tensors;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::LaunchTensor) tensors.push_back(op);
  });
  return tensors;
}

/// Rounds a number of bytes up to a multiple of the cache line.
llvm::Value* RoundedUp(Emitter& emitter, llvm::Value* bytes) {
  auto& builder = emitter.builder;
  llvm::Value* up = builder.CreateAdd(bytes, builder.getInt64(kLine - 1));
  return builder.CreateAnd(up, builder.getInt64(~(kLine - 1)));
}

/// Returns row-major strides, and sets `bytes` to the size of the tensor. Nothing overflows, since the sizes
/// of the launch have already been checked.
std::vector<llvm::Value*> EmitStrides(Emitter& emitter, ir::Type type, llvm::Value*& bytes) {
  auto& builder = emitter.builder;
  std::vector<llvm::Value*> strides(type->dims.size());
  llvm::Value* count = builder.getInt64(1);
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = count;
    count = builder.CreateMul(count, EmitSize(emitter, type->dims[d]));
  }
  bytes = builder.CreateMul(count, builder.getInt64(static_cast<uint64_t>(Bytes(type->scalar))));
  return strides;
}

/// Returns the size of one tensor in bytes. Sets `fault` to true if a number overflows 64 bits or a size is
/// negative.
llvm::Value* CheckedBytes(Emitter& emitter, ir::Type type, llvm::Value*& fault) {
  auto& builder = emitter.builder;
  llvm::Value* bytes = builder.getInt64(static_cast<uint64_t>(Bytes(type->scalar)));
  for (Size dim : type->dims) {
    llvm::Value* size = EmitSaturating(emitter, dim, fault);
    fault = builder.CreateOr(fault, builder.CreateICmpSLT(size, builder.getInt64(0)));
    llvm::Value* pair =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::smul_with_overflow, bytes, size);
    fault = builder.CreateOr(fault, builder.CreateExtractValue(pair, 1));
    bytes = builder.CreateExtractValue(pair, 0);
  }
  return bytes;
}

}  // namespace

bool HasLaunchTensors(const ir::Function& kernel) { return !TensorsOf(kernel).empty(); }

std::vector<LaunchTensorMemory> LaunchTensors(Emitter& emitter, llvm::Value* shared) {
  std::vector<LaunchTensorMemory> memories;
  auto& builder = emitter.builder;
  for (const ir::Op* op : TensorsOf(emitter.kernel)) {
    llvm::Value* bytes = nullptr;
    Memory memory;
    memory.base = shared;
    memory.strides = EmitStrides(emitter, op->result()->type(), bytes);
    memories.push_back({op->result(), std::move(memory)});
    shared = builder.CreateGEP(builder.getInt8Ty(), shared, RoundedUp(emitter, bytes));
  }
  return memories;
}

llvm::Function* EmitSharedBytes(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code) {
  const ir::Function& kernel = *code.kernel;
  std::vector<const ir::Op*> tensors = TensorsOf(kernel);
  if (tensors.empty()) return nullptr;
  Emitter emitter(module, abi, kernel, code, names);
  auto& builder = emitter.builder;
  llvm::Type* ptr = llvm::PointerType::get(emitter.context(), 0);
  auto* type = llvm::FunctionType::get(builder.getInt64Ty(), {ptr, builder.getInt64Ty()}, false);
  emitter.function = DeclareHostFunction(emitter, type, "shared_bytes");
  emitter.args = emitter.function->getArg(0);
  emitter.core_num = emitter.function->getArg(1);
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  ReadDims(emitter);
  llvm::Value* fault = builder.getFalse();
  llvm::Value* total = builder.getInt64(0);
  auto add = [&](llvm::Value* bytes) {
    llvm::Value* pair =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_with_overflow, total, bytes);
    fault = builder.CreateOr(fault, builder.CreateExtractValue(pair, 1));
    total = builder.CreateExtractValue(pair, 0);
  };
  for (const ir::Op* op : tensors) {
    add(CheckedBytes(emitter, op->result()->type(), fault));
    add(builder.getInt64(kLine - 1));
    total = builder.CreateAnd(total, builder.getInt64(~(kLine - 1)));
  }
  builder.CreateRet(
      builder.CreateSelect(fault, builder.getInt64(static_cast<uint64_t>(-1)), total));
  return emitter.function;
}

}  // namespace kdl::codegen
