#include "targets/simt/box_product.h"

#include <algorithm>
#include <optional>

#include "ir/module.h"
#include "ir/unit.h"
#include "ir/views.h"
#include "targets/simt/outer_product.h"
#include "targets/simt/tile_homes.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// The load that the factor is, of a whole tile or of each element; null: it is more.
const Op* LoadOf(const Value* factor, const Op** nest) {
  const Op* def = factor->def();
  if (!def || factor->uses().size() != 1) return nullptr;
  if (def->kind() == OpKind::Nest) {
    *nest = def;
    const Op* load = def->region()->first();
    const Op* end = def->region()->terminator();
    bool is_only = load->next() == end && end->operands().size() == 1 &&
                   end->operand(0)->def() == load && !def->HasAttr(AttrKey::Map);
    def = is_only ? load : nullptr;
  }
  if (!def || def->kind() != OpKind::Load) return nullptr;
  ir::LoadOp view(const_cast<Op*>(def));
  auto edge = def->attr<AttrKey::Edge>();
  bool is_plain = (edge == ir::EdgeKind::Clip || edge == ir::EdgeKind::Proven) && !view.mask() &&
                  !view.otherwise() && !def->HasAttr(AttrKey::Copied);
  return is_plain ? def : nullptr;
}

/// Of an index operand the axis whose blocks, or whose points in the nest, it counts.
std::optional<AxisId> AxisOf(const Value* index, const Op* nest) {
  if (index->type()->kind == ir::TypeKind::Blk) return index->type()->axes[0];
  bool is_point = nest && !index->def() && index->block() == nest->region();
  return is_point ? std::optional(nest->operand(index->index())->type()->axes[0]) : std::nullopt;
}

bool IsRead(const ir::Function& kernel, const Value* tensor) {
  return std::ranges::any_of(kernel.params, [&](const ir::Param& param) {
    return param.value == tensor && param.direction == ir::Direction::In;
  });
}

/// Whether the op is what any loop may have besides.
bool IsOfTurn(const Op* op) {
  return op->info().has(ir::kTerminator) ||
         ((op->info().has(ir::kPure) || op->info().has(ir::kElementwise)) &&
          std::ranges::none_of(op->operands(), IsTileValue) &&
          std::ranges::none_of(op->results(), IsTileValue));
}

/// Whether there is nothing in the kernel that has near memory besides, or waits for others.
bool IsAlone(const ir::Function& kernel, const Op* product) {
  bool alone = true;
  ir::Walk(kernel.body, [&](const Op* op) {
    switch (op->kind()) {
      case OpKind::Contraction:
        alone &= op == product;
        return;
      case OpKind::Reduce:
      case OpKind::Fold:
      case OpKind::FoldIn:
      case OpKind::Scan:
      case OpKind::Take:
      case OpKind::Slide:
      case OpKind::Sync:
      case OpKind::Stage:
      case OpKind::Pipe:
        alone = false;
        return;
      default:
        return;
    }
  });
  return alone;
}

}  // namespace

std::optional<BoxFactor> BoxFactorOf(const Op* product, size_t factor) {
  const Value* value = ir::NarrowFactor(product->operand(factor));
  BoxFactor found{};
  found.load = LoadOf(value, &found.nest);
  if (!found.load || value->def()->block() != product->block()) return std::nullopt;
  const ir::Access access = found.load->attr<AttrKey::Access>();
  constexpr size_t kMostDims = 5;
  if (access.dims.size() < 2 || access.dims.size() > kMostDims) return std::nullopt;
  auto index = found.load->Segment(ir::LoadOp::at_index);
  AxisId folded = product->attr<AttrKey::Axes>()[0];
  int axes = 0;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const ir::AccessDim& dim = access.dims[d];
    bool is_last = d + 1 == access.dims.size();
    std::optional<AxisId> axis;
    for (const ir::AccessTerm& term : dim.terms) {
      std::optional<AxisId> of_term = AxisOf(index[term.operand], found.nest);
      if (!of_term) continue;
      if (dim.terms.size() != 1 || !kdl::IsConstant(term.coefficient, 1)) return std::nullopt;
      // Where its block ends is seen by where the tensor does.
      if (*of_term == folded && !kdl::IsConstant(dim.offset, 0)) return std::nullopt;
      axis = of_term;
    }
    if (!axis && !is_last) continue;
    if (!axis || ++axes > 2) return std::nullopt;
    (is_last ? found.column : found.row) = *axis;
    (is_last ? found.column_dimension : found.row_dimension) = static_cast<int64_t>(d);
  }
  bool is_box = axes == 2 && found.row != found.column && value->type()->axes.size() == 2;
  return is_box ? std::optional(found) : std::nullopt;
}

bool IsBoxProduct(const Op* product) {
  const ir::Block* block = product->block();
  const Op* loop = block->parent();
  bool in_loop = loop && (loop->kind() == OpKind::For || loop->kind() == OpKind::Loop) &&
                 loop->results().size() == 1 && !loop->HasAttr(AttrKey::Breaks) &&
                 !loop->HasAttr(AttrKey::Claim);
  if (!in_loop || !OuterAxes(product) || product->attr<AttrKey::Axes>().size() != 1) return false;
  const Value* into = ir::ContractionOp(const_cast<Op*>(product)).into();
  bool carries = into == block->param(1) && into->uses().size() == 1 &&
                 product->result()->uses().size() == 1 &&
                 block->terminator()->operand(0) == product->result();
  if (!carries || !IsAlone(*block->function(), product)) return false;
  for (const Op* op : *block) {
    bool brings = std::ranges::any_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
      return ir::NarrowFactor(product->operand(factor))->def() == op ||
             product->operand(factor)->def() == op;
    });
    if (op != product && !brings && !IsOfTurn(op)) return false;
  }
  return std::ranges::all_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
    std::optional<BoxFactor> box = BoxFactorOf(product, factor);
    return box && IsRead(*block->function(), box->load->operand(ir::LoadOp::at_tensor));
  });
}

}  // namespace kdl::simt
