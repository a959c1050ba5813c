#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/op_kind.h"
#include "ir/packs.h"
#include "ir/requirement.h"
#include "ir/tensor_view.h"
#include "ir/type.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/names.h"
#include "support/size.h"

// Emits int32_t CHECK(int64_t* dims, const kdl_args* args, kdl_trap* trap). It checks that every `where`
// clause is true, and that strides permit the views. It also checks that each tensor dimension declared as an
// expression of sizes has the value of that expression. Overflow of 64 bits is a separate trap.

namespace kdl::codegen {

namespace {

bool IsDerived(Size size) {
  return size->kind != SizeKind::Constant && size->kind != SizeKind::Symbol;
}

bool NeedsCheck(const ir::Function& kernel) {
  for (const ir::Op* op : *kernel.body) {
    if (op->kind() == ir::OpKind::Require || op->kind() == ir::OpKind::View) return true;
  }
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
    for (Size dim : param.value->type()->dims) {
      if (IsDerived(dim)) return true;
    }
  }
  return false;
}

/// Returns a trap location without a trap code: the checked condition, and where the source states it.
TrapLocation TrapLocationAt(const ir::Loc& loc, Name text) {
  TrapLocation place;
  place.file = loc.file;
  place.line = loc.line;
  place.column = loc.column;
  place.text = text;
  return place;
}

TrapLocation WithCode(TrapLocation place, kdl_trap_code code) {
  place.code = code;
  return place;
}

/// Computes a size, and traps if it divides by zero or does not fit in 64 bits. `source` is the source text of the size.
llvm::Value* EmitChecked(Emitter& emitter, Size size, const TrapLocation& place, Name source) {
  auto& builder = emitter.builder;
  if (!IsDerived(size)) return EmitSize(emitter, size);
  llvm::Value* lhs = EmitChecked(emitter, size->lhs, place, source);
  llvm::Value* rhs = EmitChecked(emitter, size->rhs, place, source);
  llvm::Constant* zero = builder.getInt64(0);
  if (size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod) {
    TrapUnless(emitter, builder.CreateICmpNE(rhs, zero), WithCode(place, KDL_TRAP_DIVISION), zero,
               zero);
    return size->kind == SizeKind::Mod ? EmitFloorModulo(emitter, lhs, rhs, true)
                                       : EmitFloorDivide(emitter, lhs, rhs, true);
  }
  if (size->kind == SizeKind::Min)
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, lhs, rhs);
  llvm::Value* pair = WithOverflow(emitter, size->kind, lhs, rhs);
  TrapLocation overflow = WithCode(place, KDL_TRAP_OVERFLOW);
  overflow.text = source;
  TrapUnless(emitter, builder.CreateNot(builder.CreateExtractValue(pair, 1)), overflow, zero, zero);
  return builder.CreateExtractValue(pair, 0);
}

llvm::Value* ArrayElement(Emitter& emitter, llvm::Value* tensor, unsigned field, size_t d) {
  auto& builder = emitter.builder;
  llvm::Value* array = FieldAddress(emitter, emitter.abi.kdl_tensor, tensor, field);
  return builder.CreateLoad(builder.getInt64Ty(),
                            builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), array, d));
}

void CheckDimension(Emitter& emitter, llvm::Value* tensor, size_t d, Size size, Name text) {
  auto& builder = emitter.builder;
  TrapLocation place = TrapLocationAt(emitter.kernel.loc, text);
  llvm::Value* expected = EmitChecked(emitter, size, place, text);
  llvm::Value* found = ArrayElement(emitter, tensor, kdl_tensor_fields::size, d);
  place.dimension = static_cast<int32_t>(d);
  TrapUnless(emitter, builder.CreateICmpEQ(found, expected), WithCode(place, KDL_TRAP_CONDITION),
             found, expected);
}

