#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "codegen/llvm/workgroup/emitter.h"
#include "ir/attr.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_info.h"
#include "ir/type.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

/// Converts an integer of any type to i64.
llvm::Value* AsI64(Emitter& emitter, const ir::Value* value) {
  return EmitCast(emitter, emitter.Get(value), value->type()->scalar, Scalar::I64);
}

/// Returns the sum of two i64. If `sum` is null, returns `term` and emits nothing.
llvm::Value* AddTo(Emitter& emitter, llvm::Value* sum, llvm::Value* term) {
  return sum ? emitter.builder.CreateAdd(sum, term) : term;
}

llvm::Value* Scaled(Emitter& emitter, llvm::Value* value, llvm::Value* factor) {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(factor);
  return constant && constant->isOne() ? value : emitter.builder.CreateMul(value, factor);
}

/// A scalar in memory, or the contiguous lanes of a vector.
struct Element {
  const Memory& memory;
  ir::Type type;
  std::vector<llvm::Value*> index;
  llvm::Value* mask = nullptr;  ///< the lanes to access; null if all are
  bool in_bounds = true;        ///< whether lane 0 is in bounds of the tensor or buffer
  /// Whether the access bypasses the caches. If so, the address must be aligned to the size of the whole
  /// vector.
  bool past_caches = false;
  int64_t again = 0;  ///< the op's `again` attribute (see Apart), or 0

  llvm::Align align() const {
    auto lanes = static_cast<uint64_t>(past_caches ? ir::Lanes(type) : 1);
    return llvm::Align(lanes * static_cast<uint64_t>(Bytes(type->scalar)));
  }
};

/// Returns the offset in a buffer that is laid out in panels. The rows of a panel are contiguous, and the
/// 16-byte parts of each row are permuted by XOR with the row number.
llvm::Value* PlaceInPanels(Emitter& emitter, const Memory& memory,
                           const std::vector<llvm::Value*>& index, int64_t element_bytes) {
  constexpr int64_t kPartBytes = 16;
  auto& b = emitter.builder;
  auto number = [&](int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); };
  size_t first = index.size() - 2;
  llvm::Value* row = index[first];
  llvm::Value* panel = b.CreateUDiv(index[first + 1], number(memory.panel));
  llvm::Value* column = b.CreateURem(index[first + 1], number(memory.panel));
  int64_t part = kPartBytes / element_bytes;
  llvm::Value* number_of_part = b.CreateUDiv(column, number(part));
  number_of_part = b.CreateXor(number_of_part, b.CreateURem(row, number(memory.panel / part)));
  llvm::Value* offset =
      b.CreateAdd(b.CreateMul(number_of_part, number(part)), b.CreateURem(column, number(part)));
  // A panel contains all rows, so its size depends on their number.
  llvm::Value* rows = number(1);
  if (first > 0) {
    rows = b.CreateUDiv(memory.strides[0], memory.strides[first]);
    offset = b.CreateAdd(offset, b.CreateMul(index[0], memory.strides[0]));
  }
  llvm::Value* whole_row = b.CreateAdd(b.CreateMul(panel, rows), row);
  return b.CreateAdd(offset, b.CreateMul(whole_row, number(memory.panel)));
}

/// Removes the constant part of an index and returns it as an offset, since instructions can encode it in
/// the address. Sets `index` to null if nothing else is left.
uint64_t TakeKnownPart(llvm::Value*& index, const llvm::Value* stride) {
  const auto* factor = llvm::dyn_cast<llvm::ConstantInt>(stride);
  if (!factor) return 0;
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(index);
  if (known) {
    index = nullptr;
  } else if (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(index);
             sum && sum->getOpcode() == llvm::Instruction::Add) {
    known = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
    if (known) index = sum->getOperand(0);
  }
  return known ? known->getZExtValue() * factor->getZExtValue() : 0;
}

