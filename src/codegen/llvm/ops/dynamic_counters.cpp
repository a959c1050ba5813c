#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include <cstdint>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/views.h"

// Dynamically scheduled loops. The cores of a launch claim iteration numbers from a shared counter, and each
// number is claimed once:
//
//   taken = taken >= 0 ? taken : counter++          the core may still have a number from the previous run
//   while taken < before + hi: the body with taken - before; taken = counter++
//   before += hi
//
// The numbers of all runs of a loop form one sequence, so one core may already be in a later run than
// another. A number that a core claims beyond the end of a run belongs to the next run.

namespace kdl::codegen {

namespace {

constexpr int64_t kNoneTaken = -1;

bool DynamicCounters(const ir::Op* op) { return op->HasAttr(ir::AttrKey::DynamicCounter); }

llvm::Value* LoadInt(Emitter& emitter, llvm::Value* address, const char* name) {
  return emitter.builder.CreateLoad(emitter.builder.getInt64Ty(), address, name);
}

/// Claims the next number of the counter. The operation can be relaxed, since iterations do not read each
/// other's writes.
void Take(Emitter& emitter, const DynamicState& state) {
  auto& builder = emitter.builder;
  llvm::Value* number =
      builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, state.counter, builder.getInt64(1),
                              llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic);
  builder.CreateStore(number, state.taken);
}

/// Claims a number unless the core still has one.
void TakeFirst(Emitter& emitter, const DynamicState& state) {
  auto& builder = emitter.builder;
  llvm::BasicBlock* take = emitter.NewBlock("take");
  llvm::BasicBlock* held = emitter.NewBlock("held");
  llvm::Value* taken = LoadInt(emitter, state.taken, "taken");
  builder.CreateCondBr(builder.CreateICmpSLT(taken, builder.getInt64(0)), take, held);
  builder.SetInsertPoint(take);
  Take(emitter, state);
  builder.CreateBr(held);
  builder.SetInsertPoint(held);
}

}  // namespace

int64_t CountDynamicCounters(const ir::Function& kernel) {
  int64_t count = 0;
  ir::Walk(kernel.body, [&](const ir::Op* op) { count += DynamicCounters(op) ? 1 : 0; });
  return count;
}

void PrepareDynamicCounters(Emitter& emitter) {
  auto& builder = emitter.builder;
  WalkEmitted(emitter, [&](const ir::Op* op) {
    if (!DynamicCounters(op)) return;
    DynamicState& state = emitter.dynamic_states[op];
    state.counter = builder.CreateConstInBoundsGEP1_64(
        builder.getInt64Ty(), emitter.dynamic_counters,
        static_cast<uint64_t>(op->attr<ir::AttrKey::DynamicCounter>()), "claim");
    state.before = StackPlace(emitter, builder.getInt64Ty(), "before");
    state.taken = StackPlace(emitter, builder.getInt64Ty(), "taken");
    builder.CreateStore(builder.getInt64(0), state.before);
    builder.CreateStore(builder.getInt64(static_cast<uint64_t>(kNoneTaken)), state.taken);
  });
}

void EmitDynamicLoop(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  const DynamicState& state = emitter.dynamic_states.at(op);
  llvm::BasicBlock* next = emitter.NewBlock("next");
  llvm::BasicBlock* body = emitter.NewBlock("block");
  llvm::BasicBlock* done = emitter.NewBlock("done");
  llvm::Value* count = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, emitter.Get(ir::LoopOp(op).hi()), builder.getInt64(0));
  TakeFirst(emitter, state);
  builder.CreateBr(next);

  builder.SetInsertPoint(next);
  llvm::Value* before = LoadInt(emitter, state.before, "before");
  llvm::Value* number = builder.CreateSub(LoadInt(emitter, state.taken, "taken"), before, "number");
  builder.CreateCondBr(builder.CreateICmpSLT(number, count), body, done);

  builder.SetInsertPoint(body);
  emitter.Set(op->region()->param(0), number);
  EmitLoopBody(emitter, op->region(), true);
  Take(emitter, state);
  builder.CreateBr(next);

  builder.SetInsertPoint(done);
  builder.CreateStore(builder.CreateAdd(before, count), state.before);
}

}  // namespace kdl::codegen
