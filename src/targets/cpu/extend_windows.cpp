#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "ir/builder.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/block_sums.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/passes.h"

// extend-windows: lets the second step of a stencil read the tile of the first step without checks. The tile has a
// range over a window that ends at the ends of a dimension:
//
//   %p = make_block max(start(i) - 1, 0), min(start(i) + size(i) + 1, H) - max(start(i) - 1, 0), 0
//   %x = load %x[%p] {bounds = proven} ; %t = f(%x) : tile<f32; p>
//   %a = gather %t at (iota(i) - 1) over p else 0.0
//   ->
//   %p = make_block start(i) - 1, size(i) + 2, 0
//   %x = load %x[%p] else 0 {bounds = else} ; %t = f(%x) ; %u = select iota(p) >= 0 and iota(p) < H, %t, 0.0
//   %a = sliding_window %u[%i - 1] over p
//
// The elements that do not exist are now computed, too, and replaced by the value that all their readers have
// for them. This is possible if computing them has no effect and cannot trap.

namespace kdl::cpu {

namespace {

/// A block that ends at 0 and at a limit: the intersection of `start` .. `end` and 0 .. `limit`.
struct Clipped {
  Op* block;
  Value* start;
  Value* end;
  Value* limit;
};

const Op* DefOf(const Value* value, OpKind kind) {
  const Op* def = value->def();
  return def && def->kind() == kind ? def : nullptr;
}

/// Returns the operand of `max(operand, 0)`, or null.
Value* NotNegative(const Value* value) {
  const Op* max = DefOf(value, OpKind::Max);
  return max && ConstantOf(max->operand(1)) == 0 ? max->operand(0) : nullptr;
}

std::optional<Clipped> ClippedBlock(Op* op) {
  ir::MakeBlockOp block(op);
  Value* start = NotNegative(block.start());
  Value* size = NotNegative(block.size());
  const Op* sub = size ? DefOf(size, OpKind::Sub) : nullptr;
  const Op* min =
      sub && sub->operand(1) == block.start() ? DefOf(sub->operand(0), OpKind::Min) : nullptr;
  if (!start || !min) return std::nullopt;
  return Clipped{op, start, min->operand(0), min->operand(1)};
}

class Extender {
 public:
  Extender(ir::Module& module, ir::Function& kernel) : module_(module), kernel_(kernel) {}

  void ExtendAll() {
    for (Op* op : OpsOfKind(kernel_, OpKind::MakeBlock)) {
      std::optional<Clipped> clipped = ClippedBlock(op);
      if (clipped && MayExtend(*clipped)) extended_[op->result()->type()->axes[0]] = *clipped;
    }
    if (extended_.empty()) return;
    for (const auto& [axis, clipped] : extended_) Extend(clipped);
    for (Op* op : OpsOfKind(kernel_, OpKind::Load)) LoadMore(ir::LoadOp(op));
    std::vector<Op*> gathers = OpsOfKind(kernel_, OpKind::Gather);
    for (Op* op : gathers) FillTile(ir::GatherOp(op));
    for (Op* op : gathers) ReadFilled(ir::GatherOp(op));
  }

 private:
  bool MayExtend(const Clipped& clipped) {
    AxisId axis = clipped.block->result()->type()->axes[0];
    Size extent = kernel_.axis(axis).extent;
    std::optional<int64_t> length = BlockSum::MostOf(kernel_, clipped.end, clipped.start);
    if (!length || !IsConstant(extent) || *length > extent->value) return false;
    return !AnyBelow(kernel_.body, [&](const Op* op) {
      return op != clipped.block && Touches(op, axis) && !MayRunBeyond(op, clipped, axis);
    });
  }

  static bool Touches(const Op* op, AxisId axis) {
    auto has = [&](const Value* value) { return Contains(value->type()->axes, axis); };
    return std::ranges::any_of(op->operands(), has) || std::ranges::any_of(op->results(), has) ||
           std::ranges::any_of(op->regions(), [&](const ir::Region* region) {
             return std::ranges::any_of(region->params(), has);
           });
  }

