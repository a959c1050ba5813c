#include <llvm/IR/MDBuilder.h>
#include <llvm/TargetParser/Triple.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/observed_blocks.h"
#include "ir/op.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

using ir::OpKind;

std::vector<llvm::Value*> GetAll(Emitter& emitter, std::span<ir::Value* const> values) {
  std::vector<llvm::Value*> all;
  for (const ir::Value* value : values) all.push_back(emitter.Get(value));
  return all;
}

llvm::PHINode* MakePhi(Emitter& emitter, const ir::Value* value) {
  llvm::Type* type = RegisterType(emitter.context(), value->type());
  return emitter.builder.CreatePHI(type, 2, value->name().text());
}

// -- if -------------------------------------------------------------------------------------------

struct Branch {
  llvm::BasicBlock* end;
  std::vector<llvm::Value*> values;
};

Branch EmitBranch(Emitter& emitter, const ir::Region* region, llvm::BasicBlock* block,
                  llvm::BasicBlock* join) {
  emitter.builder.SetInsertPoint(block);
  EmitRegion(emitter, region);
  Branch branch{emitter.builder.GetInsertBlock(), {}};
  branch.values = GetAll(emitter, region->terminator()->operands());
  emitter.builder.CreateBr(join);
  return branch;
}

void EmitIf(Emitter& emitter, ir::Op* op) {
  llvm::BasicBlock* then_block = emitter.NewBlock("then");
  llvm::BasicBlock* else_block = emitter.NewBlock("else");
  llvm::BasicBlock* join = emitter.NewBlock("join");
  llvm::MDNode* weights = op->HasAttr(ir::AttrKey::Likely)
                              ? llvm::MDBuilder(emitter.context()).createLikelyBranchWeights()
                              : nullptr;
  emitter.builder.CreateCondBr(emitter.Get(op->operand(0)), then_block, else_block, weights);
  Branch then_branch = EmitBranch(emitter, op->region(0), then_block, join);
  Branch else_branch = EmitBranch(emitter, op->region(1), else_block, join);
  emitter.builder.SetInsertPoint(join);
  for (size_t i = 0; i < op->results().size(); ++i) {
    llvm::PHINode* phi = MakePhi(emitter, op->result(i));
    phi->addIncoming(then_branch.values[i], then_branch.end);
    phi->addIncoming(else_branch.values[i], else_branch.end);
    emitter.Set(op->result(i), phi);
  }
}

// -- loop -----------------------------------------------------------------------------------------

bool HoldsLoop(const ir::Region* region) {
  bool holds = false;
  ir::Walk(region, [&](const ir::Op* op) {
    holds |= op->kind() == OpKind::Loop || op->kind() == OpKind::While;
  });
  return holds;
}

/// Returns whether the loop checks if another core has trapped. Outermost loops do, since they iterate over
/// the blocks of a core. Short loops over elements do not, since they end soon and the check would prevent
/// vectorization.
bool Polls(const Emitter& emitter, const ir::LoopOp& loop) {
  if (emitter.loop_depth > 0) return false;
  return HoldsLoop(loop->region()) || !llvm::isa<llvm::ConstantInt>(emitter.Get(loop.step()));
}

/// Counts the iterations of a loop that runs at least once. If the step is 1, the index itself is the
/// counter. Otherwise the remaining iterations are counted, since the index after the last iteration may not
/// fit into 64 bits.
struct Counter {
  llvm::PHINode* index;
  llvm::PHINode* left = nullptr;  ///< iterations left; null if the index is the counter
};

Counter StartCounting(Emitter& emitter, const ir::LoopOp& loop, llvm::Value* following,
                      llvm::BasicBlock* before) {
  Counter counter{MakePhi(emitter, loop->region()->param(0))};
  counter.index->addIncoming(emitter.Get(loop.lo()), before);
  if (following) {
    counter.left = emitter.builder.CreatePHI(following->getType(), 2, "left");
    counter.left->addIncoming(following, before);
  }
  return counter;
}

/// Advances the counter, and returns whether there is another iteration.
llvm::Value* StepCounter(Emitter& emitter, const ir::LoopOp& loop, Counter& counter) {
  auto& builder = emitter.builder;
  llvm::BasicBlock* here = builder.GetInsertBlock();
  bool counts = counter.left == nullptr;
  llvm::Value* next = builder.CreateAdd(counter.index, emitter.Get(loop.step()), "", false, counts);
  counter.index->addIncoming(next, here);
  if (counts) return builder.CreateICmpSLT(next, emitter.Get(loop.hi()));
  counter.left->addIncoming(builder.CreateSub(counter.left, builder.getInt64(1), "", true), here);
  return builder.CreateICmpNE(counter.left, builder.getInt64(0));
}

