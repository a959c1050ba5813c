
#include <optional>
#include <utility>

#include "codegen/llvm/workgroup/emitter.h"
#include "ir/attr.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/scalar.h"

// Ops that are implemented differently if a core is a workgroup. Outside of workgroup loops, all threads
// compute the same values: if one thread traps, all do, and they leave the kernel together. In a workgroup
// loop, a thread that traps leaves the loop and skips later loops. At the next barrier, the other threads
// learn that a thread has trapped, and all threads leave.

namespace kdl::codegen {

namespace {

using ir::OpKind;

// The index, among the numbers that a launch passes, of the current part. A part is one call of the kernel.
constexpr uint64_t kPart = 1;
constexpr uint64_t kLastPart = 4;  // index of the record's number for the last part so far
// The indices of the record's numbers after the trap code.
constexpr uint64_t kTrapNumbers[] = {1, 2, 3, 5, 6};

llvm::Value* RecordNumber(WorkgroupEmitter& emitter, uint64_t at) {
  auto& builder = emitter.builder;
  return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), emitter.record, at);
}

bool Holds(const ir::Op* loop, OpKind kind) {
  bool holds = false;
  ir::Walk(loop->region(), [&](const ir::Op* op) { holds |= op->kind() == kind; });
  return holds;
}

/// Returns the address at which each thread keeps a number between the parts of a launch. A part is one call
/// of the kernel.
llvm::Value* KeptPlace(WorkgroupEmitter& emitter, Scalar scalar) {
  auto& builder = emitter.builder;
  auto offset = static_cast<uint64_t>(emitter.places->KeptPlace(scalar));
  llvm::Value* first =
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), emitter.scratch, offset);
  return builder.CreateGEP(MemoryType(emitter.context(), scalar), first, emitter.thread, "kept");
}

llvm::Value* LoadKept(WorkgroupEmitter& emitter, llvm::Value* place, Scalar scalar) {
  auto& builder = emitter.builder;
  llvm::Value* value = builder.CreateLoad(MemoryType(emitter.context(), scalar), place);
  return scalar == Scalar::Bool ? builder.CreateICmpNE(value, builder.getInt8(0)) : value;
}

void StoreKept(WorkgroupEmitter& emitter, llvm::Value* place, llvm::Value* value) {
  auto& builder = emitter.builder;
  if (value->getType()->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt8Ty());
  builder.CreateStore(value, place);
}

}  // namespace

llvm::BasicBlock* NewBlock(WorkgroupEmitter& emitter, const char* name) {
  return llvm::BasicBlock::Create(emitter.context(), name, emitter.function);
}

bool MayTrapAlone(const ir::Function& kernel) {
  bool may = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (!op->HasAttr(ir::AttrKey::Threads)) return;
    ir::Walk(op->region(), [&](const ir::Op* inner) { may |= MayTrap(inner); });
  });
  return may;
}

namespace {

constexpr int64_t kShort = int64_t{1} << 30;

std::optional<int64_t> KnownNumber(const ir::Value* value) {
  const ir::Op* def = value->def();
  if (!def || def->kind() != OpKind::Const) return std::nullopt;
  return static_cast<int64_t>(def->attr<ir::AttrKey::Bits>());
}

/// Returns whether a number of iterations is at most kShort / times. Examines the constants from which the
/// number is computed. No operand of this computation may be negative.
bool IsShortNumber(const ir::Value* number, int64_t times = 1) {
  if (std::optional<int64_t> value = KnownNumber(number))
    return 0 <= *value && *value <= kShort / times;
  const ir::Op* def = number->def();
  if (!def) return false;
  switch (def->kind()) {
    case OpKind::Min:
      return IsShortNumber(def->operand(0), times) || IsShortNumber(def->operand(1), times);
    case OpKind::Mul: {
      std::optional<int64_t> by = KnownNumber(def->operand(1));
      return by && 0 < *by && *by <= kShort / times && IsShortNumber(def->operand(0), times * *by);
    }
    case OpKind::Div: {
      std::optional<int64_t> by = KnownNumber(def->operand(1));
      return by && 0 < *by && IsShortNumber(def->operand(0), times);
    }
    default:
      return false;
  }
}

/// Returns whether the loop's iterations are numbered from 0 and all numbers fit into 31 bits. This includes
/// the number that follows each thread's last iteration.
bool IsShort(const WorkgroupEmitter& emitter, const ir::Op* op) {
  ir::LoopOp loop(const_cast<ir::Op*>(op));
  return KnownNumber(loop.lo()) == 0 && KnownNumber(loop.step()) == 1 &&
         emitter.kernel.workgroup <= kShort && IsShortNumber(loop.hi()) && !emitter.keeps_blocks;
}

/// Counts the iterations of a loop that one thread executes. Numbers that are known to be short are computed
/// in 32 bits, since addresses then need fewer instructions.
struct ShareCounter {
  llvm::Type* type;
  llvm::Value* first;
  llvm::Value* stride;
  llvm::Value* hi;