  /// Returns whether the op may run for elements of the extended block that do not exist.
  bool MayRunBeyond(const Op* op, const Clipped& clipped, AxisId axis) const {
    switch (op->kind()) {
      case OpKind::Iota:
        return true;
      case OpKind::Load: {
        ir::LoadOp load(const_cast<Op*>(op));
        return op->attr<AttrKey::BoundsMode>() != ir::BoundsMode::Guard && !load.mask() &&
               !op->HasAttr(AttrKey::Copied);
      }
      case OpKind::Reduce:
      case OpKind::Contraction:
        return !Contains(ir::AxisList(op->attr<AttrKey::Axes>()), axis);
      case OpKind::Gather:
        return MayFill(ir::GatherOp(const_cast<Op*>(op)), clipped, axis);
      default:
        return op->info().has(ir::kPure) && op->info().has(ir::kElementwise) && !MayTrap(op);
    }
  }

  bool MayFill(ir::GatherOp gather, const Clipped& clipped, AxisId axis) const {
    if (gather.mask() || gather->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard) return false;
    const ir::AxisList over = gather->attr<AttrKey::Axes>();
    // Further elements along an axis of the indices could be outside of the tile's block.
    bool is_in_index = std::ranges::any_of(
        gather.index(), [&](const Value* index) { return Contains(index->type()->axes, axis); });
    if (is_in_index) return false;
    auto at = std::ranges::find(over, axis);
    if (at == over.end()) return true;
    if (gather.otherwise() && IsTileValue(gather.otherwise())) return false;
    const Value* index = gather.index()[static_cast<size_t>(at - over.begin())];
    return BlockSum::IsWithin(index, clipped.start, clipped.end);
  }

  void Extend(const Clipped& clipped) {
    ir::Builder b(module_, clipped.block);
    clipped.block->SetOperand(ir::MakeBlockOp::at_start, clipped.start);
    clipped.block->SetOperand(ir::MakeBlockOp::at_size, b.Sub(clipped.end, clipped.start));
  }

  /// Lets a load skip the elements that do not exist.
  void LoadMore(ir::LoadOp load) {
    bool is_extended = std::ranges::any_of(load.index(), [&](const Value* index) {
      return std::ranges::any_of(index->type()->axes,
                                 [&](AxisId axis) { return extended_.contains(axis); });
    });
    if (!is_extended || load.otherwise()) return;
    ir::Builder b(module_, load.op);
    Value* zero = b.Bits(load.result()->type()->scalar, 0);
    load->SetSegment(ir::LoadOp::at_otherwise, std::array{zero});
    load->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Else));
  }

