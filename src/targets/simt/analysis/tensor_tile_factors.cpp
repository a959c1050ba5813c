#include "targets/simt/analysis/tensor_tile_factors.h"

#include <algorithm>
#include <optional>

#include "ir/matrix_instruction.h"
#include "ir/module.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/analysis/iteration_needs.h"
#include "targets/simt/analysis/outer_product.h"
#include "targets/simt/analysis/tile_uses.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// If the factor is loaded from a tensor without further computation, returns the op that loads the whole
/// tile, or the op that loads one element in an elementwise loop. Otherwise returns null.
const Op* FactorLoad(const Value* factor, const Op** elementwise) {
  const Op* def = factor->def();
  if (!def || factor->uses().size() != 1) return nullptr;
  if (def->kind() == OpKind::Elementwise) {
    *elementwise = def;
    bool loads = !def->HasAttr(AttrKey::Map);
    for (const Op* op : *def->region())
      loads &= op->kind() == OpKind::Load || op == def->region()->terminator();
    def = loads ? def->region()->terminator()->operand(factor->index())->def() : nullptr;
  }
  if (!def || def->kind() != OpKind::Load) return nullptr;
  ir::LoadOp view(const_cast<Op*>(def));
  auto bounds_mode = def->attr<AttrKey::BoundsMode>();
  bool is_plain = (bounds_mode == ir::BoundsMode::Clip || bounds_mode == ir::BoundsMode::Proven) &&
                  !view.mask() && !view.otherwise() && !def->HasAttr(AttrKey::Copied);
  return is_plain ? def : nullptr;
}

/// Returns the axis of an index operand. Returns nothing if the operand is neither a block nor an index of
/// the elementwise loop.
std::optional<AxisId> IndexAxis(const Value* index, const Op* elementwise) {
  if (index->type()->kind == ir::TypeKind::Block) return index->type()->axes[0];
  bool is_point = elementwise && !index->def() && index->parent_region() == elementwise->region();
  return is_point ? std::optional(elementwise->operand(index->index())->type()->axes[0])
                  : std::nullopt;
}

bool IsRead(const ir::Function& kernel, const Value* tensor) {
  return std::ranges::any_of(kernel.params, [&](const ir::Param& param) {
    return param.value == tensor && param.direction == ir::Direction::In;
  });
}

/// Returns whether a loop around a product of tensor tiles may contain the op, in addition to the product and
/// its factors.
bool IsOfIteration(const Op* op) {
  return op->info().has(ir::kTerminator) ||
         ((op->info().has(ir::kPure) || op->info().has(ir::kElementwise)) &&
          std::ranges::none_of(op->operands(), IsTileValue) &&
          std::ranges::none_of(op->results(), IsTileValue));
}

bool WaitsForOthers(const Op* op) {
  return op->kind() == OpKind::Sync || op->kind() == OpKind::Stage || op->kind() == OpKind::Pipe;
}

/// Returns whether no op besides the product needs workgroup memory, and no op waits for other stages or
/// cores.
bool IsAlone(const ir::Function& kernel, const Op* product) {
  bool alone = true;
  ir::Walk(kernel.body, [&](const Op* op) {
    switch (op->kind()) {
      case OpKind::Contraction:
        alone &= op == product;
        return;
      case OpKind::Reduce:
      case OpKind::MultiReduce:
      case OpKind::ReduceInLoop:
      case OpKind::Scan:
      case OpKind::Gather:
      case OpKind::SlidingWindow:
        alone = false;
        return;
      default:
        alone &= !WaitsForOthers(op);
    }
  });
  return alone;
}

/// If the op is directly inside a loop, and all iterations of this loop are executed in order, returns the
/// loop. Otherwise returns null.
const Op* IterationLoop(const Op* op) {
  const Op* loop = op->parent_region()->parent();
  bool is_loop = loop && (loop->kind() == OpKind::For || loop->kind() == OpKind::Loop) &&
                 !loop->HasAttr(AttrKey::Breaks) && !loop->HasAttr(AttrKey::DynamicCounter) &&
                 !loop->HasAttr(AttrKey::Blocks);
  return is_loop ? loop : nullptr;
}

/// Returns whether no thread can leave an iteration early while other threads wait for it, because no op may
/// trap or wait for other stages or cores.
bool EndsIterations(const Op* loop) {
  bool ends = true;
  ir::Walk(loop->region(), [&](const Op* op) { ends &= !passes::MayTrap(op); });
  ir::Walk(loop->parent_region()->function()->body,
           [&](const Op* op) { ends &= !WaitsForOthers(op); });
  return ends;
}

}  // namespace