/// Returns whether the value differs between iterations of the innermost loop. Looks only at the last few
/// instructions that compute the value.
bool ChangesByIteration(const Emitter& emitter, const llvm::Value* value, int ops = 4) {
  const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (!made || !emitter.iteration) return false;
  if (llvm::isa<llvm::PHINode>(made)) return made->getParent() == emitter.iteration;
  return ops > 0 && llvm::any_of(made->operands(), [&](const llvm::Value* operand) {
           return ChangesByIteration(emitter, operand, ops - 1);
         });
}

/// The distance of an element from the base of its memory, in elements. A part that is null is 0.
struct Offset {
  llvm::Value* staying = nullptr;  ///< the same in all iterations of the innermost loop
  llvm::Value* varying = nullptr;
};

/// Adds an index to the offset. A sum of an invariant and a varying part is split: the pointer with the
/// invariant part is computed once, and the address then adds the varying part.
void AddIndex(Emitter& emitter, Offset& offset, llvm::Value* index, llvm::Value* stride) {
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(index);
  bool iterations = ChangesByIteration(emitter, index);
  bool is_sum = sum && sum->getOpcode() == llvm::Instruction::Add &&
                !llvm::isa<llvm::Constant>(sum->getOperand(1));
  if (iterations && is_sum &&
      ChangesByIteration(emitter, sum->getOperand(0)) !=
          ChangesByIteration(emitter, sum->getOperand(1))) {
    for (llvm::Value* term : sum->operands()) AddIndex(emitter, offset, term, stride);
    return;
  }
  llvm::Value*& part = iterations ? offset.varying : offset.staying;
  part = AddTo(emitter, part, Scaled(emitter, index, stride));
}

/// Returns the same address, but hides from LLVM that the addresses for different values of `number` are
/// equal.
llvm::Value* Apart(Emitter& emitter, llvm::Value* address, int64_t number) {
  auto* type = llvm::FunctionType::get(address->getType(),
                                       {address->getType(), emitter.builder.getInt64Ty()}, false);
  auto* none = llvm::InlineAsm::get(type, "", "=r,0,i", /*hasSideEffects=*/false);
  llvm::CallInst* same = emitter.builder.CreateCall(
      none, {address, emitter.builder.getInt64(static_cast<uint64_t>(number))});
  same->setDoesNotAccessMemory();
  same->setDoesNotThrow();
  return same;
}

llvm::Value* ElementAddress(Emitter& emitter, const Element& element) {
  const auto& [memory, type, index, mask, in_bounds, past_caches, again] = element;
  KDL_CHECK(index.size() == memory.strides.size(), "{} indices for {} dimensions", index.size(),
            memory.strides.size());
  Offset offset;
  uint64_t known = 0;  // modulo 2^64, like all offsets
  if (memory.panel > 0) offset.staying = PlaceInPanels(emitter, memory, index, Bytes(type->scalar));
  for (size_t d = 0; memory.panel == 0 && d < index.size(); ++d) {
    llvm::Value* unknown = index[d];
    known += TakeKnownPart(unknown, memory.strides[d]);
    if (unknown) AddIndex(emitter, offset, unknown, memory.strides[d]);
  }
  llvm::Type* instruction = MemoryType(emitter.context(), type->scalar);
  llvm::IRBuilder<>& b = emitter.builder;
  llvm::Value* address = memory.base;
  std::vector<llvm::Value*> steps;
  for (llvm::Value* step : {offset.staying, offset.varying}) {
    if (step) steps.push_back(step);
  }
  if (known != 0) steps.push_back(b.getInt64(known));
  size_t unknown_steps = steps.size() - (known != 0 ? 1 : 0);
  // `inbounds` must not be used if an address may be outside of the memory. That may be true for intermediate
  // addresses, and for the address of lane 0 if that lane may be masked off.
  bool is_inside = !mask && in_bounds && steps.size() == 1;
  for (size_t i = 0; i <= steps.size(); ++i) {
    if (again != 0 && i == unknown_steps) address = Apart(emitter, address, again);
    if (i == steps.size()) break;
    llvm::Value* step = steps[i];
    address = is_inside ? b.CreateInBoundsGEP(instruction, address, step)
                        : b.CreateGEP(instruction, address, step);
  }
  return address;
}

