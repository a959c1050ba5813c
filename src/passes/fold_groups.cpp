#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/busy_cores.h"
#include "ir/element_walk.h"
#include "ir/eval.h"
#include "ir/groups.h"
#include "ir/views.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/block_range.h"
#include "passes/passes.h"
#include "passes/rewrite.h"
#include "support/check.h"

// fold-groups: an spmd that is dealt in groups becomes one over the groups, each of which walks its blocks in order. What
// the blocks update for their group goes to a row of a tensor of the launch; behind a barrier the rows are folded.
//
//   spmd (%i: blk<i> in %lo .. %hi) {deal = grouped} { … update %v into %t[%e] {how = add, scope = group} … }
//   -> %rows = launch_tensor "t" : tensor<f32,[min(blocks, 256), sizes of t]>
//      spmd (%g in 0 .. min(%blocks, 256)) {
//        fill %rows[%g, …] with the identity
//        loop %n in floor(%g * blocks / groups) .. floor((%g + 1) * blocks / groups) { … update %v into %rows[%g, %e] … }
//      }
//      sync
//      spmd (over the elements of t) { %t = %t + %rows[0] + %rows[1] + … }
//
// Where the spmd may run again another barrier follows: rows are not filled again before all have been folded. Of a stage the
// rows are folded when all stages have ended.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::MakeAttr;
using ir::Op;
using ir::OpKind;
using ir::UpdateKind;
using ir::Value;

/// The rows of one tensor that an spmd's groups update.
struct Rows {
  Value* tensor;
  UpdateKind how;
  Value* memory = nullptr;

  /// What values are folded in.
  Scalar acc() const {
    Scalar scalar = tensor->type()->scalar;
    return IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
  }
};

/// An access, as attributes and index operands.
struct Place {
  ir::Access access;
  std::vector<Value*> index;
};

OpKind OpOf(UpdateKind how) {
  if (how == UpdateKind::Add) return OpKind::Add;
  return how == UpdateKind::Max ? OpKind::Max : OpKind::Min;
}

uint64_t IdentityOf(UpdateKind how, Scalar acc) {
  using ir::FoldKind;
  FoldKind fold = how == UpdateKind::Add   ? FoldKind::Sum
                  : how == UpdateKind::Max ? FoldKind::Max
                                           : FoldKind::Min;
  return ir::FoldIdentity(fold, acc);
}

/// The axis that stands alone in a dimension of an update's index; null: there is none.
const Value* AloneIn(const ir::AccessDim& dim, ir::UpdateOp update) {
  const Value* only = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    const Value* operand = update.index()[term.operand];
    if (operand->type()->axes.empty()) continue;
    bool plain = operand->type()->kind == ir::TypeKind::Blk && IsConstant(term.coefficient) &&
                 term.coefficient->value != 0;
    if (only || !plain) return nullptr;
    only = operand;
  }
  return only;
}

/// Whether no two points of an update find one element, as far as it is plain to see.
bool TellsApart(ir::UpdateOp update) {
  ir::AxisList alone;
  ir::Access access = update->attr<AttrKey::Access>();
  for (const ir::AccessDim& dim : access.dims) {
    if (const Value* blk = AloneIn(dim, update)) alone = ir::UnionAxes(alone, blk->type()->axes);
  }
  ir::AxisList all;
  for (const Value* operand : update->operands()) {
    if (operand->type()->kind != ir::TypeKind::Tensor)
      all = ir::UnionAxes(all, operand->type()->axes);
  }
  return alone == all;
}

bool IsGroupUpdate(const Op* op) {
  return op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
}

bool MayRunAgain(const Op* op) {
  for (const Op* around = op->block()->parent(); around; around = around->block()->parent()) {
    bool loops = around->kind() == OpKind::For || around->kind() == OpKind::Loop ||
                 around->kind() == OpKind::While;
    if (loops) return true;
  }
  return false;
}

