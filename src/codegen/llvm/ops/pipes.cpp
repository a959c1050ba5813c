#include <llvm/IR/MDBuilder.h>

#include <cstddef>
#include <cstdint>

#include "codegen/llvm/emitter.h"
#include "ir/op.h"
#include "ir/ring.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"

// Pipes are ring buffers in the core's workspace. Only one core, and thus one thread at a time, accesses a
// ring, so nothing needs to be atomic.

namespace kdl::codegen {

namespace {

llvm::Value* At(Emitter& emitter, llvm::Value* base, int64_t bytes) {
  return emitter.builder.CreateConstInBoundsGEP1_64(emitter.builder.getInt8Ty(), base,
                                                    static_cast<uint64_t>(bytes));
}

void TellRegion(llvm::Instruction* access, const RingMemory& ring) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, ring.slots.alias_scope);
  access->setMetadata(llvm::LLVMContext::MD_noalias, ring.slots.noalias);
}

/// Loads an i64 from a ring: a counter, or a size stored in a slot.
llvm::Value* Read(Emitter& emitter, const RingMemory& ring, llvm::Value* address,
                  const char* name) {
  auto& builder = emitter.builder;
  auto* load = builder.CreateAlignedLoad(builder.getInt64Ty(), address, llvm::Align(8), name);
  TellRegion(load, ring);
  return load;
}

void Write(Emitter& emitter, const RingMemory& ring, llvm::Value* value, llvm::Value* address) {
  TellRegion(emitter.builder.CreateAlignedStore(value, address, llvm::Align(8)), ring);
}

/// Emits nothing, since FindRings has already computed the ring's address.
void EmitPipe(Emitter&, ir::Op*) {}

/// Suspends the stage, so that the next stage runs. When this stage is resumed, it continues at `again`.
void Suspend(Emitter& emitter, const ir::Op* op, llvm::BasicBlock* again) {
  auto& builder = emitter.builder;
  TrapLocation place = LocationOf(op, KDL_TRAP_STUCK);
  place.text = emitter.names.Intern(ir::WaitingText(*op, op->operand(0)->name()));
  auto state = static_cast<uint32_t>(1 + LocationIndex(emitter.code, place));
  builder.CreateStore(builder.getInt32(state), emitter.coroutine->state);
  EmitSuspend(emitter, again);
}

/// Suspends the stage while the number of tiles in the ring equals `blocked`. Returns the counter that `side`
/// selects: tiles pushed or tiles popped.
llvm::Value* WaitWhile(Emitter& emitter, const ir::Op* op, const RingMemory& ring, int64_t side,
                       int64_t blocked) {
  auto& builder = emitter.builder;
  auto* test = llvm::BasicBlock::Create(emitter.context(), "test", emitter.function);
  auto* wait = llvm::BasicBlock::Create(emitter.context(), "wait", emitter.function);
  auto* go_on = llvm::BasicBlock::Create(emitter.context(), "", emitter.function);
  builder.CreateBr(test);
  builder.SetInsertPoint(test);
  llvm::Value* pushed = Read(emitter, ring, At(emitter, ring.base, ir::kRingPushed), "pushed");
  llvm::Value* popped = Read(emitter, ring, At(emitter, ring.base, ir::kRingPopped), "popped");
  llvm::Value* held = builder.CreateSub(pushed, popped);
  llvm::Value* waits = builder.CreateICmpEQ(held, builder.getInt64(static_cast<uint64_t>(blocked)));
  llvm::MDBuilder metadata(emitter.context());
  builder.CreateCondBr(waits, wait, go_on, metadata.createUnlikelyBranchWeights());
  builder.SetInsertPoint(wait);
  Suspend(emitter, op, test);
  builder.SetInsertPoint(go_on);
  return side == ir::kRingPushed ? pushed : popped;
}

/// Returns the address of the slot that contains tile `number`.
llvm::Value* SlotAt(Emitter& emitter, const RingMemory& ring, llvm::Value* number) {
  auto& builder = emitter.builder;
  auto constant = [&](int64_t value) { return builder.getInt64(static_cast<uint64_t>(value)); };
  llvm::Value* first = At(emitter, ring.base, ring.ring.header);
  llvm::Value* place = builder.CreateURem(number, constant(ring.ring.depth));
  return builder.CreateInBoundsGEP(builder.getInt8Ty(), first,
                                   builder.CreateMul(place, constant(ring.ring.slot)), "slot");
}

