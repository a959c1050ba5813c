#include <algorithm>

#include "ir/views.h"
#include "passes/analysis/access_runs.h"
#include "passes/analysis/reach.h"
#include "passes/analysis/term_text.h"
#include "passes/diagnostics.h"
#include "passes/launch_bounds.h"
#include "passes/passes.h"

// check-bounds: the edge of every access.
//   clip    each index is a whole range over the dimension's own size, or proven; the block's valid size is enough
//   proven  inside for all sizes, or for those that the launch lets pass (launch_bounds.h)
//   guard   unknown: checked at run time; with --unchecked the user's word stands for the proof
// An index that every launch which gets there takes outside is the user's mistake. Edges with `else` stay.

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::CompareKind;
using ir::EdgeKind;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr const char* kOutsideHelp =
    "use an index from 0 to the size minus 1, or say what elements outside are: [… else 0.0]";

class BoundsChecker {
 public:
  BoundsChecker(PassContext& context, ir::Function& function)
      : context_(context),
        function_(function),
        instances_(sets_, function, context.module.types()),
        terms_(instances_.terms()),
        reach_(terms_),
        launch_bounds_(context.module, function, instances_) {}

  void Check(const AccessView& view) {
    if (view.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
    AccessRuns runs(instances_, view);
    bool clip = false;
    bool wrong = false;
    std::vector<size_t> open;
    for (size_t d = 0; d < view.rank(); ++d) {
      if (IsWholeRange(view, d)) {
        clip = true;
      } else if (!IsInside(view, d, runs)) {
        wrong = ReportOutside(view, d, runs) || wrong;
        open.push_back(d);
      }
    }
    if (wrong) return;
    bool proven = std::ranges::all_of(open, [&](size_t d) { return launch_bounds_.Add(view, d, runs); });
    if (!proven && !context_.unchecked) return;
    view.op->SetAttr(ir::MakeAttr<AttrKey::Edge>(clip ? EdgeKind::Clip : EdgeKind::Proven));
    if (proven) DropMask(view);
  }

 private:
  bool IsWholeRange(const AccessView& view, size_t d) {
    ir::Access access = view.access();
    const ir::AccessDim& dim = access.dims[d];
    if (dim.terms.size() != 1 || !IsConstant(dim.offset, 0) ||
        !IsConstant(dim.terms[0].coefficient, 1))
      return false;
    ir::Type type = view.index[dim.terms[0].operand]->type();
    return type->kind == ir::TypeKind::Blk &&
           function_.axis(type->axes[0]).domain == view.tensor->type()->dims[d];
  }

  bool IsInside(const AccessView& view, size_t d, AccessRuns& runs) {
    Poly index = terms_.OfIndex(view, d);
    Poly size = terms_.OfDim(view, d);
    return IsPlain(index, size) || runs.AlwaysInside(index, size);
  }

  /// Bounds of loops alone say it: most indices need no more.
  bool IsPlain(const Poly& index, const Poly& size) {
    std::optional<Poly> least = reach_.Extreme(index, false);
    std::optional<Poly> most = reach_.Extreme(index, true);
    return least && most && terms_.IsNonNegative(*least) && terms_.IsNonNegative(size - *most - 1);
  }

  /// Only where the access runs, at each of its points, whenever its loops do.
  bool ReportOutside(const AccessView& view, size_t d, AccessRuns& runs) {
    if (!reach_.IsAlways(view)) return false;
    Poly index = terms_.OfIndex(view, d);
    Poly size = terms_.OfDim(view, d);
    std::string_view text = view.op->attr<AttrKey::Text>().text();
    Span span = context_.SpanOf(view.op->loc());
    if (runs.Always(index, CompareKind::Lt, 0) || runs.Always(index, CompareKind::Ge, size)) {
      context_.diagnostics
          .Report(diag::AlwaysOutside, span, text, d, ToString(view.tensor->type()->dims[d]))
          .Help(kOutsideHelp);
      return true;
    }
    for (bool greatest : {false, true}) {
      std::optional<Poly> extreme = reach_.Extreme(index, greatest);
      if (!extreme) continue;
      bool outside = greatest ? runs.Always(*extreme, CompareKind::Ge, size)
                              : runs.Always(*extreme, CompareKind::Lt, 0);
      if (!outside) continue;
      context_.diagnostics
          .Report(diag::ReachesOutside, span, text, ToText(*extreme, terms_), d,
                  ToString(view.tensor->type()->dims[d]))
          .Help("walk a shorter range, or say what elements outside are: [… else 0.0]");
      return true;
    }
    return false;
  }

  /// A proven access is safe everywhere; the mask only kept it from trapping, and from what other blocks write.
  void DropMask(const AccessView& view) {
    auto load = ir::DynAs<ir::LoadOp>(view.op);
    if (!load || !view.mask || !IsInput(view.tensor) || UsesMask(view)) return;
    if (view.axes() == view.op->result()->type()->axes) view.op->SetSegment(ir::LoadOp::at_mask, {});
  }

  /// The proof may rest on the mask.
  bool UsesMask(const AccessView& view) {
    AccessRuns runs(instances_, view, false);
    for (size_t d = 0; d < view.rank(); ++d) {
      if (!IsWholeRange(view, d) && !IsInside(view, d, runs)) return true;
    }
    return false;
  }

  PassContext& context_;
  const ir::Function& function_;
  SetContext sets_;
  Instances instances_;
  Terms& terms_;
  Reach reach_;
  LaunchBounds launch_bounds_;
};

}  // namespace

void RunCheckBounds(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    BoundsChecker checker(context, *function);
    ir::Walk(function->body, [&](Op* op) {
      if (std::optional<AccessView> view = AccessOf(op)) checker.Check(*view);
    });
  }
}

}  // namespace kdl::passes
