#include <llvm/IR/MDBuilder.h>

#include <cstdint>
#include <iterator>

#include "codegen/llvm/emitter.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "kdl/kernel_abi.h"

namespace kdl::codegen {

namespace {

void StoreTrapField(Emitter& emitter, unsigned field, llvm::Value* value) {
  emitter.builder.CreateStore(value,
                              FieldAddress(emitter, emitter.abi.kdl_trap, emitter.trap, field));
}

void MakeTrapExit(Emitter& emitter) {
  auto& exit = emitter.trap_exit;
  exit.block = llvm::BasicBlock::Create(emitter.context(), "trap", emitter.function);
  llvm::IRBuilder<> builder(exit.block);
  exit.code = builder.CreatePHI(builder.getInt32Ty(), 2, "code");
  exit.location = builder.CreatePHI(builder.getInt32Ty(), 2, "location");
  exit.index = builder.CreatePHI(builder.getInt64Ty(), 2, "index");
  exit.bound = builder.CreatePHI(builder.getInt64Ty(), 2, "bound");
}

/// Returns the function void kdl_trapped(kdl_trap*, int32_t* stop, int32_t code, int32_t location, int64_t index, int64_t
/// bound), which writes a trap. Debuggers can stop in it: its caller is at the statement that traps.
llvm::Function* TrappedFunction(const Emitter& emitter) {
  constexpr const char* kName = "kdl_trapped";
  if (llvm::Function* made = emitter.module.getFunction(kName)) return made;
  llvm::IRBuilder<> builder(emitter.context());
  llvm::Type* word = builder.getInt32Ty();
  llvm::Type* number = builder.getInt64Ty();
  llvm::Type* pointer = builder.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, word, word, number, number},
                              false),
      llvm::GlobalValue::InternalLinkage, kName, emitter.module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setUWTableKind(llvm::UWTableKind::Default);
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", function));
  constexpr unsigned kFields[] = {kdl_trap_fields::code, kdl_trap_fields::location,
                                  kdl_trap_fields::index, kdl_trap_fields::bound};
  for (unsigned i = 0; i < std::size(kFields); ++i)
    builder.CreateStore(
        function->getArg(2 + i),
        builder.CreateStructGEP(emitter.abi.kdl_trap, function->getArg(0), kFields[i]));
  builder.CreateAlignedStore(builder.getInt32(1), function->getArg(1), llvm::Align(4))
      ->setAtomic(llvm::AtomicOrdering::Monotonic);
  builder.CreateRetVoid();
  return function;
}

/// Like TrapUnless, but the code that leaves the kernel belongs to the statement that traps.
void TrapInPlace(Emitter& emitter, llvm::Value* ok, const TrapLocation& location,
                 llvm::Value* index, llvm::Value* bound) {
  auto& builder = emitter.builder;
  auto* go_on = llvm::BasicBlock::Create(emitter.context(), "", emitter.function);
  auto* trap = llvm::BasicBlock::Create(emitter.context(), "trap", emitter.function);
  builder.CreateCondBr(ok, go_on, trap);
  builder.SetInsertPoint(trap);
  FindTrap(emitter);
  auto number = static_cast<uint32_t>(LocationIndex(emitter.code, location));
  builder.CreateCall(
      TrappedFunction(emitter),
      {emitter.trap, emitter.stop, builder.getInt32(static_cast<uint32_t>(location.code)),
       builder.getInt32(number), index, bound});
  Leave(emitter, builder, Ending::Trapped);
  builder.SetInsertPoint(go_on);
}

}  // namespace

void Leave(Emitter& emitter, llvm::IRBuilder<>& builder, Ending ending) {
  if (!emitter.coroutine) {
    int32_t code = ending == Ending::Trapped ? KDL_TRAPPED : KDL_DONE;
    builder.CreateRet(builder.getInt32(static_cast<uint32_t>(code)));
    return;
  }
  builder.CreateStore(builder.getInt32(static_cast<uint32_t>(ending)), emitter.coroutine->state);
  builder.CreateBr(emitter.coroutine->end);
}

void TrapUnless(Emitter& emitter, llvm::Value* ok, const TrapLocation& location, llvm::Value* index,
                llvm::Value* bound) {
  auto& builder = emitter.builder;
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(ok); known && known->isOne()) return;
  if (emitter.debugging.keeps_variables) return TrapInPlace(emitter, ok, location, index, bound);
  if (!emitter.trap_exit.block) MakeTrapExit(emitter);
  llvm::BasicBlock* here = builder.GetInsertBlock();
  auto* go_on = llvm::BasicBlock::Create(emitter.context(), "", emitter.function);
  llvm::MDBuilder metadata(emitter.context());
  builder.CreateCondBr(ok, go_on, emitter.trap_exit.block, metadata.createLikelyBranchWeights());
  int64_t number = LocationIndex(emitter.code, location);
  emitter.trap_exit.code->addIncoming(builder.getInt32(static_cast<uint32_t>(location.code)), here);
  emitter.trap_exit.location->addIncoming(builder.getInt32(static_cast<uint32_t>(number)), here);
  emitter.trap_exit.index->addIncoming(index, here);
  emitter.trap_exit.bound->addIncoming(bound, here);
  builder.SetInsertPoint(go_on);
}

void StoreTrap(Emitter& emitter, llvm::Value* code, llvm::Value* location) {
  auto& builder = emitter.builder;
  StoreTrapField(emitter, kdl_trap_fields::code, code);
  StoreTrapField(emitter, kdl_trap_fields::location, location);
  if (!emitter.stop) return;
  auto* stop = builder.CreateAlignedStore(builder.getInt32(1), emitter.stop, llvm::Align(4));
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);
}

void FindTrap(Emitter& emitter) {
  if (emitter.core_slot)
    emitter.trap =
        FieldAddress(emitter, emitter.abi.kdl_core, PresentCore(emitter), kdl_core_fields::trap);
}

void FinishTraps(Emitter& emitter) {
  auto& exit = emitter.trap_exit;
  if (!exit.block) return;
  auto& builder = emitter.builder;
  builder.SetInsertPoint(exit.block);
  FindTrap(emitter);
  StoreTrapField(emitter, kdl_trap_fields::index, exit.index);
  StoreTrapField(emitter, kdl_trap_fields::bound, exit.bound);
  StoreTrap(emitter, exit.code, exit.location);
  Leave(emitter, builder, Ending::Trapped);
}

void PollStop(Emitter& emitter) {
  auto& builder = emitter.builder;
  auto* stop =
      builder.CreateAlignedLoad(builder.getInt32Ty(), emitter.stop, llvm::Align(4), "stop");
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);
  if (!emitter.stopped) {
    emitter.stopped = llvm::BasicBlock::Create(emitter.context(), "stopped", emitter.function);
    llvm::IRBuilder<> at_stop(emitter.stopped);
    Leave(emitter, at_stop, Ending::Stopped);
  }
  auto* go_on = llvm::BasicBlock::Create(emitter.context(), "", emitter.function);
  llvm::MDBuilder metadata(emitter.context());
  builder.CreateCondBr(builder.CreateICmpEQ(stop, builder.getInt32(0)), go_on, emitter.stopped,
                       metadata.createLikelyBranchWeights());
  builder.SetInsertPoint(go_on);
}

}  // namespace kdl::codegen