std::vector<Rows> RowsOf(const Op* spmd) {
  std::vector<Rows> rows;
  ir::Walk(spmd->region(), [&](Op* op) {
    if (!IsGroupUpdate(op)) return;
    Rows found{ir::UpdateOp(op).tensor(), op->attr<AttrKey::How>()};
    auto same = [&](const Rows& r) { return r.tensor == found.tensor && r.how == found.how; };
    if (std::none_of(rows.begin(), rows.end(), same)) rows.push_back(found);
  });
  return rows;
}

class GroupFolder {
 public:
  GroupFolder(ir::Module& module, ir::Function& kernel, Op* spmd)
      : kernel_(kernel),
        types_(module.types()),
        builder_(module),
        spmd_(spmd),
        stage_(StageOf(spmd)),
        behind_(stage_ ? kernel.body->terminator() : spmd) {}

  void Run() {
    bool again = MayRunAgain(spmd_);
    rows_ = RowsOf(spmd_);
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(stage_ ? stage_ : spmd_);
    if (stage_) TakeBoundsOut();
    CountBlocks();
    for (Rows& rows : rows_) MakeMemory(rows);
    builder_.SetInsertionPoint(spmd_);
    WalkGroups();
    builder_.SetInsertionPoint(behind_);
    if (!rows_.empty() && !IsBehindSync(behind_)) builder_.Create(OpKind::Sync, {}, {});
    for (const Rows& rows : rows_) Fold(rows);
    if (!rows_.empty() && again) builder_.Create(OpKind::Sync, {}, {});
    ir::Erase(spmd_);
  }

 private:
  /// The folds behind the stages need to know how many groups there are.
  void TakeBoundsOut() {
    for (Value* bound : spmd_->operands()) TakeOut(bound->def());
  }

  void TakeOut(Op* op) {
    if (!op || op->block() != stage_->region()) return;
    KDL_CHECK(op->regions().empty() && op->kind() != OpKind::Load,
              "a bound of blocks with groups in a stage comes from '{}'", op->info().spelling);
    for (Value* operand : op->operands()) TakeOut(operand->def());
    op->block()->Remove(op);
    stage_->block()->InsertBefore(op, stage_);
  }

  /// Whether a barrier stands between the last stage and `op`.
  bool IsBehindSync(const Op* op) const {
    if (!stage_) return false;
    for (op = op->prev(); op->kind() != OpKind::Stage; op = op->prev())
      if (op->kind() == OpKind::Sync) return true;
    return false;
  }

  Value* ExtentOf(const Value* binder) {
    if (binder->type()->kind != ir::TypeKind::Blk) return builder_.I64(1);
    return builder_.SizeValue(kernel_.axis(binder->type()->axes[0]).extent);
  }

  /// The number of blocks and of groups, as sizes where the domain is made of them, else as numbers.
  void CountBlocks() {
    SizeTable& sizes = types_.sizes();
    Size most = sizes.Constant(ir::kMostGroups);
    Value* product = nullptr;
    for (size_t b = 0; b < spmd_->region()->params().size(); ++b) {
      const Value* binder = spmd_->region()->param(b);
      ranges_.emplace_back(builder_, spmd_->operand(2 * b), spmd_->operand(2 * b + 1),
                           ExtentOf(binder));
      counts_.push_back(ranges_.back().Count());
      product = product ? builder_.Binary(OpKind::Mul, product, counts_[b]) : counts_[b];
    }
    blocks_ = product;
    if (Size known = ir::BlocksOfDomain(kernel_, sizes, spmd_)) {
      most_groups_ = sizes.Binary(SizeKind::Min, known, most);
      groups_ = builder_.SizeValue(most_groups_);
    } else {
      most_groups_ = most;
      groups_ = builder_.Binary(OpKind::Min, blocks_, builder_.I64(ir::kMostGroups));
    }
  }

  void MakeMemory(Rows& rows) {
    std::vector<Size> dims = {most_groups_};
    const auto& own = rows.tensor->type()->dims;
    dims.insert(dims.end(), own.begin(), own.end());
    rows.memory = builder_.Make(OpKind::LaunchTensor, {}, types_.Tensor(rows.acc(), dims),
                                {MakeAttr<AttrKey::Name>(rows.tensor->name())});
  }

