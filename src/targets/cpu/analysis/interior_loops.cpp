#include "targets/cpu/analysis/interior_loops.h"

#include <algorithm>
#include <cstdlib>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::cpu {

namespace {

/// Replaces index operands that are sums by their parts, so that the access itself contains the sum.
class IndexExpander {
 public:
  IndexExpander(ir::Module& module, Op* access)
      : sizes_(module.types().sizes()), access_(access), map_(access->attr<AttrKey::Access>()) {}

  void ExpandIndex() {
    std::vector<Value*> index(IndexOf(access_).begin(), IndexOf(access_).end());
    for (ir::AccessDim& dim : map_.dims) {
      std::vector<ir::AccessTerm> terms = std::move(dim.terms);
      dim.terms.clear();
      for (const ir::AccessTerm& term : terms) AddTerm(dim, index[term.operand], term.coefficient);
    }
    access_->SetSegment(ir::LoadOp::at_index, operands_);
    access_->SetAttr(ir::MakeAttr<AttrKey::Access>(map_));
  }

 private:
  void AddTerm(ir::AccessDim& dim, Value* value, Size coefficient) {
    if (auto constant = ConstantOf(value)) {
      Size product = sizes_.Binary(SizeKind::Mul, coefficient, sizes_.Constant(*constant));
      dim.offset = sizes_.Binary(SizeKind::Add, dim.offset, product);
      return;
    }
    const Op* op = value->def();
    bool is_sum = op && (op->kind() == OpKind::Add || op->kind() == OpKind::Sub) &&
                  op->parent_region() == access_->parent_region();
    if (is_sum) {
      AddTerm(dim, op->operand(0), coefficient);
      Size sign = sizes_.Constant(op->kind() == OpKind::Add ? 1 : -1);
      AddTerm(dim, op->operand(1), sizes_.Binary(SizeKind::Mul, coefficient, sign));
      return;
    }
    auto found = std::ranges::find(operands_, value);
    dim.terms.push_back({coefficient, static_cast<uint32_t>(found - operands_.begin())});
    if (found == operands_.end()) operands_.push_back(value);
  }

  SizeTable& sizes_;
  Op* access_;
  ir::Access map_;
  std::vector<Value*> operands_;
};

/// Makes the access one of the tensor with joined rows.
void JoinRowsOf(ir::Module& module, Op* access, Value* joined) {
  ir::Access map = access->attr<AttrKey::Access>();
  Size length = TensorOf(access)->type()->dims.back();
  Value* const tensors[] = {joined};
  bool is_load = access->kind() == OpKind::Load;
  access->SetSegment(is_load ? size_t{ir::LoadOp::at_tensor} : size_t{ir::StoreOp::at_tensor},
                     tensors);
  access->SetAttr(ir::MakeAttr<AttrKey::Access>(JoinedAccess(module.types().sizes(), map, length)));
}

/// A copy of an elementwise loop that is about to become simpler.
struct LoopCopy {
  Op* loop;
  ir::ValueMap copies;
};

LoopCopy CopyLoop(ir::Module& module, const Op* elementwise) {
  ir::Builder b(module, const_cast<Op*>(elementwise));
  ir::ValueMap copies;
  Op* loop = ir::Clone(elementwise, b, copies);
  return {loop, std::move(copies)};
}

/// Removes unused ops from the copy, and finds the reads that must stay in its loop over the last axis.
SimplerLoop Finish(const Op* elementwise, const LoopCopy& copy, const LastAxis& last) {
  std::unordered_set<const Op*> staying;
  for (const Op* op : *elementwise->region()) {
    bool may_read = op->kind() == OpKind::Load || !op->regions().empty();
    if (!may_read || last.IsInvariant(op)) continue;
    for (const Value* result : op->results()) staying.insert(copy.copies.at(result)->def());
  }
  passes::DropUnused(copy.loop->region());
  SimplerLoop simpler{.loop = copy.loop, .staying = {}};
  for (const Op* op : *copy.loop->region()) {
    if (staying.contains(op)) simpler.staying.insert(op);
  }
  return simpler;
}

void MakeProven(Op* load) {
  load->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
  load->SetSegment(ir::LoadOp::at_otherwise, {});
}

/// Replaces an op that uses a constant condition by one of its operands, or drops a mask that is always true.
void FoldCondition(Op* op) {
  if (op->kind() == OpKind::Select) {
    if (auto condition = ConstantOf(op->operand(ir::SelectOp::at_condition)))
      op->result()->ReplaceAllUsesWith(
          op->operand(*condition != 0 ? ir::SelectOp::at_a : ir::SelectOp::at_b));
  } else if ((op->kind() == OpKind::And || op->kind() == OpKind::Or) &&
             op->result()->type()->scalar == Scalar::Bool) {
    for (size_t i : {0, 1}) {
      std::optional<int64_t> known = ConstantOf(op->operand(i));
      if (!known) continue;
      bool decides = (*known != 0) == (op->kind() == OpKind::Or);
      op->result()->ReplaceAllUsesWith(op->operand(decides ? i : 1 - i));
      return;
    }
  } else if (op->kind() == OpKind::Load || op->kind() == OpKind::Store) {
    size_t at_mask = ir::OperandWith(op->kind(), ir::Effect::Mask);
    auto mask = op->Segment(at_mask);
    if (!mask.empty() && ConstantOf(mask[0]).value_or(0) != 0) op->SetSegment(at_mask, {});
  }
}

/// Simplifies everything but the loads with `else`.
void Simplify(ir::Module& module, const LoopCopy& copy, const Interior& interior) {
  for (const auto& [op, operand] : interior.clamps) {
    Value* clamped = copy.copies.at(op->result());
    clamped->ReplaceAllUsesWith(clamped->def()->operand(operand));
  }
  ir::Builder inner(module, copy.loop->region()->first());
  for (const auto& [op, result] : interior.comparisons) {
    copy.copies.at(op->result())->ReplaceAllUsesWith(inner.Bool(result));
  }
  for (Op* op : *copy.loop->region()) FoldCondition(op);
  for (Op* op : *copy.loop->region()) {
    if (op->kind() == OpKind::Load && !interior.clamps.empty())
      IndexExpander(module, op).ExpandIndex();
  }
}

/// The ends of a dimension that an index may be beyond.
struct Ends {
  bool below = false;
  bool above = false;

