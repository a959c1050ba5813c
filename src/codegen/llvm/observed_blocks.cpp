#include "codegen/llvm/observed_blocks.h"

#include <algorithm>

#include "ir/op_kind.h"

namespace kdl::codegen {

bool IsObserved(const Emitter& emitter, const ir::Op* loop) {
  const Debugging& debugging = emitter.debugging;
  bool may_be = debugging.observes_blocks && debugging.variables &&
                loop->kind() == ir::OpKind::Loop && !loop->loc().call;
  if (!may_be) return false;
  const ir::Loc& loc = loop->loc();
  const SourceFunction* source = debugging.variables->FindFunction(emitter.kernel.name, loc);
  if (!source || std::ranges::count(source->spmds, SourcePlace{loc.line, loc.column}) == 0)
    return false;
  // Loops that passes make inside of the block have its location, too.
  const ir::Op* op = loop->parent_region()->parent();
  for (; op; op = op->parent_region()->parent()) {
    if (op->kind() == ir::OpKind::Loop && op->loc() == loc) return false;
  }
  return true;
}

void TellBlock(Emitter& emitter, llvm::Value* number) {
  auto& builder = emitter.builder;
  const AbiTypes& abi = emitter.abi;
  llvm::Value* core = PresentCore(emitter);
  llvm::Value* launch = LoadField(emitter, abi.kdl_core, core, kdl_core_fields::launch, "launch");
  llvm::Value* tell = LoadField(emitter, abi.kdl_launch, launch, kdl_launch_fields::block, "tell");
  llvm::BasicBlock* told = emitter.NewBlock("told");
  llvm::BasicBlock* on = emitter.NewBlock("");
  builder.CreateCondBr(builder.CreateIsNull(tell), on, told);
  builder.SetInsertPoint(told);
  auto* type = llvm::FunctionType::get(
      builder.getVoidTy(), {core->getType(), builder.getInt32Ty(), builder.getInt64Ty()}, false);
  llvm::Value* stage = builder.getInt32(static_cast<uint32_t>(emitter.debugging.stage));
  builder.CreateCall(type, tell, {core, stage, number})->addFnAttr(llvm::Attribute::NoUnwind);
  builder.CreateBr(on);
  builder.SetInsertPoint(on);
}

}  // namespace kdl::codegen