  llvm::Value* Number(llvm::IRBuilder<>& b, llvm::Value* count) const {
    return b.CreateZExtOrTrunc(count, b.getInt64Ty(), "number");
  }
};

ShareCounter ShareCounterOf(WorkgroupEmitter& emitter, const ir::Op* op) {
  auto& builder = emitter.builder;
  ir::LoopOp loop(const_cast<ir::Op*>(op));
  llvm::Value* step = emitter.Get(loop.step());
  llvm::Value* hi = emitter.Get(loop.hi());
  llvm::Value* threads = builder.getInt64(static_cast<uint64_t>(emitter.kernel.workgroup));
  llvm::Value* first =
      builder.CreateAdd(emitter.Get(loop.lo()), builder.CreateMul(emitter.thread, step), "first");
  ShareCounter counter{builder.getInt64Ty(), first, builder.CreateMul(step, threads), hi};
  if (!IsShort(emitter, op)) return counter;
  counter.type = builder.getInt32Ty();
  counter.hi = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, hi, builder.getInt64(0));
  for (llvm::Value** value : {&counter.first, &counter.stride, &counter.hi})
    *value = builder.CreateTrunc(*value, counter.type);
  return counter;
}

/// Emits the loop's body. Addresses are split into a part that depends on the loop's iteration and a part
/// that does not.
void EmitShare(WorkgroupEmitter& emitter, ir::Op* op, llvm::BasicBlock* iteration) {
  if (emitter.keeps_blocks) iteration = nullptr;
  llvm::BasicBlock* around = std::exchange(emitter.iteration, iteration);
  ++emitter.loop_depth;
  EmitRegion(emitter, op->region());
  --emitter.loop_depth;
  emitter.iteration = around;
}

}  // namespace

void EmitWorkgroupLoop(WorkgroupEmitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::BasicBlock* body = NewBlock(emitter, "share");
  llvm::BasicBlock* done = NewBlock(emitter, "shared");
  ShareCounter counter = ShareCounterOf(emitter, op);
  llvm::Value* enters = builder.CreateICmpSLT(counter.first, counter.hi);
  // Threads that have trapped still take part in matrix instructions, but their results are not used.
  if (emitter.live && !Holds(op, OpKind::Mma))
    enters = builder.CreateAnd(enters, builder.CreateLoad(builder.getInt1Ty(), emitter.live));
  llvm::BasicBlock* before = builder.GetInsertBlock();
  builder.CreateCondBr(enters, body, done);

  builder.SetInsertPoint(body);
  bool loops = !OneIterationOf(emitter.kernel, op);
  llvm::PHINode* index = loops ? builder.CreatePHI(counter.type, 2, "iteration") : nullptr;
  if (loops) index->addIncoming(counter.first, before);
  emitter.Set(op->region()->param(0), counter.Number(builder, loops ? index : counter.first));
  TrapExit uniform = std::exchange(emitter.trap_exit, {});
  emitter.in_workgroup = true;
  EmitShare(emitter, op, loops ? body : nullptr);
  emitter.in_workgroup = false;
  if (loops) {
    llvm::Value* next = builder.CreateAdd(index, counter.stride, "next");
    index->addIncoming(next, builder.GetInsertBlock());
    builder.CreateCondBr(builder.CreateICmpSLT(next, counter.hi), body, done);
  } else {
    builder.CreateBr(done);
  }
  FinishWorkgroupTraps(emitter, emitter.live ? done : nullptr);
  emitter.trap_exit = uniform;
  builder.SetInsertPoint(done);
}

/// Emits a `while` loop in which each iteration is one part of the launch, that is, one call of the kernel.
/// Values that a part passes to the next part are kept in memory. All threads store the number of the next
/// part, which is the same for all.
void EmitParts(WorkgroupEmitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  const ir::Region* region = op->region();
  llvm::Value* part = LaunchNumber(emitter, kPart, "part");
  llvm::Value* starts = builder.CreateICmpEQ(part, builder.getInt64(0));
  std::vector<llvm::Value*> places;
  std::vector<llvm::Value*> carried;
  for (size_t i = 0; i < op->operands().size(); ++i) {
    Scalar scalar = region->param(i)->type()->scalar;
    places.push_back(KeptPlace(emitter, scalar));
    llvm::Value* kept = LoadKept(emitter, places[i], scalar);
    carried.push_back(builder.CreateSelect(starts, emitter.Get(op->operand(i)), kept));
    emitter.Set(region->param(i), carried[i]);
  }
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::BasicBlock* body = NewBlock(emitter, "part");
  llvm::BasicBlock* done = NewBlock(emitter, "parted");
  builder.CreateCondBr(carried[0], body, done);

  builder.SetInsertPoint(body);
  EmitLoopBody(emitter, region, false);
  std::vector<llvm::Value*> next;
  for (size_t i = 0; i < carried.size(); ++i) {
    next.push_back(emitter.Get(region->terminator()->operand(i)));
    StoreKept(emitter, places[i], next[i]);
  }
  llvm::BasicBlock* again = NewBlock(emitter, "again");
  llvm::BasicBlock* after = NewBlock(emitter, "after");
  builder.CreateCondBr(next[0], again, after);
  builder.SetInsertPoint(again);
  builder.CreateStore(builder.CreateAdd(part, builder.getInt64(1)),
                      RecordNumber(emitter, kLastPart));
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
  builder.CreateBr(done);

  builder.SetInsertPoint(done);
  for (size_t i = 0; i < carried.size(); ++i) {
    llvm::PHINode* phi = builder.CreatePHI(carried[i]->getType(), 2);
    phi->addIncoming(carried[i], before);
    phi->addIncoming(next[i], after);
    emitter.Set(op->result(i), phi);
  }
}

