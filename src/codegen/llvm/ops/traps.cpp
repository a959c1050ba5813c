#include <llvm/IR/MDBuilder.h>

#include <cstdint>

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
