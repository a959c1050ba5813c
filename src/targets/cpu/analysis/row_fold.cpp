#include "targets/cpu/analysis/row_fold.h"

#include <algorithm>
#include <set>

#include "ir/op_info.h"
#include "ir/views.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/instructions.h"

namespace kdl::cpu {

namespace {

bool IsPlainLoad(const Op* op) {
  if (op->kind() != OpKind::Load) return false;
  ir::LoadOp load(const_cast<Op*>(op));
  auto bounds_mode = op->attr<AttrKey::BoundsMode>();
  return (bounds_mode == ir::BoundsMode::Clip || bounds_mode == ir::BoundsMode::Proven) &&
         !load.mask() && !load.otherwise();
}

/// Returns how often the rows of a factor may be read before packing it is faster. If the other factor is
/// computed, as in attention, and rows are short, these are more reads.
int64_t MostReads(const Op* fold, const KernelShape& kernel, AxisId last, const Value* other) {
  Size extent = kernel.function.axis(last).extent;
  bool is_short =
      IsConstant(extent) && extent->value * Bytes(fold->attr<AttrKey::Acc>()) <= kShortRowBytes;
  bool is_loaded = other->def() && other->def()->kind() == OpKind::Load;
  return is_short && !is_loaded ? kFewShortRows : kFewRows;
}

/// Whether the reduction reads the factor that has the axis `last` only a few times. It reads this factor
/// once for each element of the axes that the factor does not have.
bool ReadsFewTimes(const Op* fold, const KernelShape& kernel, AxisId last, AxisId few) {
  if (fold->kind() == OpKind::Reduce) return true;
  std::vector<Value*> terms = TermsOf(fold);
  if (HasAxis(terms[0], last)) std::swap(terms[0], terms[1]);
  if (!HasAxis(terms[1], last) || HasAxis(terms[0], last)) return false;
  const int64_t most = MostReads(fold, kernel, last, terms[0]);
  int64_t times = 1;
  for (AxisId axis : fold->result()->type()->axes) {
    if (axis == few || HasAxis(terms[1], axis)) continue;
    Size extent = kernel.function.axis(axis).extent;
    if (!IsConstant(extent) || extent->value > most) return false;
    times *= extent->value;
  }
  return times <= most;
}

/// Returns the axis along which the load's elements are contiguous; invalid if there is none.
AxisId LastIndexed(const Op* load) {
  const ir::Access access = load->attr<AttrKey::Access>();
  auto index = load->Segment(ir::LoadOp::at_index);
  AxisId last;
  for (const ir::AccessTerm& term : access.dims.back().terms) {
    const Value* operand = index[term.operand];
    if (operand->type()->kind == ir::TypeKind::Block) last = operand->type()->axes[0];
  }
  return last;
}

class Finder {
 public:
  Finder(const Op* fold, AxisId last)
      : fold_(fold), folded_(fold->attr<AttrKey::Axes>()[0]), last_(last) {}

  /// Whether rows of the terms can be computed separately, and nothing else uses the terms.
  bool Find() {
    for (const Value* term : TermsOf(fold_)) {
      if (!Collects(term) && !IsColumn(term)) return false;
    }
    for (const Op* op = fold_->prev(); found_.makers.size() < reached_.size(); op = op->prev()) {
      if (!reached_.contains(op)) continue;
      bool used_here = std::ranges::all_of(op->result()->uses(), [&](const ir::Use& use) {
        return use.user == fold_ || reached_.contains(use.user);
      });
      if (!used_here) return false;
      found_.makers.push_back(op);
    }
    return found_.block != nullptr;
  }

  /// Whether the elements of all loads are contiguous along the last axis, and at least one load has that
  /// axis.
  bool LieAlongLast() const {
    bool some = false;
    for (const Op* op : found_.makers) {
      if (op->kind() != OpKind::Load || !HasAxis(op->result(), last_)) continue;
      if (LastIndexed(op) != last_) return false;
      some = true;
    }
    return some;
  }