  void WalkGroups() {
    Op* walk = builder_.Create(OpKind::Spmd, {{builder_.I64(0), groups_}}, {},
                               {MakeAttr<AttrKey::Deal>(ir::DealKind::Static)});
    Value* group = builder_.AddParam(walk->region(), types_.ScalarOf(Scalar::I64),
                                     builder_.module().context().names.Intern("group"));
    builder_.SetInsertionPoint(walk->region());
    for (const Rows& rows : rows_) Fill(rows, group);
    Value* next = builder_.Binary(OpKind::Add, group, builder_.I64(1));
    Value* begin = FirstBlock(group);
    Op* loop =
        builder_.Create(OpKind::Loop, {{begin}, {FirstBlock(next)}, {builder_.I64(1)}, {}}, {});
    builder_.Create(OpKind::Yield, {{}}, {});
    Value* number = builder_.AddParam(loop->region(), types_.ScalarOf(Scalar::I64), {});
    builder_.SetInsertionPoint(loop->region());
    BindBlocks(number);
    MoveOps(spmd_->region(), loop->region());
    std::vector<Op*> updates;
    ir::Walk(loop->region(), [&](Op* op) {
      if (IsGroupUpdate(op)) updates.push_back(op);
    });
    for (Op* update : updates) Redirect(ir::UpdateOp(update), group);
  }

  /// floor(group * blocks / groups), without an overflow.
  Value* FirstBlock(Value* group) {
    Value* share = builder_.Binary(OpKind::Div, blocks_, groups_);
    Value* more = builder_.Binary(OpKind::Rem, blocks_, groups_);
    Value* whole = builder_.Binary(OpKind::Mul, group, share);
    Value* part = builder_.Binary(OpKind::Div, builder_.Binary(OpKind::Mul, group, more), groups_);
    return builder_.Binary(OpKind::Add, whole, part);
  }

  /// The binders of block `number`, the leftmost one counting slowest.
  void BindBlocks(Value* number) {
    const std::vector<Value*> binders = spmd_->region()->params();
    std::vector<Value*> numbers(binders.size());
    Value* rest = number;
    for (size_t b = binders.size(); b-- > 0;) {
      numbers[b] = b == 0 ? rest : builder_.Binary(OpKind::Rem, rest, counts_[b]);
      if (b > 0) rest = builder_.Binary(OpKind::Div, rest, counts_[b]);
    }
    for (size_t b = 0; b < binders.size(); ++b) {
      Value* value = ranges_[b].Start(numbers[b]);
      if (binders[b]->type()->kind == ir::TypeKind::Blk) {
        value = builder_.Make(OpKind::MakeBlk, {value, ranges_[b].SizeAt(value), numbers[b]},
                              binders[b]->type());
      }
      value->set_name(binders[b]->name());
      binders[b]->ReplaceAllUsesWith(value);
    }
  }

  /// `place` in the row of a group.
  Place InRow(const Place& place, Value* group) {
    SizeTable& sizes = types_.sizes();
    Place in_row = place;
    auto operand = static_cast<uint32_t>(place.index.size());
    ir::AccessDim first{{{sizes.Constant(1), operand}}, sizes.Constant(0)};
    in_row.access.dims.insert(in_row.access.dims.begin(), first);
    in_row.index.push_back(group);
    return in_row;
  }

  Value* Load(Value* tensor, const Place& place, const ir::AxisList& axes) {
    ir::Type type = types_.Tile(tensor->type()->scalar, axes);
    return builder_
        .Create(
            OpKind::Load, {{tensor}, place.index, {}, {}}, {type},
            {MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::Edge>(EdgeKind::Proven)})
        ->result();
  }

  void Store(Value* value, Value* tensor, const Place& place) {
    builder_.Create(
        OpKind::Store, {{value}, {tensor}, place.index, {}}, {},
        {MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::Edge>(EdgeKind::Proven)});
  }

  void Fill(const Rows& rows, Value* group) {
    ir::Block* here = builder_.block();
    ir::ElementWalk walk = ir::MakeElementLoops(builder_, kernel_, rows.tensor->type());
    Value* identity = builder_.Bits(rows.acc(), IdentityOf(rows.how, rows.acc()));
    Store(identity, rows.memory, InRow({walk.access, walk.index}, group));
    builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(here);
  }

