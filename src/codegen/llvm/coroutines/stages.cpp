#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/llvm/begin_debugging.h"
#include "codegen/llvm/coroutines/coroutines.h"
#include "codegen/llvm/emitter.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "ir/ring.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// A stage is a part of a kernel that runs concurrently with other stages; pipes connect them. Each stage
// becomes an LLVM coroutine. The kernel starts all stages and resumes them in order, round after round, until
// all have ended. A stage runs until it must wait for another stage.

namespace kdl::codegen {

namespace {

constexpr uint32_t kNotStarted = 1;  // the initial state of a coroutine, which counts as waiting

llvm::Value* Call(Emitter& emitter, llvm::Intrinsic::ID intrinsic,
                  std::vector<llvm::Value*> arguments, std::vector<llvm::Type*> types = {}) {
  return emitter.builder.CreateIntrinsic(intrinsic, types, arguments);
}

}  // namespace

void DeclareCoroutine(Emitter& emitter, const std::string& symbol) {
  llvm::Type* ptr = llvm::PointerType::get(emitter.context(), 0);
  emitter.function =
      llvm::Function::Create(llvm::FunctionType::get(ptr, {ptr, ptr}, false),
                             llvm::GlobalValue::InternalLinkage, symbol, emitter.module);
  emitter.function->addFnAttr(llvm::Attribute::NoUnwind);
  emitter.function->setPresplitCoroutine();
  emitter.function->setUWTableKind(llvm::UWTableKind::Default);
  emitter.args = emitter.function->getArg(0);
  emitter.args->setName("args");
  emitter.function->getArg(1)->setName("core");
}

/// Begins a coroutine. Calling the coroutine's function only creates it; the body starts to run when the
/// coroutine is first resumed.
void BeginCoroutine(Emitter& emitter, const ir::Op* stage, llvm::Value* memory) {
  auto& builder = emitter.builder;
  llvm::Constant* null = llvm::ConstantPointerNull::get(builder.getPtrTy());
  llvm::Value* state = builder.CreateAlloca(builder.getInt32Ty(), nullptr, "state");
  llvm::Value* id = Call(emitter, llvm::Intrinsic::coro_id,
                         {builder.getInt32(KDL_SCRATCH_ALIGNMENT), state, null, null});
  llvm::Value* frame = EmitFrame(builder, memory);
  llvm::Value* handle = Call(emitter, llvm::Intrinsic::coro_begin, {id, frame});
  builder.CreateStore(builder.getInt32(kNotStarted), state);

  llvm::BasicBlock* end = emitter.NewBlock("end");
  emitter.coroutine = Coroutine{stage, state, end};
  llvm::BasicBlock* start = emitter.NewBlock("start");
  EmitSuspend(emitter, start);
  builder.SetInsertPoint(end);
  Call(emitter, llvm::Intrinsic::coro_end,
       {handle, builder.getFalse(), llvm::ConstantTokenNone::get(emitter.context())});
  builder.CreateRet(handle);
  builder.SetInsertPoint(start);
}

llvm::Value* CoroutineState(Emitter& emitter, llvm::Value* handle) {
  auto& builder = emitter.builder;
  constexpr uint32_t kAlignment = 4;
  llvm::Value* address = Call(emitter, llvm::Intrinsic::coro_promise,
                              {handle, builder.getInt32(kAlignment), builder.getFalse()});
  return builder.CreateLoad(builder.getInt32Ty(), address, "state");
}

namespace {

/// Emits the values that the kernel computes before a stage, since the stage may use them.
void EmitValuesBefore(Emitter& emitter, const ir::Op* stage) {
  for (ir::Op* op : *emitter.kernel.body) {
    if (op == stage) return;
    if (!op->results().empty() && op->regions().empty()) EmitOp(emitter, op);
  }
}

void EmitStage(Emitter& kernel, ir::Op* op) {
  Emitter emitter(kernel.module, kernel.abi, kernel.kernel, kernel.code, kernel.names);
  emitter.scratch_plan = kernel.scratch_plan;
  emitter.debugging = kernel.debugging;
  emitter.debugging.stage = static_cast<int>(kernel.code.stages.size());
  const std::string stage = op->attr<ir::AttrKey::Name>().str();
  DeclareCoroutine(emitter, kernel.code.entry + "." + stage);
  emitter.builder.SetInsertPoint(emitter.NewBlock("entry"));
  const DebuggingScope scope(kernel);
  BeginDebugging(emitter, fmt::format("{}.{}", kernel.kernel.base_name(), stage));
  llvm::Value* scratch = LoadField(emitter, emitter.abi.kdl_core, emitter.function->getArg(1),
                                   kdl_core_fields::scratch, "scratch");
  BeginCoroutine(emitter, op, scratch);
  EmitPrologue(emitter);
  EmitValuesBefore(emitter, op);
  EmitRegion(emitter, op->region());
  Leave(emitter, emitter.builder, Ending::Done);
  FinishTraps(emitter);
  // If `stores_past_caches` is set, the kernel executes a fence before it returns.
  kernel.stores_past_caches |= emitter.stores_past_caches;
  kernel.code.stages.push_back(emitter.function->getName().str());
  kernel.stages.push_back(
      kernel.builder.CreateCall(emitter.function, {kernel.args, PresentCore(kernel)}));
}

llvm::Value* IsEnding(Emitter& emitter, llvm::Value* state, Ending ending) {
  return emitter.builder.CreateICmpEQ(state,
                                      emitter.builder.getInt32(static_cast<uint32_t>(ending)));
}

/// Returns the callback of an observer such as a trace, or null if there is no observer.
llvm::Value* TurnFunction(Emitter& emitter) {
  const AbiTypes& abi = emitter.abi;
  llvm::Value* launch =
      LoadField(emitter, abi.kdl_core, PresentCore(emitter), kdl_core_fields::launch, "launch");
  return LoadField(emitter, abi.kdl_launch, launch, kdl_launch_fields::turn, "tell");
}

/// Tells the observer that a stage has run and has now suspended or ended.
void TellTurn(Emitter& emitter, llvm::Value* tell, size_t stage, llvm::Value* state) {
  auto& builder = emitter.builder;
  llvm::BasicBlock* told = emitter.NewBlock("told");
  llvm::BasicBlock* on = emitter.NewBlock("");
  builder.CreateCondBr(builder.CreateIsNull(tell), on, told);
  builder.SetInsertPoint(told);
  llvm::Value* core = PresentCore(emitter);
  auto* type = llvm::FunctionType::get(
      builder.getVoidTy(), {core->getType(), builder.getInt32Ty(), builder.getInt32Ty()}, false);
  llvm::Value* number = builder.getInt32(static_cast<uint32_t>(stage));
  builder.CreateCall(type, tell, {core, number, state})->addFnAttr(llvm::Attribute::NoUnwind);
  builder.CreateBr(on);
  builder.SetInsertPoint(on);
}

/// Resumes a stage unless it has ended. Leaves the kernel if the stage traps or stops.
void GiveTurn(Emitter& emitter, size_t number, llvm::Value* tell, llvm::BasicBlock* broken,
              llvm::PHINode* broken_state) {
  llvm::Value* stage = emitter.stages[number];
  auto& builder = emitter.builder;
  llvm::BasicBlock* turn = emitter.NewBlock("iteration");
  llvm::BasicBlock* next = emitter.NewBlock("next");
  builder.CreateCondBr(IsEnding(emitter, CoroutineState(emitter, stage), Ending::Done), next, turn);
  builder.SetInsertPoint(turn);
  llvm::cast<llvm::CallInst>(Call(emitter, llvm::Intrinsic::coro_resume, {stage}))
      ->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::Value* state = CoroutineState(emitter, stage);
  TellTurn(emitter, tell, number, state);
  broken_state->addIncoming(state, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(state, builder.getInt32(0)), broken, next);
  builder.SetInsertPoint(next);
}

/// Returns the core's progress, which increases with each tile that is pushed or popped and with each stage
/// that ends.
llvm::Value* Progress(Emitter& emitter, const std::vector<llvm::Value*>& states) {
  auto& builder = emitter.builder;
  llvm::Value* progress = builder.getInt64(0);
  for (const ir::Op* pipe : ir::PipesOf(emitter.kernel)) {
    for (int64_t counter : {ir::kRingPushed, ir::kRingPopped}) {
      llvm::Value* address = builder.CreateConstInBoundsGEP1_64(
          builder.getInt8Ty(), emitter.rings.at(pipe->result()).base,
          static_cast<uint64_t>(counter));
      progress = builder.CreateAdd(progress, builder.CreateLoad(builder.getInt64Ty(), address));
    }
  }
  for (llvm::Value* state : states) {
    llvm::Value* ended = IsEnding(emitter, state, Ending::Done);
    progress = builder.CreateAdd(progress, builder.CreateZExt(ended, builder.getInt64Ty()));
  }
  return progress;
}

/// Traps because no stage can continue, and records the ops at which the stages wait.
void TrapStuck(Emitter& emitter, const std::vector<llvm::Value*>& states) {
  auto& builder = emitter.builder;
  FindTrap(emitter);
  llvm::Value* waits =
      FieldAddress(emitter, emitter.abi.kdl_trap, emitter.trap, kdl_trap_fields::waits);
  llvm::Value* first = builder.getInt32(0);
  for (size_t i = states.size(); i-- > 0;) {
    if (i < KDL_MAX_WAITS) {
      builder.CreateStore(states[i],
                          builder.CreateConstInBoundsGEP1_64(builder.getInt32Ty(), waits, i));
    }
    first = builder.CreateSelect(IsEnding(emitter, states[i], Ending::Done), first, states[i]);
  }
  StoreTrap(emitter, builder.getInt32(KDL_TRAP_STUCK),
            builder.CreateSub(first, builder.getInt32(1)));
  Leave(emitter, builder, Ending::Trapped);
}

/// Leaves the kernel in the same way as a stage that has trapped or stopped. `state` is the state of that
/// stage's coroutine.
void EmitBroken(Emitter& emitter, llvm::Value* state) {
  auto& builder = emitter.builder;
  llvm::BasicBlock* trapped = emitter.NewBlock("trapped");
  llvm::BasicBlock* stopped = emitter.NewBlock("stopped");
  builder.CreateCondBr(IsEnding(emitter, state, Ending::Trapped), trapped, stopped);
  builder.SetInsertPoint(trapped);
  Leave(emitter, builder, Ending::Trapped);
  builder.SetInsertPoint(stopped);
  Leave(emitter, builder, Ending::Stopped);
}

}  // namespace

void EmitSuspend(Emitter& emitter, llvm::BasicBlock* again) {
  auto& builder = emitter.builder;
  llvm::Value* how = Call(emitter, llvm::Intrinsic::coro_suspend,
                          {llvm::ConstantTokenNone::get(emitter.context()), builder.getFalse()});
  // The switch has no case for the destruction of the coroutine, since its frame is in memory that the
  // runtime owns.
  llvm::SwitchInst* where = builder.CreateSwitch(how, emitter.coroutine->end, 1);
  where->addCase(builder.getInt8(0), again);
}

void RunStages(Emitter& emitter) {
  if (emitter.stages.empty()) return;
  auto& builder = emitter.builder;
  if (emitter.core_slot) FindRings(emitter);  // the rings may have moved since the kernel started
  EmptyRings(emitter);
  llvm::Value* tell = TurnFunction(emitter);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::BasicBlock* round = emitter.NewBlock("round");
  llvm::BasicBlock* running = emitter.NewBlock("running");
  llvm::BasicBlock* stuck = emitter.NewBlock("stuck");
  llvm::BasicBlock* broken = emitter.NewBlock("broken");
  llvm::BasicBlock* done = emitter.NewBlock("done");
  builder.SetInsertPoint(broken);
  llvm::PHINode* broken_state = builder.CreatePHI(builder.getInt32Ty(), 2, "state");
  EmitBroken(emitter, broken_state);

  builder.SetInsertPoint(before);
  builder.CreateBr(round);
  builder.SetInsertPoint(round);
  llvm::PHINode* last = builder.CreatePHI(builder.getInt64Ty(), 2, "last");
  last->addIncoming(builder.getInt64(0), before);
  for (size_t stage = 0; stage < emitter.stages.size(); ++stage)
    GiveTurn(emitter, stage, tell, broken, broken_state);
  std::vector<llvm::Value*> states;
  llvm::Value* waiting = builder.getInt32(0);
  for (llvm::Value* stage : emitter.stages) {
    states.push_back(CoroutineState(emitter, stage));
    waiting = builder.CreateOr(waiting, states.back());
  }
  builder.CreateCondBr(IsEnding(emitter, waiting, Ending::Done), done, running);

  builder.SetInsertPoint(running);
  llvm::Value* progress = Progress(emitter, states);
  last->addIncoming(progress, running);
  builder.CreateCondBr(builder.CreateICmpEQ(progress, last), stuck, round);

  builder.SetInsertPoint(stuck);
  TrapStuck(emitter, states);
  builder.SetInsertPoint(done);
  emitter.stages.clear();
}

KDL_EMIT(Stage, EmitStage)

}  // namespace kdl::codegen
