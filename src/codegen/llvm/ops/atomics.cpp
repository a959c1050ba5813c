#include <array>
#include <cstddef>
#include <optional>

#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "codegen/llvm/emitter.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "ir/views.h"
#include "support/check.h"
#include "support/scalar.h"

// Updates of elements that other cores also update. Their order is unspecified, so each update is relaxed. An
// update is one instruction if the processor can perform it directly in memory, otherwise a
// compare-and-exchange loop. In a launch on one core, nothing else updates the element, so that a load and a store are
// enough; one thread runs all stages of a core.

namespace kdl::codegen {

namespace {

using Rmw = llvm::AtomicRMWInst::BinOp;

/// The instructions that update signed integers, unsigned integers and floats.
struct UpdateRow {
  Rmw of_signed = Rmw::BAD_BINOP;
  Rmw of_unsigned = Rmw::BAD_BINOP;
  llvm::Intrinsic::ID of_float = llvm::Intrinsic::not_intrinsic;
};
constexpr UpdateRow kUpdates[] = {
    {Rmw::Xchg, Rmw::Xchg},  // set: a store
    {Rmw::Add, Rmw::Add},
    {Rmw::Max, Rmw::UMax, llvm::Intrinsic::maximum},
    {Rmw::Min, Rmw::UMin, llvm::Intrinsic::minimum},
    {Rmw::And, Rmw::And},
    {Rmw::Or, Rmw::Or},
    {Rmw::Xor, Rmw::Xor},
    {},  // mul: no instruction, so a loop
};
static_assert(std::size(kUpdates) == ir::kUpdateKinds);

struct Updated {
  llvm::Value* address;
  Scalar scalar;
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(Bytes(scalar))); }
};

llvm::Value* AsBits(Emitter& emitter, llvm::Value* value, Scalar scalar) {
  auto& builder = emitter.builder;
  llvm::Type* bits = builder.getIntNTy(static_cast<unsigned>(8 * Bytes(scalar)));
  return scalar == Scalar::Bool ? builder.CreateZExt(value, bits)
                                : builder.CreateBitCast(value, bits);
}

/// Emits a relaxed atomic store, which LLVM may not split.
void EmitSet(Emitter& emitter, const Updated& element, llvm::Value* value) {
  auto* store = emitter.builder.CreateAlignedStore(AsBits(emitter, value, element.scalar),
                                                   element.address, element.align());
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
}

Rmw RmwOf(Scalar scalar, ir::UpdateKind how) {
  const UpdateRow& row = kUpdates[static_cast<size_t>(how)];
  Rmw operation = IsSigned(scalar) ? row.of_signed : row.of_unsigned;
  KDL_CHECK(operation != Rmw::BAD_BINOP, "update {} of an integer cannot be emitted",
            static_cast<int>(how));
  return operation;
}

void EmitInteger(Emitter& emitter, const Updated& element, ir::UpdateKind how, llvm::Value* value) {
  emitter.builder.CreateAtomicRMW(RmwOf(element.scalar, how), element.address,
                                  AsBits(emitter, value, element.scalar), element.align(),
                                  llvm::AtomicOrdering::Monotonic);
}

llvm::Value* CombineFloats(Emitter& emitter, ir::UpdateKind how, llvm::Value* a, llvm::Value* b) {
  if (how == ir::UpdateKind::Add) return emitter.builder.CreateFAdd(a, b);
  if (how == ir::UpdateKind::Mul) return emitter.builder.CreateFMul(a, b);
  auto combines = kUpdates[static_cast<size_t>(how)].of_float;
  KDL_CHECK(combines != llvm::Intrinsic::not_intrinsic, "update {} of a float cannot be emitted",
            static_cast<int>(how));
  return emitter.builder.CreateBinaryIntrinsic(combines, a, b);
}

/// Returns the updated float as bits.
llvm::Value* UpdatedFloat(Emitter& emitter, Scalar scalar, ir::UpdateKind how, llvm::Value* old,
                          llvm::Value* value) {
  auto& builder = emitter.builder;
  Scalar wide = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  old = builder.CreateBitCast(old, RegisterType(emitter.context(), scalar));
  old = EmitCast(emitter, old, scalar, wide);
  value = EmitCast(emitter, value, scalar, wide);
  llvm::Value* updated = CombineFloats(emitter, how, old, value);
  return AsBits(emitter, EmitCast(emitter, updated, wide, scalar), scalar);
}

/// Returns the updated bool as a byte. Any nonzero byte counts as true.
llvm::Value* UpdatedBool(Emitter& emitter, ir::UpdateKind how, llvm::Value* old,
                         llvm::Value* value) {
  auto& builder = emitter.builder;
  old = builder.CreateIsNotNull(old);
  switch (how) {
    case ir::UpdateKind::And:
      return AsBits(emitter, builder.CreateAnd(old, value), Scalar::Bool);
    case ir::UpdateKind::Or:
      return AsBits(emitter, builder.CreateOr(old, value), Scalar::Bool);
    case ir::UpdateKind::Xor:
      return AsBits(emitter, builder.CreateXor(old, value), Scalar::Bool);
    case ir::UpdateKind::Set:
    case ir::UpdateKind::Add:
    case ir::UpdateKind::Max:
    case ir::UpdateKind::Min:
    case ir::UpdateKind::Mul:
      break;
  }
  KDL_UNREACHABLE("update {} of a bool cannot be emitted", static_cast<int>(how));
}