/// Returns the number of iterations after the first, (hi - lo - 1) / step, or null if the step is 1. Requires
/// lo < hi.
llvm::Value* IterationsAfterFirst(Emitter& emitter, const ir::LoopOp& loop) {
  auto& builder = emitter.builder;
  llvm::Value* step = emitter.Get(loop.step());
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step); constant && constant->isOne())
    return nullptr;
  llvm::Value* distance = builder.CreateSub(emitter.Get(loop.hi()), emitter.Get(loop.lo()));
  return builder.CreateUDiv(builder.CreateSub(distance, builder.getInt64(1)), step);
}

/// Checks at run time that the step is positive. No check is needed for `core_num`, which is the step of some
/// loops that passes create.
void CheckStep(Emitter& emitter, const ir::LoopOp& loop) {
  const ir::Op* def = loop.step()->def();
  if (def && def->kind() == OpKind::CoreNum) return;
  llvm::Value* step = emitter.Get(loop.step());
  llvm::Constant* zero = emitter.builder.getInt64(0);
  TrapLocation place = LocationOf(loop.op, KDL_TRAP_STEP);
  place.text = loop->region()->param(0)->name();
  TrapUnless(emitter, emitter.builder.CreateICmpSGT(step, zero), place, step, zero);
}

/// Marks the loop's back edge with LLVM's unroll metadata, which optimize.cpp looks for.
void AskToUnroll(llvm::BranchInst* back, int64_t iterations) {
  llvm::LLVMContext& context = back->getContext();
  llvm::Metadata* count = llvm::ConstantAsMetadata::get(
      llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), iterations));
  llvm::MDNode* unroll =
      llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.count"), count});
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, unroll});
  loop->replaceOperandWith(0, loop);  // a self-reference makes the node distinct for this loop
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void EmitLoop(Emitter& emitter, ir::Op* op) {
  if (op->HasAttr(ir::AttrKey::DynamicCounter)) return EmitDynamicLoop(emitter, op);
  auto& builder = emitter.builder;
  ir::LoopOp loop(op);
  const ir::Region* region = op->region();
  CheckStep(emitter, loop);
  llvm::BasicBlock* enter = emitter.NewBlock("enter");
  llvm::BasicBlock* body = emitter.NewBlock("loop");
  llvm::BasicBlock* done = emitter.NewBlock("done");
  std::vector<llvm::Value*> inits = GetAll(emitter, loop.inits());
  llvm::BasicBlock* before = builder.GetInsertBlock();
  builder.CreateCondBr(builder.CreateICmpSLT(emitter.Get(loop.lo()), emitter.Get(loop.hi())), enter,
                       done);

  builder.SetInsertPoint(enter);
  llvm::Value* following = IterationsAfterFirst(emitter, loop);
  builder.CreateBr(body);

  builder.SetInsertPoint(body);
  Counter counter = StartCounting(emitter, loop, following, enter);
  emitter.Set(region->param(0), counter.index);
  std::vector<llvm::PHINode*> carried;
  for (size_t i = 0; i < inits.size(); ++i) {
    carried.push_back(MakePhi(emitter, region->param(i + 1)));
    carried[i]->addIncoming(inits[i], enter);
    emitter.Set(region->param(i + 1), carried[i]);
  }
  EmitLoopBody(emitter, region, Polls(emitter, loop));
  std::vector<llvm::Value*> yielded = GetAll(emitter, region->terminator()->operands());
  llvm::Value* again = StepCounter(emitter, loop, counter);
  if (op->HasAttr(ir::AttrKey::Breaks)) again = builder.CreateAnd(again, yielded[0]);
  llvm::BasicBlock* latch = builder.GetInsertBlock();
  for (size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(yielded[i], latch);
  llvm::BranchInst* back = builder.CreateCondBr(again, body, done);
  if (op->HasAttr(ir::AttrKey::Unroll)) AskToUnroll(back, op->attr<ir::AttrKey::Unroll>());

  builder.SetInsertPoint(done);
  for (size_t i = 0; i < op->results().size(); ++i) {
    llvm::PHINode* phi = MakePhi(emitter, op->result(i));
    phi->addIncoming(inits[i], before);
    phi->addIncoming(yielded[i], latch);
    emitter.Set(op->result(i), phi);
  }
}

// -- while ----------------------------------------------------------------------------------------

/// Returns whether a bool is true or, for a vector of bools, whether any lane is true.
llvm::Value* Any(Emitter& emitter, llvm::Value* condition) {
  bool is_vector = condition->getType()->isVectorTy();
  return is_vector ? emitter.builder.CreateOrReduce(condition) : condition;
}

/// Returns the values carried into the next iteration. Lanes whose loop has ended keep their values.
std::vector<llvm::Value*> NextCarried(Emitter& emitter, const std::vector<llvm::PHINode*>& carried,
                                      const std::vector<llvm::Value*>& yielded) {
  if (!carried[0]->getType()->isVectorTy()) return yielded;
  std::vector<llvm::Value*> next = {emitter.builder.CreateAnd(carried[0], yielded[0])};
  for (size_t i = 1; i < carried.size(); ++i) {
    bool stays = yielded[i] == carried[i];
    next.push_back(stays ? yielded[i]
                         : emitter.builder.CreateSelect(carried[0], yielded[i], carried[i]));
  }
  return next;
}

void EmitWhile(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  const ir::Region* region = op->region();
  llvm::BasicBlock* body = emitter.NewBlock("while");
  llvm::BasicBlock* done = emitter.NewBlock("done");
  std::vector<llvm::Value*> inits = GetAll(emitter, op->operands());
  llvm::Value* starts = Any(emitter, inits[0]);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  builder.CreateCondBr(starts, body, done);

  builder.SetInsertPoint(body);
  std::vector<llvm::PHINode*> carried;
  for (size_t i = 0; i < inits.size(); ++i) {
    carried.push_back(MakePhi(emitter, region->param(i)));
    carried[i]->addIncoming(inits[i], before);
    emitter.Set(region->param(i), carried[i]);
  }
  EmitLoopBody(emitter, region, emitter.loop_depth == 0 || HoldsLoop(region));
  std::vector<llvm::Value*> next =
      NextCarried(emitter, carried, GetAll(emitter, region->terminator()->operands()));
  llvm::Value* again = Any(emitter, next[0]);
  llvm::BasicBlock* latch = builder.GetInsertBlock();
  for (size_t i = 0; i < carried.size(); ++i) carried[i]->addIncoming(next[i], latch);
  builder.CreateCondBr(again, body, done);

  builder.SetInsertPoint(done);
  for (size_t i = 0; i < op->results().size(); ++i) {
    llvm::PHINode* phi = MakePhi(emitter, op->result(i));
    phi->addIncoming(inits[i], before);
    phi->addIncoming(next[i], latch);
    emitter.Set(op->result(i), phi);
  }
}

// -- checks and facts -----------------------------------------------------------------------------

void EmitCheck(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::CheckOp check(op);
  auto as_i64 = [&](const ir::Value* value) {
    return EmitCast(emitter, emitter.Get(value), value->type()->scalar, Scalar::I64);
  };
  llvm::Value* index = as_i64(check.index());
  llvm::Value* bound = as_i64(check.bound());
  llvm::Value* ok = builder.CreateAnd(builder.CreateICmpSGE(index, builder.getInt64(0)),
                                      builder.CreateICmpSLT(index, bound));
  TrapUnless(emitter, ok, LocationOf(op, KDL_TRAP_INDEX), index, bound);
}

void EmitAssert(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::AssertOp assertion(op);
  llvm::Value* holds = emitter.Get(assertion.condition());
  if (assertion.mask()) {
    llvm::Value* counts = emitter.Get(assertion.mask());
    const ir::Value* wide =
        ir::IsVector(assertion.mask()->type()) ? assertion.mask() : assertion.condition();
    int64_t lanes = ir::Lanes(wide->type());
    holds = builder.CreateOr(Splat(emitter, holds, lanes),
                             builder.CreateNot(Splat(emitter, counts, lanes)));
  }
  if (holds->getType()->isVectorTy()) holds = builder.CreateAndReduce(holds);
  llvm::Constant* none = builder.getInt64(0);
  TrapUnless(emitter, holds, LocationOf(op, KDL_TRAP_ASSERT), none, none);
}

void EmitCoreId(Emitter& emitter, ir::Op* op) { emitter.Set(op->result(), emitter.core_id); }
void EmitCoreNum(Emitter& emitter, ir::Op* op) { emitter.Set(op->result(), emitter.core_num); }

}  // namespace