void SetScopes(llvm::Instruction* access, const Memory& memory) {
  if (!memory.alias_scope) return;
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, memory.alias_scope);
  if (memory.noalias) access->setMetadata(llvm::LLVMContext::MD_noalias, memory.noalias);
}

llvm::Value* LoadElement(Emitter& emitter, const Element& element) {
  auto& builder = emitter.builder;
  llvm::Value* address = ElementAddress(emitter, element);
  llvm::Type* type = RegisterType(emitter.context(), element.type)
                         ->getWithNewType(MemoryType(emitter.context(), element.type->scalar));
  llvm::Instruction* load = nullptr;
  if (element.mask) {
    load = builder.CreateMaskedLoad(type, address, element.align(), element.mask,
                                    llvm::Constant::getNullValue(type));
  } else {
    load = builder.CreateAlignedLoad(type, address, element.align());
  }
  SetScopes(load, element.memory);
  if (element.type->scalar != Scalar::Bool) return load;
  return builder.CreateICmpNE(load, llvm::Constant::getNullValue(type));
}

void StoreElement(Emitter& emitter, const Element& element, llvm::Value* value) {
  auto& builder = emitter.builder;
  llvm::Value* address = ElementAddress(emitter, element);
  if (element.type->scalar == Scalar::Bool)
    value = builder.CreateZExt(value, WithLanesOf(value, builder.getInt8Ty()));
  llvm::Instruction* store = nullptr;
  if (element.mask) {
    store = builder.CreateMaskedStore(value, address, element.align(), element.mask);
  } else {
    store = builder.CreateAlignedStore(value, address, element.align());
  }
  SetScopes(store, element.memory);
  if (!element.past_caches) return;
  auto* one = llvm::ConstantAsMetadata::get(builder.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(emitter.context(), one));
  emitter.stores_past_caches = true;
}

/// Returns the emitted value of an optional mask, or null if there is no mask.
llvm::Value* OptionalMask(Emitter& emitter, const ir::Value* mask) {
  return mask ? emitter.Get(mask) : nullptr;
}

void CheckPlain(const ir::Op* op, const ir::Value* mask, ir::Type type) {
  KDL_CHECK(op->attr<ir::AttrKey::BoundsMode>() == ir::BoundsMode::Proven,
            "'{}' at the loop level may be out of bounds", op->info().spelling);
  KDL_CHECK(!mask || ir::IsVector(type), "'{}' of a scalar has a mask", op->info().spelling);
}

void EmitLoad(Emitter& emitter, ir::Op* op) {
  ir::LoadOp load(op);
  ir::Type type = op->result()->type();
  CheckPlain(op, load.mask(), type);
  emitter.Set(op->result(), LoadElement(emitter, {emitter.memories.at(load.tensor()), type,
                                                  AccessIndex(emitter, op, load.index()),
                                                  OptionalMask(emitter, load.mask())}));
}

void EmitStore(Emitter& emitter, ir::Op* op) {
  ir::StoreOp store(op);
  ir::Type type = store.value()->type();
  CheckPlain(op, store.mask(), type);
  StoreElement(
      emitter,
      {emitter.memories.at(store.tensor()), type, AccessIndex(emitter, op, store.index()),
       OptionalMask(emitter, store.mask()), /*in_bounds=*/true, op->HasAttr(ir::AttrKey::Cache)},
      emitter.Get(store.value()));
}

