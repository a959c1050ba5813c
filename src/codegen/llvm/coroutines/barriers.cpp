#include <llvm/IR/Intrinsics.h>

#include <string>

#include "codegen/llvm/begin_debugging.h"
#include "codegen/llvm/coroutines/coroutines.h"
#include "codegen/llvm/emitter.h"
#include "ir/op_info.h"
#include "kdl/kernel_abi.h"

// A kernel with barriers returns at each barrier. When it is called again, perhaps by another thread, it
// continues after that barrier. To make this possible, its body is an LLVM coroutine. The core's frame
// contains everything that the core keeps between calls:
//
//   the coroutine's handle | the current kdl_core | buffers that live across a barrier | the coroutine's frame
//
// The kdl_core may differ in each call, and so may the scratch memory and the address to which traps are
// written. Therefore the coroutine keeps only the core's numbers from the kdl_core.

namespace kdl::codegen {

namespace {

constexpr uint64_t kHandleAt = 0;
constexpr uint64_t kCoreAt = 8;
// The state of a coroutine that waits at a barrier. All states above 0 mean that a coroutine waits.
constexpr uint32_t kAtBarrier = KDL_BARRIER;

llvm::Value* InFrame(Emitter& emitter, uint64_t offset, const char* name) {
  return emitter.builder.CreateConstInBoundsGEP1_64(emitter.builder.getInt8Ty(), emitter.frame,
                                                    offset, name);
}

llvm::Value* FrameOf(Emitter& emitter) {
  return LoadField(emitter, emitter.abi.kdl_core, emitter.function->getArg(1),
                   kdl_core_fields::frame, "frame");
}

/// Emits the kernel's body as a coroutine. `entry` is the emitter of the kernel's entry point.
llvm::Function* EmitBody(Emitter& entry) {
  Emitter emitter(entry.module, entry.abi, entry.kernel, entry.code, entry.names);
  emitter.scratch_plan = entry.scratch_plan;
  emitter.debugging = entry.debugging;
  std::string symbol = entry.code.entry + ".body";
  DeclareCoroutine(emitter, symbol);
  emitter.builder.SetInsertPoint(
      llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  const DebuggingScope scope(entry);
  BeginDebugging(emitter, std::string(entry.kernel.base_name()));
  emitter.frame = FrameOf(emitter);
  BeginCoroutine(emitter, nullptr, emitter.frame);
  emitter.core_slot = InFrame(emitter, kCoreAt, "core.slot");
  EmitPrologue(emitter);
  EmitRegion(emitter, emitter.kernel.body);
  RunStages(emitter);
  Leave(emitter, emitter.builder, Ending::Done);
  FinishTraps(emitter);
  // If `stores_past_caches` is set, the kernel executes a fence before it returns.
  entry.stores_past_caches |= emitter.stores_past_caches;
  entry.code.resumable = symbol;
  return emitter.function;
}

/// Returns the handle of the core's coroutine. The first call of the core creates the coroutine.
llvm::Value* HandleOf(Emitter& emitter, llvm::Function* body) {
  auto& builder = emitter.builder;
  llvm::Value* place = InFrame(emitter, kHandleAt, "handle.slot");
  llvm::Value* known = builder.CreateLoad(builder.getPtrTy(), place, "known");
  llvm::BasicBlock* before = builder.GetInsertBlock();
  auto* first = llvm::BasicBlock::Create(emitter.context(), "first", emitter.function);
  auto* resume = llvm::BasicBlock::Create(emitter.context(), "resume", emitter.function);
  builder.CreateCondBr(builder.CreateIsNull(known), first, resume);
  builder.SetInsertPoint(first);
  llvm::Value* made =
      builder.CreateCall(body, {emitter.function->getArg(0), emitter.function->getArg(1)}, "made");
  builder.CreateStore(made, place);
  builder.CreateBr(resume);
  builder.SetInsertPoint(resume);
  llvm::PHINode* handle = builder.CreatePHI(builder.getPtrTy(), 2, "handle");
  handle->addIncoming(known, before);
  handle->addIncoming(made, first);
  return handle;
}

void EmitSync(Emitter& emitter, ir::Op*) {
  RunStages(emitter);
  auto& builder = emitter.builder;
  builder.CreateStore(builder.getInt32(kAtBarrier), emitter.coroutine->state);
  auto* again = llvm::BasicBlock::Create(emitter.context(), "again", emitter.function);
  EmitSuspend(emitter, again);
  builder.SetInsertPoint(again);
}

}  // namespace

bool HasBarriers(const ir::Function& kernel) {
  bool syncs = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) { syncs |= op->info().has(ir::kSyncs); });
  return syncs;
}

void EmitResumable(Emitter& emitter) {
  auto& builder = emitter.builder;
  llvm::Function* body = EmitBody(emitter);
  llvm::Value* core = emitter.function->getArg(1);
  emitter.frame = FrameOf(emitter);
  builder.CreateStore(core, InFrame(emitter, kCoreAt, "core.slot"));
  llvm::Value* handle = HandleOf(emitter, body);
  builder.CreateIntrinsic(llvm::Intrinsic::coro_resume, {}, {handle});
  llvm::Value* state = CoroutineState(emitter, handle);
  auto state_is = [&](int32_t ending) {
    return builder.CreateICmpEQ(state, builder.getInt32(static_cast<uint32_t>(ending)));
  };
  // A core that left because another core trapped counts as done.
  builder.CreateRet(builder.CreateSelect(state_is(static_cast<int32_t>(Ending::Stopped)),
                                         builder.getInt32(KDL_DONE), state));
}

llvm::Value* PresentCore(Emitter& emitter) {
  if (!emitter.core_slot) return emitter.function->getArg(1);
  return emitter.builder.CreateLoad(emitter.builder.getPtrTy(), emitter.core_slot, "core");
}

KDL_EMIT(Sync, EmitSync)

}  // namespace kdl::codegen