/// Makes the slot's elements available as a tensor.
void SetElements(Emitter& emitter, const ir::Value* tensor, const RingMemory& ring,
                 llvm::Value* slot) {
  Memory& memory = emitter.memories[tensor];
  memory = ring.slots;
  memory.base = At(emitter, slot, ir::kSlotSizesBytes);
}

llvm::Value* SizeAddress(Emitter& emitter, llvm::Value* slot, size_t dimension) {
  return At(emitter, slot, static_cast<int64_t>(dimension * sizeof(int64_t)));
}

/// Increments a counter.
void Count(Emitter& emitter, const RingMemory& ring, int64_t counter) {
  auto& builder = emitter.builder;
  llvm::Value* address = At(emitter, ring.base, counter);
  llvm::Value* number = Read(emitter, ring, address, "number");
  Write(emitter, ring, builder.CreateAdd(number, builder.getInt64(1)), address);
}

void EmitAcquire(Emitter& emitter, ir::Op* op) {
  const RingMemory& ring = emitter.rings.at(ir::AcquireOp(op).pipe());
  llvm::Value* number = WaitWhile(emitter, op, ring, ir::kRingPushed, ring.ring.depth);
  SetElements(emitter, op->result(), ring, SlotAt(emitter, ring, number));
}

void EmitCommit(Emitter& emitter, ir::Op* op) {
  ir::CommitOp commit(op);
  const RingMemory& ring = emitter.rings.at(commit.pipe());
  llvm::Value* elements = emitter.memories.at(commit.slot()).base;
  llvm::Value* slot = At(emitter, elements, -ir::kSlotSizesBytes);
  for (size_t d = 0; d < commit.sizes().size(); ++d)
    Write(emitter, ring, emitter.Get(commit.sizes()[d]), SizeAddress(emitter, slot, d));
  Count(emitter, ring, ir::kRingPushed);
}

void EmitWait(Emitter& emitter, ir::Op* op) {
  const RingMemory& ring = emitter.rings.at(ir::WaitOp(op).pipe());
  llvm::Value* number = WaitWhile(emitter, op, ring, ir::kRingPopped, 0);
  llvm::Value* slot = SlotAt(emitter, ring, number);
  SetElements(emitter, op->result(), ring, slot);
  for (size_t d = 0; d + 1 < op->results().size(); ++d)
    emitter.Set(op->result(d + 1), Read(emitter, ring, SizeAddress(emitter, slot, d), "size"));
}

void EmitMatch(Emitter& emitter, ir::Op* op) {
  ir::MatchOp match(op);
  llvm::Value* pushed = emitter.Get(match.a());
  llvm::Value* popped = emitter.Get(match.b());
  TrapUnless(emitter, emitter.builder.CreateICmpEQ(pushed, popped),
             LocationOf(op, KDL_TRAP_TILE_SIZE), pushed, popped);
}

void EmitRelease(Emitter& emitter, ir::Op* op) {
  Count(emitter, emitter.rings.at(ir::ReleaseOp(op).pipe()), ir::kRingPopped);
}

}  // namespace

void EmptyRings(Emitter& emitter) {
  for (const ir::Op* pipe : ir::PipesOf(emitter.kernel)) {
    const RingMemory& ring = emitter.rings.at(pipe->result());
    for (int64_t counter : {ir::kRingPushed, ir::kRingPopped})
      Write(emitter, ring, emitter.builder.getInt64(0), At(emitter, ring.base, counter));
  }
}

KDL_EMIT(Pipe, EmitPipe)
KDL_EMIT(Acquire, EmitAcquire)
KDL_EMIT(Commit, EmitCommit)
KDL_EMIT(Wait, EmitWait)
KDL_EMIT(Match, EmitMatch)
KDL_EMIT(Release, EmitRelease)

}  // namespace kdl::codegen