  const RowFold& found() const { return found_; }

 private:
  /// Collects all ops that compute the term and returns true. If that is not possible, collects none of them
  /// and returns false.
  bool Collects(const Value* term) {
    std::set<const Op*> reached = reached_;
    ir::Value* block = found_.block;
    if (Collect(term)) return true;
    reached_ = std::move(reached);
    found_.block = block;
    return false;
  }

  /// Whether the term has only a few numbers for each row, while the other term has whole rows.
  bool IsColumn(const Value* term) const {
    return fold_->kind() == OpKind::Contraction && !HasAxis(term, last_);
  }

  /// Records the ops that compute the term, back to its loads. Returns false if that is not possible.
  bool Collect(const Value* term) {
    // Limits the search. In a region with thousands of ops, each reduction could otherwise reach all of them.
    constexpr size_t kMost = 256;
    if (!HasAxis(term, folded_)) return true;
    const Op* def = term->def();
    if (reached_.size() == kMost || !def || def->parent_region() != fold_->parent_region() ||
        def->results().size() != 1)
      return false;
    if (!reached_.insert(def).second) return true;
    if (IsPlainLoad(def)) return NoteBlock(def) && NothingWritesBetween(def, fold_);
    return def->info().has(ir::kPure) && def->info().has(ir::kElementwise) &&
           std::ranges::all_of(def->operands(), [&](const Value* one) { return Collect(one); });
  }

  /// Records the load's block along the reduced axis. Returns false if the rows are selected by a tile of
  /// indices.
  bool NoteBlock(const Op* load) {
    for (Value* index : load->Segment(ir::LoadOp::at_index)) {
      if (HasAxis(index, folded_)) return false;
      bool is_row = index->type()->kind == ir::TypeKind::Block && index->type()->axes[0] == folded_;
      if (!is_row) continue;
      if (found_.block && found_.block != index) return false;
      found_.block = index;
    }
    return true;
  }

  const Op* fold_;
  AxisId folded_;
  AxisId last_;
  std::set<const Op*> reached_;
  RowFold found_;
};

}  // namespace

bool NothingWritesBetween(const Op* op, const Op* fold) {
  constexpr int kLongestWalk = 4096;  // ops; searching farther for each reduction would be slow
  int walked = 0;
  for (const Op* next = op->next(); next != fold; next = next->next()) {
    bool harmless = next && ++walked < kLongestWalk && next->regions().empty() &&
                    (next->info().has(ir::kPure) || next->kind() == OpKind::Load);
    if (!harmless) return false;
  }
  return true;
}

bool AddsPairs(const Op* fold, const ProcessorFacts& facts) {
  return fold->HasAttr(AttrKey::Instruction) && !IsNative(facts, &targets::kBf16Pairs) &&
         fold->attr<AttrKey::Instruction>().text() == targets::kBf16Pairs.name;
}

std::vector<Value*> TermsOf(const Op* fold) {
  if (fold->kind() == OpKind::Reduce) return {fold->operand(0)};
  ir::ContractionOp contraction(const_cast<Op*>(fold));
  return {contraction.a(), contraction.b()};
}

std::optional<RowFold> RowFoldOf(const Op* op, const KernelShape& kernel, AxisId few) {
  bool folds = op->kind() == OpKind::Reduce || op->kind() == OpKind::Contraction;
  if (!folds || op->attr<AttrKey::Order>() != ir::OrderKind::Sequential ||
      (op->HasAttr(AttrKey::Instruction) && !AddsPairs(op, kernel.facts)) ||
      op->attr<AttrKey::Axes>().size() != 1 || !IsTileValue(op->result()))
    return std::nullopt;
  AxisId last = kernel.order.Sorted(op->result()->type()->axes).back();
  if (!ReadsFewTimes(op, kernel, last, few)) return std::nullopt;
  Finder finder(op, last);
  if (!finder.Find() || !finder.LieAlongLast()) return std::nullopt;
  return finder.found();
}

}  // namespace kdl::cpu