  /// The update, on the row of the group: element by element where points may find the same one, else as a whole.
  void Redirect(ir::UpdateOp update, Value* group) {
    auto how = update->attr<AttrKey::How>();
    const Rows& rows = *std::find_if(rows_.begin(), rows_.end(), [&](const Rows& r) {
      return r.tensor == update.tensor() && r.how == how;
    });
    builder_.SetInsertionPoint(update.op);
    builder_.set_loc(update->loc());
    std::vector<Value*> mask;
    if (update.mask()) mask.push_back(update.mask());
    Place place = InRow(
        {update->attr<AttrKey::Access>(), {update.index().begin(), update.index().end()}}, group);
    std::vector<ir::Attr> attrs = {MakeAttr<AttrKey::Access>(place.access),
                                   MakeAttr<AttrKey::Leading>(1),
                                   MakeAttr<AttrKey::Edge>(update->attr<AttrKey::Edge>())};
    if (const ir::Attr* text = update->FindAttr(AttrKey::Text)) attrs.push_back(*text);
    Value* value = builder_.Cast(update.value(), rows.acc());
    if (TellsApart(update)) {
      ir::AxisList axes;
      for (const Value* index : place.index) axes = ir::UnionAxes(axes, index->type()->axes);
      Value* old = builder_
                       .Create(OpKind::Load, {{rows.memory}, place.index, {}, mask},
                               {types_.Tile(rows.acc(), axes)}, attrs)
                       ->result();
      Value* updated = builder_.Binary(OpOf(how), old, value);
      builder_.Create(OpKind::Store, {{updated}, {rows.memory}, place.index, mask}, {}, attrs);
    } else {
      attrs.push_back(MakeAttr<AttrKey::How>(how));
      attrs.push_back(MakeAttr<AttrKey::Scope>(ir::ScopeKind::Core));
      builder_.Create(OpKind::Update, {{value}, {rows.memory}, place.index, mask}, {}, attrs);
    }
    ir::Erase(update.op);
  }

  void Fold(const Rows& rows) {
    ir::ElementWalk walk = ir::MakeElementSpmd(builder_, kernel_, rows.tensor->type());
    Place place{walk.access, walk.index};
    Value* start = builder_.Cast(Load(rows.tensor, place, walk.axes), rows.acc());
    Op* loop = builder_.Create(
        OpKind::Loop, {{builder_.I64(0)}, {groups_}, {builder_.I64(1)}, {start}}, {start->type()});
    ir::Block* outside = builder_.block();
    Value* group = builder_.AddParam(loop->region(), types_.ScalarOf(Scalar::I64), {});
    Value* folded = builder_.AddParam(loop->region(), start->type(), {});
    builder_.SetInsertionPoint(loop->region());
    Value* term = Load(rows.memory, InRow(place, group), walk.axes);
    builder_.Create(OpKind::Yield, {{builder_.Binary(OpOf(rows.how), folded, term)}}, {});
    builder_.SetInsertionPoint(outside);
    Store(builder_.Cast(loop->result(), rows.tensor->type()->scalar), rows.tensor, place);
    builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(behind_);
  }

  ir::Function& kernel_;
  ir::TypeTable& types_;
  ir::Builder builder_;
  Op* spmd_;
  Op* stage_;   ///< the one around; null: none
  Op* behind_;  ///< before it the groups are folded
  std::vector<Rows> rows_;
  std::vector<BlockRange> ranges_;
  std::vector<Value*> counts_;
  Value* blocks_ = nullptr;
  Value* groups_ = nullptr;
  Size most_groups_ = nullptr;  ///< how many rows there are
};

}  // namespace

void RunFoldGroups(PassContext& context, ir::Function& kernel) {
  for (Op* op : OpsOfKind(kernel, OpKind::Spmd)) {
    if (op->attr<AttrKey::Deal>() == ir::DealKind::Grouped)
      GroupFolder(context.module, kernel, op).Run();
  }
}

}  // namespace kdl::passes