/// Returns the updated element.
llvm::Value* UpdatedBits(Emitter& emitter, Scalar scalar, ir::UpdateKind how, llvm::Value* old,
                         llvm::Value* value) {
  if (scalar == Scalar::Bool) return UpdatedBool(emitter, how, old, value);
  if (IsFloat(scalar)) return UpdatedFloat(emitter, scalar, how, old, value);
  if (how == ir::UpdateKind::Mul) return emitter.builder.CreateMul(old, value);
  return llvm::buildAtomicRMWValue(RmwOf(scalar, how), emitter.builder, old, value);
}

llvm::Type* BitsOf(Emitter& emitter, const Updated& element) {
  return emitter.builder.getIntNTy(static_cast<unsigned>(8 * Bytes(element.scalar)));
}

llvm::BasicBlock* MakeBlock(Emitter& emitter, const char* name) {
  return llvm::BasicBlock::Create(emitter.context(), name, emitter.function);
}

/// Emits a compare-and-exchange loop that replaces the element with its updated value. It repeats as long as
/// another core has changed the element in the meantime. An extremum that is the old element is not written.
void EmitExchange(Emitter& emitter, const Updated& element, ir::UpdateKind how,
                  llvm::Value* value) {
  auto& builder = emitter.builder;
  auto order = llvm::AtomicOrdering::Monotonic;
  llvm::Type* bits = BitsOf(emitter, element);
  auto* first = builder.CreateAlignedLoad(bits, element.address, element.align());
  first->setAtomic(order);
  llvm::BasicBlock* before = builder.GetInsertBlock();
  llvm::BasicBlock* retry = MakeBlock(emitter, "update");
  llvm::BasicBlock* done = MakeBlock(emitter, "updated");
  builder.CreateBr(retry);
  builder.SetInsertPoint(retry);
  llvm::PHINode* old = builder.CreatePHI(bits, 2, "old");
  old->addIncoming(first, before);
  llvm::Value* updated = UpdatedBits(emitter, element.scalar, how, old, value);
  if (how == ir::UpdateKind::Max || how == ir::UpdateKind::Min) {
    llvm::BasicBlock* changes = MakeBlock(emitter, "changes");
    builder.CreateCondBr(builder.CreateICmpEQ(old, updated), done, changes);
    builder.SetInsertPoint(changes);
  }
  llvm::Value* exchanged =
      builder.CreateAtomicCmpXchg(element.address, old, updated, element.align(), order, order);
  old->addIncoming(builder.CreateExtractValue(exchanged, 0), builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateExtractValue(exchanged, 1), done, retry);
  builder.SetInsertPoint(done);
}

Updated ElementOf(Emitter& emitter, ir::UpdateOp update) {
  return {AccessAddress(emitter, update.op, update.tensor(), update.index()),
          update.tensor()->type()->scalar};
}

void EmitAtomic(Emitter& emitter, const Updated& element, ir::UpdateKind how, llvm::Value* value) {
  bool has_instruction = IsInteger(element.scalar) && how != ir::UpdateKind::Mul;
  return has_instruction ? EmitInteger(emitter, element, how, value)
                         : EmitExchange(emitter, element, how, value);
}

/// Emits a load and a store.
void EmitAlone(Emitter& emitter, const Updated& element, ir::UpdateKind how, llvm::Value* value) {
  auto& builder = emitter.builder;
  if (IsInteger(element.scalar)) value = AsBits(emitter, value, element.scalar);
  llvm::Value* old =
      builder.CreateAlignedLoad(BitsOf(emitter, element), element.address, element.align());
  builder.CreateAlignedStore(UpdatedBits(emitter, element.scalar, how, old, value), element.address,
                             element.align());
}

void EmitUpdate(Emitter& emitter, ir::Op* op) {
  KDL_CHECK(op->attr<ir::AttrKey::Scope>() == ir::ScopeKind::Launch,
            "an update of another scope, which should have been lowered to a load and a store");
  auto how = op->attr<ir::AttrKey::How>();
  if (how == ir::UpdateKind::Set) return EmitAtomicUpdate(emitter, op);
  auto& builder = emitter.builder;
  ir::UpdateOp update(op);
  Updated element = ElementOf(emitter, update);
  llvm::Value* value = emitter.Get(update.value());
  llvm::BasicBlock* alone = MakeBlock(emitter, "alone");
  llvm::BasicBlock* others = MakeBlock(emitter, "others");
  llvm::BasicBlock* after = MakeBlock(emitter, "after");
  llvm::Value* one = llvm::ConstantInt::get(emitter.core_num->getType(), 1);
  builder.CreateCondBr(builder.CreateICmpEQ(emitter.core_num, one), alone, others);
  builder.SetInsertPoint(alone);
  EmitAlone(emitter, element, how, value);
  builder.CreateBr(after);
  builder.SetInsertPoint(others);
  EmitAtomic(emitter, element, how, value);
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

}  // namespace

void EmitAtomicUpdate(Emitter& emitter, ir::Op* op) {
  ir::UpdateOp update(op);
  Updated element = ElementOf(emitter, update);
  llvm::Value* value = emitter.Get(update.value());
  auto how = op->attr<ir::AttrKey::How>();
  how == ir::UpdateKind::Set ? EmitSet(emitter, element, value)
                             : EmitAtomic(emitter, element, how, value);
}

KDL_EMIT(Update, EmitUpdate)

}  // namespace kdl::codegen