void EmitWorkgroupBarrier(WorkgroupEmitter& emitter) {
  auto& builder = emitter.builder;
  if (!emitter.live) {
    emitter.Wait();
    return;
  }
  llvm::Value* live = builder.CreateLoad(builder.getInt1Ty(), emitter.live);
  llvm::Value* trapped = builder.CreateZExt(builder.CreateNot(live), builder.getInt32Ty());
  llvm::Value* any = emitter.WaitForAny(trapped);
  llvm::BasicBlock* stop = NewBlock(emitter, "stop");
  llvm::BasicBlock* go_on = NewBlock(emitter, "");
  builder.CreateCondBr(builder.CreateICmpEQ(any, builder.getInt32(0)), go_on, stop);
  builder.SetInsertPoint(stop);
  builder.CreateRetVoid();
  builder.SetInsertPoint(go_on);
}

void FinishWorkgroupTraps(WorkgroupEmitter& emitter, llvm::BasicBlock* then) {
  TrapExit& exit = emitter.trap_exit;
  if (!exit.block) return;
  auto& builder = emitter.builder;
  llvm::BasicBlock* tell = NewBlock(emitter, "tell");
  llvm::BasicBlock* told = NewBlock(emitter, "told");
  builder.SetInsertPoint(exit.block);
  if (then) builder.CreateStore(builder.getFalse(), emitter.live);
  constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
  llvm::Value* exchanged = builder.CreateAtomicCmpXchg(emitter.record, builder.getInt32(0),
                                                       exit.code, llvm::Align(8), kOrder, kOrder);
  builder.CreateCondBr(builder.CreateExtractValue(exchanged, 1), tell, told);
  builder.SetInsertPoint(tell);
  llvm::Value* location = builder.CreateZExt(exit.location, builder.getInt64Ty());
  llvm::Value* numbers[] = {location, exit.index, exit.bound, emitter.core_id, emitter.thread};
  for (size_t i = 0; i < std::size(numbers); ++i)
    builder.CreateStore(numbers[i], RecordNumber(emitter, kTrapNumbers[i]));
  builder.CreateBr(told);
  builder.SetInsertPoint(told);
  then ? static_cast<void>(builder.CreateBr(then)) : static_cast<void>(builder.CreateRetVoid());
  exit = {};
}

void WorkgroupEmitter::EmitMma(ir::Op*) { KDL_UNREACHABLE("no matrix instructions here"); }
void WorkgroupEmitter::EmitAsyncCopy(ir::Op*) { KDL_UNREACHABLE("no asynchronous copies here"); }
void WorkgroupEmitter::EmitAsyncCopyCommit() { KDL_UNREACHABLE("no asynchronous copies here"); }
void WorkgroupEmitter::EmitAsyncCopyWait(ir::Op*) {
  KDL_UNREACHABLE("no asynchronous copies here");
}

bool WorkgroupEmitter::EmitOwn(ir::Op* op) {
  switch (op->kind()) {
    case OpKind::Loop:
      if (!op->HasAttr(ir::AttrKey::Threads)) return false;
      EmitWorkgroupLoop(*this, op);
      return true;
    case OpKind::While:
      if (in_workgroup || !IsOfParts(op)) return false;
      EmitParts(*this, op);
      return true;
    case OpKind::Barrier:
      EmitWorkgroupBarrier(*this);
      return true;
    case OpKind::Update:
      EmitAtomicUpdate(*this, op);
      return true;
    case OpKind::Mma:
      EmitMma(op);
      return true;
    case OpKind::AsyncCopy:
      EmitAsyncCopy(op);
      return true;
    case OpKind::AsyncCopyCommit:
      EmitAsyncCopyCommit();
      return true;
    case OpKind::AsyncCopyWait:
      EmitAsyncCopyWait(op);
      return true;
    case OpKind::Print:
      EmitWorkgroupPrint(*this, op);
      return true;
    case OpKind::BufferNew:  // memory is allocated by PrepareWorkgroupMemories
    case OpKind::Prefetch:
    case OpKind::Sync:  // the host synchronizes the cores
      return true;
    default:
      return EmitMbarrierOrdered(op);
  }
}

}  // namespace kdl::codegen
