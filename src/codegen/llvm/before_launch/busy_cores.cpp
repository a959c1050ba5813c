#include <llvm/IR/Intrinsics.h>

#include <cstdint>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/op_kind.h"
#include "kdl/kernel_abi.h"
#include "support/size.h"

// Emits int64_t BUSY_CORES(const kdl_args* args). It returns the largest number that a `busy_cores` op of the
// kernel states, or INT64_MAX if computing one of these numbers overflows 64 bits.

namespace kdl::codegen {

namespace {

std::vector<Size> BlockCounts(const ir::Function& kernel) {
  std::vector<Size> counts;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::BusyCores) counts.push_back(op->attr<ir::AttrKey::Size>());
  });
  return counts;
}

}  // namespace

llvm::Value* WithOverflow(Emitter& emitter, SizeKind kind, llvm::Value* lhs, llvm::Value* rhs) {
  auto id = kind == SizeKind::Add   ? llvm::Intrinsic::sadd_with_overflow
            : kind == SizeKind::Sub ? llvm::Intrinsic::ssub_with_overflow
                                    : llvm::Intrinsic::smul_with_overflow;
  return emitter.builder.CreateBinaryIntrinsic(id, lhs, rhs);
}

llvm::Value* EmitSaturating(Emitter& emitter, Size size, llvm::Value*& overflow) {
  auto& builder = emitter.builder;
  if (size->kind == SizeKind::Constant || size->kind == SizeKind::Symbol)
    return EmitSize(emitter, size);
  llvm::Value* lhs = EmitSaturating(emitter, size->lhs, overflow);
  llvm::Value* rhs = EmitSaturating(emitter, size->rhs, overflow);
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  if (divides &&
      !IsConstant(size->rhs)) {  // a division by 0 counts as overflow; the cores will trap on it
    llvm::Value* is_zero = builder.CreateIsNull(rhs);
    overflow = builder.CreateOr(overflow, is_zero);
    rhs = builder.CreateSelect(is_zero, builder.getInt64(1), rhs);
  }
  if (size->kind == SizeKind::FloorDiv) return EmitFloorDivide(emitter, lhs, rhs, true);
  if (size->kind == SizeKind::Mod) return EmitFloorModulo(emitter, lhs, rhs, true);
  if (size->kind == SizeKind::Min)
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lhs, rhs);
  llvm::Value* pair = WithOverflow(emitter, size->kind, lhs, rhs);
  overflow = builder.CreateOr(overflow, builder.CreateExtractValue(pair, 1));
  return builder.CreateExtractValue(pair, 0);
}

llvm::Function* EmitBusyCores(llvm::Module& module, const AbiTypes& abi, Names& names,
                              KernelCode& code) {
  const ir::Function& kernel = *code.kernel;
  std::vector<Size> counts = BlockCounts(kernel);
  if (counts.empty()) return nullptr;
  Emitter emitter(module, abi, kernel, code, names);
  auto& builder = emitter.builder;
  auto* type = llvm::FunctionType::get(builder.getInt64Ty(),
                                       {llvm::PointerType::get(emitter.context(), 0)}, false);
  emitter.function = DeclareHostFunction(emitter, type, "busy_cores");
  emitter.args = emitter.function->getArg(0);
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  ReadDims(emitter);
  llvm::Value* most = builder.getInt64(0);
  llvm::Value* overflow = builder.getFalse();
  for (Size count : counts) {
    llvm::Value* value = EmitSaturating(emitter, count, overflow);
    most = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, most, value);
  }
  builder.CreateRet(builder.CreateSelect(overflow, builder.getInt64(INT64_MAX), most));
  return emitter.function;
}

}  // namespace kdl::codegen