llvm::CmpInst::Predicate PredicateOf(ir::CompareKind compare) {
  switch (compare) {
    case ir::CompareKind::Eq:
      return llvm::CmpInst::ICMP_EQ;
    case ir::CompareKind::Ne:
      return llvm::CmpInst::ICMP_NE;
    case ir::CompareKind::Lt:
      return llvm::CmpInst::ICMP_SLT;
    case ir::CompareKind::Le:
      return llvm::CmpInst::ICMP_SLE;
    case ir::CompareKind::Gt:
      return llvm::CmpInst::ICMP_SGT;
    case ir::CompareKind::Ge:
      return llvm::CmpInst::ICMP_SGE;
  }
  KDL_UNREACHABLE("unknown comparison {}", static_cast<int>(compare));
}

void CheckRequirement(Emitter& emitter, const ir::Op* op, Names& names) {
  TrapLocation place = TrapLocationAt(op->loc(), op->attr<ir::AttrKey::Text>());
  auto source = [&](bool is_right) { return names.Intern(ir::SideSource(op, is_right)); };
  llvm::Value* left = EmitChecked(emitter, op->attr<ir::AttrKey::Left>(), place, source(false));
  llvm::Value* right = EmitChecked(emitter, op->attr<ir::AttrKey::Right>(), place, source(true));
  llvm::Value* holds =
      emitter.builder.CreateICmp(PredicateOf(op->attr<ir::AttrKey::Compare>()), left, right);
  place.text = names.Intern(ir::RequirementTemplate(emitter.kernel, op));
  TrapUnless(emitter, holds, WithCode(place, KDL_TRAP_SIZES), left, right);
}

/// The sizes and strides of a tensor that has views.
struct Layout {
  std::vector<llvm::Value*> sizes;
  std::vector<llvm::Value*> strides;
};

/// Checks that the dimensions that a view merges are contiguous. A tensor without elements passes, and so
/// does a dimension of size 1.
void CheckMerge(Emitter& emitter, const ir::Op* view, const Layout& layout, Names& names) {
  auto& builder = emitter.builder;
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  llvm::Value* empty = builder.getFalse();
  for (llvm::Value* size : layout.sizes)
    empty = builder.CreateOr(empty, builder.CreateICmpEQ(size, builder.getInt64(0)));
  size_t last = dims.dimension + dims.from - 1;
  llvm::Value* wanted = layout.strides[last];
  for (size_t d = last; d > dims.dimension; --d) {
    wanted = builder.CreateMul(wanted, layout.sizes[d]);
    llvm::Value* stride = layout.strides[d - 1];
    llvm::Value* single = builder.CreateICmpEQ(layout.sizes[d - 1], builder.getInt64(1));
    llvm::Value* fits =
        builder.CreateOr(builder.CreateOr(empty, single), builder.CreateICmpEQ(stride, wanted));
    std::string text = ir::ApartMessage(view, d - 1, "{index}", "{bound}");
    TrapLocation place = TrapLocationAt(view->loc(), names.Intern(text));
    TrapUnless(emitter, fits, WithCode(place, KDL_TRAP_SIZES), stride, wanted);
  }
}

Layout LayoutAfter(Emitter& emitter, const ir::Op* view, const Layout& before) {
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  Layout after;
  for (Size size : view->result()->type()->dims) after.sizes.push_back(EmitSize(emitter, size));
  auto first = before.strides.begin();
  auto middle = first + static_cast<std::ptrdiff_t>(dims.dimension + dims.from);
  llvm::Value* stride = *(middle - 1);
  std::vector<llvm::Value*> changed(dims.to);
  for (size_t i = dims.to; i-- > 0;) {
    changed[i] = stride;
    stride = emitter.builder.CreateMul(stride, after.sizes[dims.dimension + i]);
  }
  after.strides.assign(first, first + static_cast<std::ptrdiff_t>(dims.dimension));
  after.strides.insert(after.strides.end(), changed.begin(), changed.end());
  after.strides.insert(after.strides.end(), middle, before.strides.end());
  return after;
}