/// Emits a prefetch. The element may be out of bounds, so the address must not be computed with `inbounds`.
void EmitPrefetch(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::PrefetchOp prefetch(op);
  ir::Type type = prefetch.tensor()->type();
  auto intent = op->attr<ir::AttrKey::Intent>();
  bool writes = intent == ir::IntentKind::Write;
  llvm::Value* address = ElementAddress(
      emitter, {emitter.memories.at(prefetch.tensor()), type,
                AccessIndex(emitter, op, prefetch.index()), nullptr, /*in_bounds=*/false});
  constexpr int kKeepInAllCaches = 3;
  constexpr int kKeepInFartherCaches = 2;
  int locality = intent == ir::IntentKind::ReadLater ? kKeepInFartherCaches : kKeepInAllCaches;
  constexpr int kData = 1;
  builder.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {address->getType()},
      {address, builder.getInt32(writes), builder.getInt32(locality), builder.getInt32(kData)});
}

void EmitAlignGap(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  ir::AlignGapOp gap(op);
  ir::Type type = gap.tensor()->type();
  llvm::Value* address = ElementAddress(
      emitter, {emitter.memories.at(gap.tensor()), type, AccessIndex(emitter, op, gap.index()),
                nullptr, /*in_bounds=*/false});
  auto bytes = static_cast<uint64_t>(Bytes(type->scalar));
  auto aligned = static_cast<uint64_t>(op->attr<ir::AttrKey::Lanes>()) * bytes;
  llvm::Value* missing = builder.CreateNeg(builder.CreatePtrToInt(address, builder.getInt64Ty()));
  emitter.Set(op->result(),
              builder.CreateUDiv(builder.CreateAnd(missing, aligned - 1), builder.getInt64(bytes)));
}

std::vector<llvm::Value*> BufferIndex(Emitter& emitter, std::span<ir::Value* const> operands) {
  std::vector<llvm::Value*> index;
  for (const ir::Value* value : operands) index.push_back(AsI64(emitter, value));
  return index;
}

void EmitBufferNew(Emitter& emitter, ir::Op* op) {
  const BufferPlace& place = emitter.scratch_plan.places.at(op->result());
  if (place.space == BufferSpace::Scratch && emitter.core_slot) {
    llvm::Value* scratch = LoadField(emitter, emitter.abi.kdl_core, PresentCore(emitter),
                                     kdl_core_fields::scratch, "scratch");
    emitter.memories.at(op->result()).base = emitter.builder.CreateConstInBoundsGEP1_64(
        emitter.builder.getInt8Ty(), scratch, static_cast<uint64_t>(place.offset));
  }
  if (place.space != BufferSpace::Stack) return;
  emitter.builder.CreateLifetimeStart(emitter.memories.at(op->result()).base,
                                      emitter.builder.getInt64(static_cast<uint64_t>(place.bytes)));
}

void EmitBufferLoad(Emitter& emitter, ir::Op* op) {
  ir::BufferLoadOp load(op);
  Element element{emitter.memories.at(load.buffer()), op->result()->type(),
                  BufferIndex(emitter, load.index()), OptionalMask(emitter, load.mask())};
  if (op->HasAttr(ir::AttrKey::Again)) element.again = op->attr<ir::AttrKey::Again>();
  emitter.Set(op->result(), LoadElement(emitter, element));
}

void EmitBufferStore(Emitter& emitter, ir::Op* op) {
  ir::BufferStoreOp store(op);
  StoreElement(emitter,
               {emitter.memories.at(store.buffer()), store.value()->type(),
                BufferIndex(emitter, store.index()), OptionalMask(emitter, store.mask())},
               emitter.Get(store.value()));
}

}  // namespace

std::vector<llvm::Value*> AccessIndex(Emitter& emitter, const ir::Op* op,
                                      std::span<ir::Value* const> operands) {
  std::vector<llvm::Value*> index;
  for (const ir::AccessDim& dim : op->attr<ir::AttrKey::Access>().dims) {
    llvm::Value* sum = nullptr;
    for (const ir::AccessTerm& term : dim.terms) {
      llvm::Value* value = AsI64(emitter, operands[term.operand]);
      sum = AddTo(emitter, sum, Scaled(emitter, value, EmitSize(emitter, term.coefficient)));
    }
    if (!sum || !IsConstant(dim.offset, 0)) {
      sum = AddTo(emitter, sum, EmitSize(emitter, dim.offset));
    }
    index.push_back(sum);
  }
  return index;
}

