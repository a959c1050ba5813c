#include "codegen/ptx/emitter.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Emits vector loads and stores of tensors. If a machine requires vectors to be aligned to their size, only
// aligned vectors reach this code (targets/simt/tiles/side_points.h).

namespace kdl::codegen::ptx {

namespace {

llvm::Align AlignmentOf(ir::Type vector) {
  return llvm::Align(static_cast<uint64_t>(ir::Lanes(vector) * Bytes(vector->scalar)));
}

void SetScopes(llvm::Instruction* access, const Memory& memory) {
  if (!memory.alias_scope) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, memory.alias_scope);
  if (memory.noalias) access->setMetadata(llvm::LLVMContext::MD_noalias, memory.noalias);
}

}  // namespace

bool PtxEmitter::EmitVector(ir::Op* op) {
  bool loads = op->kind() == ir::OpKind::Load;
  ir::Type type = loads ? op->result()->type() : op->operand(0)->type();
  if (!ir::IsVector(type)) return false;
  KDL_CHECK(op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask)).empty() &&
                type->scalar != Scalar::Bool,
            "this machine has no vectors with masks or of bools");
  size_t at_tensor = loads ? size_t{ir::LoadOp::at_tensor} : size_t{ir::StoreOp::at_tensor};
  size_t at_index = loads ? size_t{ir::LoadOp::at_index} : size_t{ir::StoreOp::at_index};
  const ir::Value* tensor = op->Segment(at_tensor)[0];
  llvm::Value* address = AccessAddress(*this, op, tensor, op->Segment(at_index));
  const Memory& memory = memories.at(tensor);
  if (loads) {
    llvm::Type* vector =
        RegisterType(context(), type)->getWithNewType(MemoryType(context(), type->scalar));
    llvm::LoadInst* load = builder.CreateAlignedLoad(vector, address, AlignmentOf(type));
    SetScopes(load, memory);
    Set(op->result(), load);
  } else {
    SetScopes(builder.CreateAlignedStore(Get(op->operand(0)), address, AlignmentOf(type)), memory);
  }
  return true;
}

}  // namespace kdl::codegen::ptx