  bool any() const { return below || above; }
};

/// Lets the load read the nearest element that exists, and select the value after `else` if that is another element.
/// `ends_of` returns the ends of each dimension that the index may be beyond, or that need not be considered.
template <class EndsOf>
void ReadNearest(ir::Module& module, Op* load, EndsOf&& ends_of) {
  ir::Builder b(module, load);
  SizeTable& sizes = module.types().sizes();
  ir::Access access = load->attr<AttrKey::Access>();
  ir::Type tensor = TensorOf(load)->type();
  std::vector<Value*> index;
  Value* exists = b.Bool(true);
  for (size_t d = 0; d < access.dims.size(); ++d) {
    ir::AccessDim& dim = access.dims[d];
    Ends ends = ends_of(d);
    Value* at = ends.any() ? b.SizeValue(dim.offset) : nullptr;
    for (ir::AccessTerm& term : dim.terms) {
      Value* operand = passes::IndexOf(load)[term.operand];
      term.operand = static_cast<uint32_t>(index.size());
      if (ends.any()) {
        Value* coefficient = b.SizeValue(term.coefficient);
        Value* part = b.Mul(b.Cast(operand, Scalar::I64), coefficient);
        at = b.Add(at, part);
      } else {
        index.push_back(operand);
      }
    }
    if (!ends.any()) continue;
    Value* size = b.SizeValue(tensor->dims[d]);
    Value* is_inside = ends.above ? b.Lt(at, size) : b.Ge(at, b.I64(0));
    if (ends.above && ends.below) is_inside = b.And(b.Ge(at, b.I64(0)), is_inside);
    exists = b.And(exists, is_inside);
    dim = {.terms = {{sizes.Constant(1), static_cast<uint32_t>(index.size())}},
           .offset = sizes.Constant(0)};
    Value* nearest = ends.above ? b.Min(at, b.Sub(size, b.I64(1))) : at;
    index.push_back(ends.below ? b.Max(nearest, b.I64(0)) : nearest);
  }
  Value* otherwise = load->Segment(ir::LoadOp::at_otherwise)[0];
  load->SetSegment(ir::LoadOp::at_index, index);
  load->SetAttr(ir::MakeAttr<AttrKey::Access>(access));
  MakeProven(load);
  std::vector<ir::Use> uses = load->result()->uses();
  b.SetInsertionPoint(load->next());
  Value* selected = b.Select(exists, load->result(), otherwise);
  for (const ir::Use& use : uses) use.user->SetOperand(use.operand, selected);
}

/// Lets a copy of the load read the nearest row. A dimension that does not vary along the last axis belongs to the row.
void ReadNearestRow(ir::Module& module, const Op* original, Op* load, const LastAxis& last) {
  const ir::Access access = load->attr<AttrKey::Access>();
  ReadNearest(module, load, [&](size_t d) {
    bool is_of_row = std::ranges::none_of(access.dims[d].terms, [&](const ir::AccessTerm& term) {
      return !last.IsUniform(passes::IndexOf(original)[term.operand]);
    });
    return Ends{is_of_row, is_of_row};
  });
}

/// Returns the ends of a dimension that the load may be beyond.
Ends EndsOf(const ir::Function& function, const Op* elementwise, const Op* load, size_t dim) {
  constexpr int64_t kMostOffset =
      int64_t{1} << 28;  // the sum of an index and less than this does not wrap around
  const ir::Access access = load->attr<AttrKey::Access>();
  Size offset = access.dims[dim].offset;
  bool is_exact = IsConstant(offset) && std::abs(offset->value) < kMostOffset &&
                  passes::WalksDimension(function, elementwise, load, dim);
  if (!is_exact) return {true, true};
  return {offset->value < 0, offset->value > 0};
}

/// Whether the tensor has elements if the loop has points.
bool HasElements(const ir::Function& function, const Op* elementwise, ir::Type tensor) {
  return std::ranges::all_of(tensor->dims, [&](Size size) {
    if (IsConstant(size)) return size->value > 0;
    return std::ranges::any_of(elementwise->operands(), [&](const Value* operand) {
      return operand->type()->kind == ir::TypeKind::Block &&
             function.axis(operand->type()->axes[0]).domain == size;
    });
  });
}

/// Whether the load has a neighbor of each point as its element, which can be read where it does not exist by reading
/// another one instead.
bool MayReadNearest(const ir::Function& function, const Op* elementwise, const Op* load) {
  bool selects = !load->Segment(ir::LoadOp::at_otherwise).empty();
  size_t at_mask = ir::OperandWith(load->kind(), ir::Effect::Mask);
  return selects && load->Segment(at_mask).empty() &&
         HasElements(function, elementwise, TensorOf(load)->type());
}

}  // namespace