llvm::Value* AccessAddress(Emitter& emitter, const ir::Op* op, const ir::Value* tensor,
                           std::span<ir::Value* const> index) {
  return ElementAddress(
      emitter, {emitter.memories.at(tensor), tensor->type(), AccessIndex(emitter, op, index)});
}

llvm::Value* PlaceAddress(Emitter& emitter, const ir::Value* buffer,
                          std::span<ir::Value* const> index) {
  return ElementAddress(emitter,
                        {emitter.memories.at(buffer), buffer->type(), BufferIndex(emitter, index)});
}

void EndBuffers(Emitter& emitter, const ir::Region* region) {
  for (const ir::Op* op : *region) {
    if (op->kind() != ir::OpKind::BufferNew) continue;
    const BufferPlace& place = emitter.scratch_plan.places.at(op->result());
    if (place.space != BufferSpace::Stack) continue;
    emitter.builder.CreateLifetimeEnd(emitter.memories.at(op->result()).base,
                                      emitter.builder.getInt64(static_cast<uint64_t>(place.bytes)));
  }
}

llvm::Value* EmitSize(Emitter& emitter, Size size) {
  auto& builder = emitter.builder;
  if (size->kind == SizeKind::Constant) return builder.getInt64(static_cast<uint64_t>(size->value));
  if (size->kind == SizeKind::Symbol) {
    auto found = emitter.dims.find(size->symbol);
    if (found == emitter.dims.end() && size->symbol.text() == ir::kCoreNum) return emitter.core_num;
    KDL_CHECK(found != emitter.dims.end(), "'{}' is not the name of a size", size->symbol.text());
    return found->second;
  }
  llvm::Value* lhs = EmitSize(emitter, size->lhs);
  llvm::Value* rhs = EmitSize(emitter, size->rhs);
  if (size->kind == SizeKind::Add) return builder.CreateAdd(lhs, rhs);
  if (size->kind == SizeKind::Sub) return builder.CreateSub(lhs, rhs);
  if (size->kind == SizeKind::Mul) return builder.CreateMul(lhs, rhs);
  if (size->kind == SizeKind::Min)
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lhs, rhs);
  // Replaces a divisor of 0 by 1. Its quotient is never used, since a launch in which a size divides by 0 is
  // rejected before any core runs.
  llvm::Value* one = builder.getInt64(1);
  if (!IsConstant(size->rhs)) rhs = builder.CreateSelect(builder.CreateIsNull(rhs), one, rhs);
  return size->kind == SizeKind::FloorDiv ? EmitFloorDivide(emitter, lhs, rhs, true)
                                          : EmitFloorModulo(emitter, lhs, rhs, true);
}

KDL_EMIT(Load, EmitLoad)
KDL_EMIT(Store, EmitStore)
KDL_EMIT(Prefetch, EmitPrefetch)
KDL_EMIT(AlignGap, EmitAlignGap)
KDL_EMIT(Barrier, EmitNothing)  // a core is a single thread here
KDL_EMIT(BusyCores, EmitNothing)
KDL_EMIT(Require, EmitNothing)
KDL_EMIT(LaunchTensor, EmitNothing)  // set up by PrepareMemories
KDL_EMIT(Table, EmitNothing)
KDL_EMIT(View, EmitNothing)
KDL_EMIT(BufferNew, EmitBufferNew)
KDL_EMIT(BufferLoad, EmitBufferLoad)
KDL_EMIT(BufferStore, EmitBufferStore)

}  // namespace kdl::codegen
