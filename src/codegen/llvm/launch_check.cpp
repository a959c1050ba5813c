#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>
#include <cstdint>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/type.h"
#include "kdl/kernel_abi.h"
#include "support/names.h"
#include "support/size.h"

// int32_t CHECK(int64_t* dims, const kdl_args* args, kdl_trap* trap): every tensor dimension that
// is an expression over the sizes must have its value. Arithmetic that leaves 64 bits is a trap of
// its own.

namespace kdl::codegen {

namespace {

bool IsDerived(Size size) {
  return size->kind != SizeKind::Constant && size->kind != SizeKind::Symbol;
}

bool NeedsCheck(const ir::Function& kernel) {
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
    for (Size dim : param.value->type()->dims) {
      if (IsDerived(dim)) return true;
    }
  }
  return false;
}

TrapLocation PlaceOf(Emitter& emitter, Name text, int32_t code, int32_t dimension) {
  TrapLocation place;
  place.file = emitter.kernel.loc.file;
  place.line = emitter.kernel.loc.line;
  place.column = emitter.kernel.loc.column;
  place.text = text;
  place.code = code;
  place.dimension = dimension;
  return place;
}

llvm::Value* EmitChecked(Emitter& emitter, Size size, Name text) {
  auto& builder = emitter.builder;
  if (!IsDerived(size)) return EmitSize(emitter, size);
  llvm::Value* lhs = EmitChecked(emitter, size->lhs, text);
  llvm::Value* rhs = EmitChecked(emitter, size->rhs, text);
  llvm::Constant* zero = builder.getInt64(0);
  if (size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod) {
    TrapUnless(emitter, builder.CreateICmpNE(rhs, zero),
               PlaceOf(emitter, text, KDL_TRAP_DIVISION, -1), zero, zero);
    return size->kind == SizeKind::Mod ? EmitFloorModulo(emitter, lhs, rhs, true)
                                       : EmitFloorDivide(emitter, lhs, rhs, true);
  }
  auto id = size->kind == SizeKind::Add   ? llvm::Intrinsic::sadd_with_overflow
            : size->kind == SizeKind::Sub ? llvm::Intrinsic::ssub_with_overflow
                                          : llvm::Intrinsic::smul_with_overflow;
  llvm::Value* pair = builder.CreateBinaryIntrinsic(id, lhs, rhs);
  TrapUnless(emitter, builder.CreateNot(builder.CreateExtractValue(pair, 1)),
             PlaceOf(emitter, text, KDL_TRAP_OVERFLOW, -1), zero, zero);
  return builder.CreateExtractValue(pair, 0);
}

void CheckDimension(Emitter& emitter, llvm::Value* tensor, size_t d, Size size, Name text) {
  auto& builder = emitter.builder;
  llvm::Value* expected = EmitChecked(emitter, size, text);
  llvm::Value* sizes =
      FieldAddress(emitter, emitter.abi.kdl_tensor, tensor, kdl_tensor_fields::size);
  llvm::Value* found = builder.CreateLoad(
      builder.getInt64Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), sizes, d));
  TrapUnless(emitter, builder.CreateICmpEQ(found, expected),
             PlaceOf(emitter, text, KDL_TRAP_CONDITION, static_cast<int32_t>(d)), found, expected);
}

void DeclareCheck(Emitter& emitter) {
  llvm::Type* ptr = llvm::PointerType::get(emitter.context(), 0);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getInt32Ty(emitter.context()), {ptr, ptr, ptr}, false);
  emitter.function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                            emitter.code.check, emitter.module);
  emitter.function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  emitter.function->addFnAttr(llvm::Attribute::NoUnwind);
  emitter.args = emitter.function->getArg(1);
  emitter.trap = emitter.function->getArg(2);
}

}  // namespace

void EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel,
                     Names& names, KernelCode& code) {
  if (!NeedsCheck(kernel)) return;
  code.check = code.entry + ".check";
  Emitter emitter(module, abi, kernel, code, names);
  DeclareCheck(emitter);
  auto& builder = emitter.builder;
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    llvm::Value* address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), emitter.function->getArg(0), i);
    emitter.dims[kernel.dims[i]] = builder.CreateLoad(builder.getInt64Ty(), address);
  }
  llvm::Value* tensors =
      LoadField(emitter, abi.kdl_args, emitter.args, kdl_args_fields::tensors, "tensors");
  uint64_t number = 0;
  for (const ir::Param& param : kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind != ir::TypeKind::Tensor) continue;
    llvm::Value* tensor = builder.CreateConstInBoundsGEP1_64(abi.kdl_tensor, tensors, number++);
    for (size_t d = 0; d < type->dims.size(); ++d) {
      if (!IsDerived(type->dims[d])) continue;
      Name text = names.Intern(fmt::format("dimension {} of {} = {}", d, param.value->name().text(),
                                           ToString(type->dims[d])));
      CheckDimension(emitter, tensor, d, type->dims[d], text);
    }
  }
  builder.CreateRet(builder.getInt32(0));
  FinishTraps(emitter);
}

}  // namespace kdl::codegen
