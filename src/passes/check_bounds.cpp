#include <algorithm>

#include "ir/views.h"
#include "passes/analysis/linear.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// check-bounds: the edge of every access.
//   clip    each index is a whole range over the dimension's own size, or proven; the block's valid size is enough
//   proven  inside for all sizes
//   guard   unknown: checked at run time
// An index that is outside whatever the sizes are is the user's mistake. Edges with `else` stay.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::EdgeKind;
using ir::Op;
using ir::Value;

enum class DimVerdict { Clip, Proven, Unknown, Outside };

struct AccessView {
  Op* op;
  const Value* tensor;
  std::span<Value* const> index;
  size_t mask_at;
};

class BoundsChecker {
 public:
  BoundsChecker(PassContext& context, const ir::Function& function)
      : context_(context), function_(function), types_(context.module.types()) {}

  void Check(const AccessView& view) {
    if (view.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
    ir::Access access = view.op->attr<AttrKey::Access>();
    bool clip = false;
    bool proven = true;
    for (size_t d = 0; d < access.dims.size(); ++d) {
      switch (Judge(view, access.dims[d], view.tensor->type()->dims[d])) {
        case DimVerdict::Clip:
          clip = true;
          break;
        case DimVerdict::Proven:
          break;
        case DimVerdict::Unknown:
          proven = false;
          break;
        case DimVerdict::Outside:
          proven = false;
          ReportOutside(view, d);
          break;
      }
    }
    if (!proven) return;
    view.op->SetAttr(ir::MakeAttr<AttrKey::Edge>(clip ? EdgeKind::Clip : EdgeKind::Proven));
    DropMask(view);
  }

 private:
  DimVerdict Judge(const AccessView& view, const ir::AccessDim& dim, Size size) {
    if (IsWholeRange(view, dim, size)) return DimVerdict::Clip;
    std::optional<Interval> bounds = IndexBounds(view, dim);
    if (!bounds) return DimVerdict::Unknown;
    Linear bound = LinearOf(size);
    Linear room = bound - Linear{1, {}} - bounds->hi;
    Answer low = Ask(bounds->lo, view.op);
    Answer high = Ask(room, view.op);
    if (low == Answer::Yes && high == Answer::Yes) return DimVerdict::Proven;
    bool below = Ask(bounds->hi, view.op) == Answer::No;
    bool above = Ask(bounds->lo - bound, view.op) == Answer::Yes;
    return below || above ? DimVerdict::Outside : DimVerdict::Unknown;
  }

  Answer Ask(const Linear& form, const Op* op) {
    return IsNonNegative(form, op, function_, types_);
  }

  bool IsWholeRange(const AccessView& view, const ir::AccessDim& dim, Size size) {
    if (dim.terms.size() != 1 || !IsConstant(dim.offset, 0) ||
        !IsConstant(dim.terms[0].coefficient, 1))
      return false;
    ir::Type type = view.index[dim.terms[0].operand]->type();
    return type->kind == ir::TypeKind::Blk && function_.axis(type->axes[0]).domain == size;
  }

  std::optional<Interval> IndexBounds(const AccessView& view, const ir::AccessDim& dim) {
    Linear offset = LinearOf(dim.offset);
    Interval sum{offset, offset};
    for (const ir::AccessTerm& term : dim.terms) {
      std::optional<Interval> bounds = BoundsOf(view.index[term.operand], function_, types_);
      if (!bounds || !IsConstant(term.coefficient)) return std::nullopt;
      int64_t factor = term.coefficient->value;
      sum.lo = sum.lo + (factor >= 0 ? bounds->lo : bounds->hi) * factor;
      sum.hi = sum.hi + (factor >= 0 ? bounds->hi : bounds->lo) * factor;
    }
    return sum;
  }

  /// Only where the access runs whenever its loops do.
  void ReportOutside(const AccessView& view, size_t dim) {
    if (!view.op->Segment(view.mask_at).empty()) return;
    for (const Op* outer = view.op->block()->parent(); outer; outer = outer->block()->parent()) {
      if (outer->kind() == ir::OpKind::If) return;
    }
    context_.diagnostics
        .Report(diag::AlwaysOutside, context_.SpanOf(view.op->loc()),
                view.op->attr<AttrKey::Text>().text(), dim,
                ToString(view.tensor->type()->dims[dim]))
        .Help(
            "use an index from 0 to the size minus 1, or say what elements outside are: [… else "
            "0.0]");
  }

  /// A proven access is safe everywhere; the mask only kept it from trapping.
  void DropMask(const AccessView& view) {
    if (view.op->kind() != ir::OpKind::Load || view.op->Segment(view.mask_at).empty()) return;
    std::vector<ir::AxisId> axes;
    for (const Value* operand : view.index) axes = ir::UnionAxes(axes, operand->type()->axes);
    if (axes == view.op->result()->type()->axes) view.op->SetSegment(view.mask_at, {});
  }

  PassContext& context_;
  const ir::Function& function_;
  ir::TypeTable& types_;
};

}  // namespace

void RunCheckBounds(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    BoundsChecker checker(context, *function);
    ir::Walk(function->body, [&](Op* op) {
      if (auto load = ir::DynAs<ir::LoadOp>(op)) {
        checker.Check({op, load->tensor(), load->index(), ir::LoadOp::at_mask});
      } else if (auto store = ir::DynAs<ir::StoreOp>(op)) {
        checker.Check({op, store->tensor(), store->index(), ir::StoreOp::at_mask});
      }
    });
  }
}

}  // namespace kdl::passes