std::vector<Value*> TensorsOfShortRows(const Interior& interior) {
  std::vector<Value*> tensors;
  for (const Op* access : interior.in_short_rows) {
    auto* tensor = const_cast<Value*>(TensorOf(access));
    if (!Contains(tensors, tensor)) tensors.push_back(tensor);
  }
  return tensors;
}

SimplerLoop MakeInteriorLoop(ir::Module& module, const Op* elementwise, const Interior& interior,
                             const ir::ValueMap& joined, const LastAxis& last) {
  LoopCopy copy = CopyLoop(module, elementwise);
  for (const Op* load : interior.inside) {
    if (!last.IsUniform(load->result())) MakeProven(copy.copies.at(load->result())->def());
  }
  Simplify(module, copy, interior);
  for (Op* op : *copy.loop->region()) {
    if (op->kind() != OpKind::Load && op->kind() != OpKind::Store) continue;
    if (!WalksShortRows(op, copy.loop)) continue;
    auto found = joined.find(TensorOf(op));
    if (found != joined.end()) JoinRowsOf(module, op, found->second);
  }
  return Finish(elementwise, copy, last);
}

SimplerLoop MakeRowLoop(ir::Module& module, const Op* elementwise, const Interior& interior,
                        const LastAxis& last) {
  LoopCopy copy = CopyLoop(module, elementwise);
  for (const Op* load : interior.inside) {
    ReadNearestRow(module, load, copy.copies.at(load->result())->def(), last);
  }
  Simplify(module, copy, interior);
  return Finish(elementwise, copy, last);
}

std::optional<SimplerLoop> MakeNearestLoop(ir::Module& module, const ir::Function& function,
                                           const Op* elementwise, const Interior& interior,
                                           const LastAxis& last) {
  auto may_read = [&](const Op* load) { return MayReadNearest(function, elementwise, load); };
  if (std::ranges::none_of(interior.inside, may_read)) return std::nullopt;
  LoopCopy copy = CopyLoop(module, elementwise);
  for (const Op* load : interior.inside) {
    if (!may_read(load)) continue;
    ReadNearest(module, copy.copies.at(load->result())->def(),
                [&](size_t d) { return EndsOf(function, elementwise, load, d); });
  }
  return Finish(elementwise, copy, last);
}

}  // namespace kdl::cpu
