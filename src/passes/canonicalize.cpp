#include <algorithm>
#include <unordered_set>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/passes.h"
#include "passes/rewriting/drop_unused.h"
#include "passes/rewriting/guarded_divisors.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// canonicalize: simplifies a kernel. Folds constants, elements of tables, and the starts and sizes of blocks that `make_block`
// creates. Replaces an op by an equal pure op that is in scope, and removes unused ops:
//
//   %b = make_block %s, %n, %0 ; %x = block_size %b ; %y = add %x, %0   ->   %n in place of %y

namespace kdl::passes {

namespace {

// -- Folding -------------------------------------------------------------------------------------

Value* FoldBlockFact(const Op* op) {
  auto block = ir::DynAs<ir::MakeBlockOp>(op->operand(0)->def());
  if (!block) return nullptr;
  if (op->kind() == OpKind::BlockStart) return block->start();
  return op->kind() == OpKind::BlockSize ? block->size() : block->index();
}

/// Folds a scalar op whose operands are all constants.
Value* FoldConstants(Op* op, ir::Module& module) {
  auto is_constant = [](const Value* operand) {
    return operand->def() && operand->def()->kind() == OpKind::Const;
  };
  bool folds = op->info().has(ir::kElementwise) && ir::IsScalar(op->result()->type()) &&
               std::ranges::all_of(op->operands(), is_constant);
  std::optional<uint64_t> value = folds ? proofs::ConstantBits(op->result()) : std::nullopt;
  if (!value) return nullptr;
  ir::Builder builder(module, op);
  return builder.Bits(op->result()->type()->scalar, *value);
}

/// Folds x + 0, x * 1 and similar integer ops whose result equals one of their operands.
Value* FoldNeutral(const Op* op) {
  if (op->operands().size() != 2 || !IsInteger(op->operand(0)->type()->scalar)) return nullptr;
  std::optional<int64_t> a = ConstantOf(op->operand(0));
  std::optional<int64_t> b = ConstantOf(op->operand(1));
  switch (op->kind()) {
    case OpKind::Add:
      if (a == 0) return op->operand(1);
      return b == 0 ? op->operand(0) : nullptr;
    case OpKind::Sub:
      return b == 0 ? op->operand(0) : nullptr;
    case OpKind::Mul:
      if (a == 1) return op->operand(1);
      return b == 1 ? op->operand(0) : nullptr;
    case OpKind::Div:
      return b == 1 ? op->operand(0) : nullptr;
    case OpKind::Min:
    case OpKind::Max:
      return op->operand(0) == op->operand(1) ? op->operand(0) : nullptr;
    default:
      return nullptr;
  }
}

Value* FoldSelect(const Op* op) {
  if (op->operand(1) == op->operand(2)) return op->operand(1);
  const Op* condition = op->operand(0)->def();
  if (!condition || condition->kind() != OpKind::Const) return nullptr;
  return op->operand(condition->attr<AttrKey::Bits>() != 0 ? 1 : 2);
}

/// Folds a load of an element of a table at a constant index that is in bounds.
Value* FoldElement(Op* op, ir::Module& module) {
  const Op* table = TensorOf(op)->def();
  bool is_element = table && table->kind() == OpKind::Table && ir::IsScalar(op->result()->type()) &&
                    op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Proven;
  if (!is_element) return nullptr;
  ir::Access access = op->attr<AttrKey::Access>();
  int64_t number = 0;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const ir::AccessDim& dim = access.dims[d];
    if (!dim.terms.empty() || !IsConstant(dim.offset)) return nullptr;
    int64_t size = table->result()->type()->dims[d]->value;
    bool is_inside = dim.offset->value >= 0 && dim.offset->value < size;
    if (!is_inside) return nullptr;  // the load is in code that never runs
    number = number * size + dim.offset->value;
  }
  ir::Builder builder(module, op);
  return builder.Bits(op->result()->type()->scalar,
                      table->attr<AttrKey::Elements>()[static_cast<size_t>(number)]);
}

/// Returns an existing or new value that can replace the op's result, or null.
Value* Fold(Op* op, ir::Module& module) {
  switch (op->kind()) {
    case OpKind::BlockStart:
    case OpKind::BlockSize:
    case OpKind::BlockIndex:
      return FoldBlockFact(op);
    case OpKind::Select:
      if (Value* value = FoldSelect(op)) return value;
      break;
    case OpKind::Div:
    case OpKind::Rem:
      if (Value* value = WithoutGuard(module, op)) return value;
      if (Value* value = FoldNeutral(op)) return value;
      break;
    case OpKind::Load:
      return FoldElement(op, module);
    case OpKind::Cast:
    case OpKind::Broadcast:
      return op->operand(0)->type() == op->result()->type() ? op->operand(0)
                                                            : FoldConstants(op, module);
    default:
      if (Value* value = FoldNeutral(op)) return value;
  }
  return FoldConstants(op, module);
}

// -- Merging -------------------------------------------------------------------------------------

size_t Combine(size_t seed, size_t value) { return seed * 0x9E3779B97F4A7C15u + value; }

struct SameOpHash {
  size_t operator()(const Op* op) const {
    size_t hash = static_cast<size_t>(op->kind());
    for (const Value* operand : op->operands())
      hash = Combine(hash, std::hash<const void*>{}(operand));
    hash = Combine(hash, std::hash<const void*>{}(op->result()->type()));
    if (const ir::Attr* bits = op->FindAttr(AttrKey::Bits)) {
      hash = Combine(hash, static_cast<size_t>(std::get<int64_t>(bits->value)));
    }
    return hash;
  }
};

struct SameOp {
  bool operator()(const Op* a, const Op* b) const {
    return a->kind() == b->kind() && a->operands() == b->operands() && a->attrs() == b->attrs() &&
           a->result()->type() == b->result()->type();
  }
};

/// The ops that are in scope. Contains only one of several equal ops.
class ScopedOps {
 public:
  /// Returns an equal op in scope. If there is none, adds `op` and returns null.
  Op* Find(Op* op) {
    auto [found, is_new] = ops_.insert(op);
    if (is_new) order_.push_back(op);
    return is_new ? nullptr : *found;
  }
  size_t mark() const { return order_.size(); }
  void Leave(size_t mark) {
    for (; order_.size() > mark; order_.pop_back()) ops_.erase(order_.back());
  }