void EmitLoopBody(Emitter& emitter, const ir::Region* region, bool polls) {
  // Addresses are split into an invariant and a varying part only on x86. For other processors, LLVM's loop
  // strength reduction chooses the pointers.
  bool splits = !HoldsLoop(region) && llvm::Triple(emitter.module.getTargetTriple()).isX86();
  llvm::BasicBlock* here = splits ? emitter.builder.GetInsertBlock() : nullptr;
  llvm::BasicBlock* around = std::exchange(emitter.iteration, here);
  if (polls && emitter.stop) PollStop(emitter);
  bool is_observed = IsObserved(emitter, region->parent());
  if (is_observed) TellBlock(emitter, emitter.Get(region->param(0)));
  ++emitter.loop_depth;
  EmitRegion(emitter, region);
  --emitter.loop_depth;
  if (is_observed) TellBlock(emitter, emitter.builder.getInt64(-1));
  emitter.iteration = around;
}

KDL_EMIT(If, EmitIf)
KDL_EMIT(Loop, EmitLoop)
KDL_EMIT(While, EmitWhile)
KDL_EMIT(Assert, EmitAssert)
KDL_EMIT(Print, EmitPrint)
KDL_EMIT(Check, EmitCheck)
KDL_EMIT(CoreId, EmitCoreId)
KDL_EMIT(CoreNum, EmitCoreNum)

}  // namespace kdl::codegen