  /// Gives the elements that do not exist the value that the gather has for them.
  void FillTile(ir::GatherOp gather) {
    const ir::AxisList over = gather->attr<AttrKey::Axes>();
    std::vector<AxisId> filled;
    std::ranges::copy_if(over, std::back_inserter(filled),
                         [&](AxisId axis) { return extended_.contains(axis); });
    if (filled.empty() || !gather.otherwise()) return;
    gather->SetOperand(ir::GatherOp::at_tile, Filled(gather, filled));
    if (filled.size() != over.size()) return;
    gather->SetSegment(ir::GatherOp::at_otherwise, {});
    gather->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Proven));
  }

  /// Lets a gather of elements that exist read a tile that other gathers need anyway.
  void ReadFilled(ir::GatherOp gather) {
    if (gather->attr<AttrKey::BoundsMode>() != ir::BoundsMode::Proven) return;
    auto found = filled_.lower_bound({gather.tile(), 0});
    if (found != filled_.end() && found->first.first == gather.tile())
      gather->SetOperand(ir::GatherOp::at_tile, found->second);
  }

  Value* Filled(ir::GatherOp gather, const std::vector<AxisId>& axes) {
    Value* tile = gather.tile();
    Value* otherwise = gather.otherwise();
    bool is_early = otherwise->def() && otherwise->def()->kind() == OpKind::Const && tile->def();
    uint64_t bits = is_early ? otherwise->def()->attr<AttrKey::Bits>() : 0;
    if (is_early && filled_.contains({tile, bits})) return filled_.at({tile, bits});
    ir::Builder b(module_, gather.op);
    if (is_early) {  // next to the op that makes the tile, so that both are in one elementwise loop
      b.SetInsertionPoint(tile->def()->parent_region(), tile->def()->next());
      otherwise = b.Bits(otherwise->type()->scalar, bits);
    }
    Value* exists = nullptr;
    for (AxisId axis : axes) {
      const Clipped& clipped = extended_.at(axis);
      ir::Type type = module_.types().Tile(Scalar::I64, {axis});
      Value* index = b.Make(OpKind::Iota, {clipped.block->result()}, type);
      Value* zero = b.I64(0);
      for (Value* inside : {b.Ge(index, zero), b.Lt(index, clipped.limit)})
        exists = exists ? b.And(exists, inside) : inside;
    }
    Value* made = b.Select(exists, tile, otherwise);
    made->set_name(tile->name());
    if (is_early) filled_[{tile, bits}] = made;
    return made;
  }

  ir::Module& module_;
  ir::Function& kernel_;
  std::map<AxisId, Clipped> extended_;
  std::map<std::pair<Value*, uint64_t>, Value*> filled_;  ///< by tile and the bits of the constant
};

/// Turns a gather whose indices are sums of ranges and constants into a sliding window. Returns false if it is
/// another gather.
bool UseSlidingWindow(ir::Module& module, ir::GatherOp gather) {
  const ir::AxisList over = gather->attr<AttrKey::Axes>();
  bool is_plain = gather->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Proven && !gather.mask();
  bool is_apart = std::ranges::none_of(
      over, [&](AxisId axis) { return Contains(gather.result()->type()->axes, axis); });
  if (!is_plain || !is_apart) return false;
  SizeTable& sizes = module.types().sizes();
  ir::Access access;
  std::vector<Value*> blocks;
  for (const Value* index : gather.index()) {
    std::optional<BlockSum> sum = BlockSum::SumOfIndex(index);
    if (!sum) return false;
    ir::AccessDim dim{{}, sizes.Constant(sum->constant)};
    for (const auto& [value, factor] : sum->terms) {
      if (value->type()->kind != ir::TypeKind::Block) return false;
      auto found = std::ranges::find(blocks, value);
      dim.terms.push_back({sizes.Constant(factor), static_cast<uint32_t>(found - blocks.begin())});
      if (found == blocks.end()) blocks.push_back(const_cast<Value*>(value));
    }
    access.dims.push_back(std::move(dim));
  }
  ir::Builder b(module, gather.op);
  Value* window = passes::MakeOne(
      b, OpKind::SlidingWindow, {{gather.tile()}, blocks}, gather.result()->type(),
      {ir::MakeAttr<AttrKey::Axes>(over), ir::MakeAttr<AttrKey::Access>(std::move(access))});
  window->set_name(gather.result()->name());
  gather.result()->ReplaceAllUsesWith(window);
  ir::Erase(gather.op);
  return true;
}

}  // namespace

void RunExtendWindows(PassContext& context, ir::Function& kernel) {
  std::vector<Op*> gathers = OpsOfKind(kernel, OpKind::Gather);
  if (gathers.empty()) return;
  Extender(context.module, kernel).ExtendAll();
  bool changed = false;
  for (Op* op : gathers) changed |= UseSlidingWindow(context.module, ir::GatherOp(op));
  if (changed) passes::DropUnused(kernel.body);
}

}  // namespace kdl::cpu