std::optional<TensorTileFactor> TensorTileFactorOf(const Op* product, size_t factor) {
  const Value* value = ir::NarrowFactor(product->operand(factor));
  TensorTileFactor found{};
  found.load = FactorLoad(value, &found.elementwise);
  if (!found.load || value->def()->parent_region() != product->parent_region()) return std::nullopt;
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
      const Value* operand = index[term.operand];
      std::optional<AxisId> of_term = IndexAxis(operand, found.elementwise);
      // All rows of a tensor tile have the same index in dimensions along which the tile does not extend.
      bool is_fixed = !IsTileValue(operand) &&
                      !(found.elementwise && passes::IsInside(operand, found.elementwise));
      if (!of_term && !is_fixed) return std::nullopt;
      if (!of_term) continue;
      if (dim.terms.size() != 1 || !kdl::IsConstant(term.coefficient, 1)) return std::nullopt;
      // A tile copy stops at the end of a block only if the tensor ends there, too.
      if (*of_term == folded && !kdl::IsConstant(dim.offset, 0)) return std::nullopt;
      axis = of_term;
    }
    if (!axis && !is_last) continue;
    if (!axis || ++axes > 2) return std::nullopt;
    (is_last ? found.column : found.row) = *axis;
    (is_last ? found.column_dimension : found.row_dimension) = static_cast<int64_t>(d);
  }
  bool is_tensor_tile = axes == 2 && found.row != found.column && value->type()->axes.size() == 2;
  return is_tensor_tile ? std::optional(found) : std::nullopt;
}

bool ComesAsTensorTile(const Op* product, size_t factor) {
  const Op* loop = IterationLoop(product);
  std::optional<TensorTileFactor> tensor_tile =
      loop ? TensorTileFactorOf(product, factor) : std::nullopt;
  if (!tensor_tile || !IsRead(*product->parent_region()->function(),
                              tensor_tile->load->operand(ir::LoadOp::at_tensor)))
    return false;
  std::vector<Op*> needed;
  return AddSlice(loop, product->operand(factor)->def(), needed);
}

bool IsMadeFactor(const Op* product, size_t factor) {
  const Value* value = ir::NarrowFactor(product->operand(factor));
  const Op* def = value->def();
  bool makes = def && value->type()->axes.size() == 2 &&
               (def->kind() == OpKind::Elementwise || def->kind() == OpKind::Load ||
                def->info().has(ir::kElementwise));
  return makes && std::ranges::none_of(value->uses(), [&](const ir::Use& use) {
           bool is_own = use.user == product || use.user == product->operand(factor)->def();
           return use.user->kind() == OpKind::Print || HandsOn(use.user) ||
                  use.user->info().has(ir::kTerminator) ||
                  (use.user->kind() == OpKind::Contraction && !is_own);
         });
}

bool IsIterationProduct(const Op* product) {
  const Op* loop = IterationLoop(product);
  if (!loop || !OuterAxes(product) || product->attr<AttrKey::Axes>().size() != 1) return false;
  if (product->operand(0) == product->operand(1) || !EndsIterations(loop)) return false;
  return std::ranges::all_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
    return ComesAsTensorTile(product, factor) || IsMadeFactor(product, factor);
  });
}

bool IsTensorTileProduct(const Op* product) {
  const ir::Region* region = product->parent_region();
  const Op* loop = IterationLoop(product);
  if (!loop || loop->results().size() != 1 || !OuterAxes(product) ||
      product->attr<AttrKey::Axes>().size() != 1)
    return false;
  const Value* into = ir::ContractionOp(const_cast<Op*>(product)).into();
  bool carries = into == region->param(1) && into->uses().size() == 1 &&
                 product->result()->uses().size() == 1 &&
                 region->terminator()->operand(0) == product->result();
  if (!carries || !IsAlone(*region->function(), product)) return false;
  for (const Op* op : *region) {
    bool brings = std::ranges::any_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
      return ir::NarrowFactor(product->operand(factor))->def() == op ||
             product->operand(factor)->def() == op;
    });
    if (op != product && !brings && !IsOfIteration(op)) return false;
  }
  return std::ranges::all_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
    std::optional<TensorTileFactor> tensor_tile = TensorTileFactorOf(product, factor);
    return tensor_tile &&
           IsRead(*region->function(), tensor_tile->load->operand(ir::LoadOp::at_tensor));
  });
}

}  // namespace kdl::simt
