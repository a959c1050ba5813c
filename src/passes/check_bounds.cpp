#include <algorithm>

#include "ir/views.h"
#include "passes/analysis/prover.h"
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
        terms_(function, context.module.types()),
        reach_(terms_),
        launch_bounds_(context.module, function, terms_) {}

  void Check(const AccessView& view) {
    if (view.op->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
    Prover prover(terms_, terms_.FactsAt(view.op));
    bool clip = false;
    std::vector<size_t> open;
    for (size_t d = 0; d < view.rank(); ++d) {
      if (IsWholeRange(view, d)) {
        clip = true;
      } else if (!IsInside(view, d, prover)) {
        open.push_back(d);
        ReportOutside(view, d, prover);
      }
    }
    bool proven = std::ranges::all_of(open, [&](size_t d) { return launch_bounds_.Add(view, d); });
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

  bool IsInside(const AccessView& view, size_t d, Prover& prover) {
    Poly index = terms_.OfIndex(view, d);
    return prover.NonNegative(index) && prover.Negative(index - terms_.OfDim(view, d));
  }

  /// Only where the access runs, at each of its points, whenever its loops do.
  void ReportOutside(const AccessView& view, size_t d, Prover& prover) {
    if (!reach_.IsAlways(view)) return;
    Poly index = terms_.OfIndex(view, d);
    Poly size = terms_.OfDim(view, d);
    std::string_view text = view.op->attr<AttrKey::Text>().text();
    Span span = context_.SpanOf(view.op->loc());
    if (prover.Negative(index) || prover.NonNegative(index - size)) {
      context_.diagnostics
          .Report(diag::AlwaysOutside, span, text, d, ToString(view.tensor->type()->dims[d]))
          .Help(kOutsideHelp);
      return;
    }
    for (bool greatest : {false, true}) {
      std::optional<Poly> extreme = reach_.Extreme(index, greatest);
      if (!extreme) continue;
      bool outside = greatest ? prover.NonNegative(*extreme - size) : prover.Negative(*extreme);
      if (!outside) continue;
      context_.diagnostics
          .Report(diag::ReachesOutside, span, text, ToText(*extreme, terms_), d,
                  ToString(view.tensor->type()->dims[d]))
          .Help("walk a shorter range, or say what elements outside are: [… else 0.0]");
      return;
    }
  }

  /// A proven access is safe everywhere; the mask only kept it from trapping, and from what other blocks write.
  void DropMask(const AccessView& view) {
    auto load = ir::DynAs<ir::LoadOp>(view.op);
    if (!load || !view.mask || !IsInput(view.tensor) || UsesMask(view)) return;
    std::vector<ir::AxisId> axes;
    for (const Value* operand : view.index) axes = ir::UnionAxes(axes, operand->type()->axes);
    if (axes == view.op->result()->type()->axes) view.op->SetSegment(ir::LoadOp::at_mask, {});
  }

  /// The proof may rest on the mask.
  bool UsesMask(const AccessView& view) {
    std::vector<Poly> facts = terms_.FactsAt(view.op);
    std::vector<Poly> of_mask;
    terms_.AddCondition(view.mask, true, of_mask);
    for (const Poly& fact : of_mask) facts.erase(std::find(facts.begin(), facts.end(), fact));
    Prover prover(terms_, facts);
    for (size_t d = 0; d < view.rank(); ++d) {
      if (!IsWholeRange(view, d) && !IsInside(view, d, prover)) return true;
    }
    return false;
  }

  PassContext& context_;
  const ir::Function& function_;
  Terms terms_;
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