 private:
  std::unordered_set<Op*, SameOpHash, SameOp> ops_;
  std::vector<Op*> order_;
};

/// Equal `block` values are never merged, because each of them defines the scope of the tiles over its block.
bool MayMerge(const Op* op) {
  return op->info().has(ir::kPure) && op->results().size() == 1 && op->regions().empty() &&
         op->kind() != OpKind::MakeBlock;
}

class Canonicalizer {
 public:
  Canonicalizer(ir::Module& module, bool keeps_named)
      : module_(module), keeps_named_(keeps_named) {}

  /// Simplifies the body once and returns whether anything changed.
  bool SimplifyOnce(ir::Region* body) {
    changed_ = false;
    Simplify(body);
    return DropUnused(body) || changed_;
  }

 private:
  void Replace(Op* op, Value* value) {
    bool is_constant = value->def() && value->def()->kind() == OpKind::Const;
    if (value->name().empty() && !is_constant) value->set_name(op->result()->name());
    op->result()->ReplaceAllUsesWith(value);
    ir::Erase(op);
    changed_ = true;
  }

  void Simplify(ir::Region* region) {
    size_t mark = in_scope_.mark();
    for (Op* op : *region) {
      for (ir::Region* nested : op->regions()) Simplify(nested);
      if (op->results().size() != 1 || !op->regions().empty()) continue;
      Value* value = Fold(op, module_);
      // inline-functions copies tiles and elements for debuggers.
      bool may_copy = op->kind() == OpKind::Broadcast || op->kind() == OpKind::Cast;
      bool is_kept_copy = may_copy && IsKept(op) && value == op->operand(0);
      if (is_kept_copy) continue;
      if (value && value->type() == op->result()->type()) {
        Replace(op, value);
      } else if (MayMerge(op) && !IsKept(op)) {
        if (Op* equal = in_scope_.Find(op)) Replace(op, equal->result());
      }
    }
    in_scope_.Leave(mark);
  }

  /// Whether debuggers show the op's result under its name: a tile, or the copy of an argument of an inlined fn.
  bool IsKept(const Op* op) const {
    if (!keeps_named_ || op->result()->name().empty()) return false;
    ir::Type type = op->result()->type();
    return !type->axes.empty() || (op->kind() == OpKind::Cast && op->operand(0)->type() == type);
  }

  ir::Module& module_;
  bool keeps_named_;
  ScopedOps in_scope_;
  bool changed_ = false;
};

}  // namespace

void RunCanonicalize(PassContext& context, ir::Function& kernel) {
  Canonicalizer canonicalizer(context.module, context.keeps_tiles);
  while (canonicalizer.SimplifyOnce(kernel.body)) {
  }
}

}  // namespace kdl::passes