/// Checks that the strides of the parameters permit the kernel's views. All sizes must already have been
/// checked.
void CheckViews(Emitter& emitter, llvm::Value* tensors, Names& names) {
  std::unordered_map<const ir::Value*, Layout> layouts;
  uint64_t number = 0;
  for (const ir::Param& param : emitter.kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind != ir::TypeKind::Tensor) continue;
    llvm::Value* tensor =
        emitter.builder.CreateConstInBoundsGEP1_64(emitter.abi.kdl_tensor, tensors, number++);
    bool viewed = std::ranges::any_of(param.value->uses(), [](const ir::Use& use) {
      return use.user->kind() == ir::OpKind::View;
    });
    for (size_t d = 0; viewed && d < type->dims.size(); ++d) {
      Layout& layout = layouts[param.value];
      layout.sizes.push_back(ArrayElement(emitter, tensor, kdl_tensor_fields::size, d));
      layout.strides.push_back(ArrayElement(emitter, tensor, kdl_tensor_fields::stride, d));
    }
  }
  for (const ir::Op* op : *emitter.kernel.body) {
    if (op->kind() != ir::OpKind::View) continue;
    const Layout& before = layouts.at(op->operand(0));
    CheckMerge(emitter, op, before, names);
    Layout after = LayoutAfter(emitter, op, before);
    layouts[op->result()] = std::move(after);
  }
}

/// Returns text such as `dimension 1 of x = (2*N)`, as in the source.
std::string DimensionText(const ir::Function& kernel, const ir::Param& param, size_t d) {
  std::vector<ir::SourceDim> dims = ir::SourceDims(kernel, param);
  size_t source = 0;
  while (source + 1 < dims.size() && dims[source + 1].first <= d) ++source;
  return fmt::format("dimension {} of {} = {}", source, param.value->name().text(),
                     dims[source].text);
}

void DeclareCheck(Emitter& emitter) {
  llvm::Type* ptr = llvm::PointerType::get(emitter.context(), 0);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getInt32Ty(emitter.context()), {ptr, ptr, ptr}, false);
  emitter.function = DeclareHostFunction(emitter, type, "check");
  emitter.args = emitter.function->getArg(1);
  emitter.trap = emitter.function->getArg(2);
}

}  // namespace

llvm::Function* EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, Names& names,
                                KernelCode& code) {
  const ir::Function& kernel = *code.kernel;
  if (!NeedsCheck(kernel)) return nullptr;
  Emitter emitter(module, abi, kernel, code, names);
  DeclareCheck(emitter);
  auto& builder = emitter.builder;
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    llvm::Value* address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), emitter.function->getArg(0), i);
    emitter.dims[kernel.dims[i]] = builder.CreateLoad(builder.getInt64Ty(), address);
  }
  llvm::Value* tensors =
      LoadField(emitter, abi.kdl_args, emitter.args, kdl_args_fields::tensors, "tensors");
  uint64_t number = 0;
  for (const ir::Param& param : kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind != ir::TypeKind::Tensor) continue;
    llvm::Value* tensor = builder.CreateConstInBoundsGEP1_64(abi.kdl_tensor, tensors, number++);
    for (size_t d = 0; d < type->dims.size(); ++d) {
      if (!IsDerived(type->dims[d])) continue;
      Name text = names.Intern(DimensionText(kernel, param, d));
      CheckDimension(emitter, tensor, d, type->dims[d], text);
    }
  }
  for (const ir::Op* op : *kernel.body) {
    if (op->kind() == ir::OpKind::Require) CheckRequirement(emitter, op, names);
  }
  CheckViews(emitter, tensors, names);
  builder.CreateRet(builder.getInt32(0));
  FinishTraps(emitter);
  return emitter.function;
}

}  // namespace kdl::codegen
