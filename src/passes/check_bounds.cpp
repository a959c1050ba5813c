#include <fmt/format.h>

#include <algorithm>

#include "ir/views.h"
#include "passes/analysis/examples.h"
#include "passes/analysis/plain_accesses.h"
#include "passes/analysis/reach.h"
#include "passes/diagnostics.h"
#include "passes/launch_bounds.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

// check-bounds: the edge of every access.
//   clip    each index is a whole range over the dimension's own size, or proven; the block's valid size is enough
//   proven  inside for all sizes, or for those that the launch lets pass (launch_bounds.h)
//   guard   unknown: checked at run time; with --unchecked the user's word stands for the proof
// An index that every launch which gets there takes outside is the user's mistake. Edges with `else` stay. Elements that are
// taken from tiles are proven or guarded, too.

namespace kdl::passes {

namespace {

using ir::CompareKind;
using ir::EdgeKind;

constexpr const char* kOutsideHelp =
    "use an index from 0 to the size minus 1, or say what elements outside are: [… else 0.0]";

constexpr unsigned long kOperationsOfRun = 400'000;  ///< of one question

/// `2*N - 1`, of sizes alone, in the names of the source.
std::string TextOf(const Poly& poly, const Terms& terms) {
  std::string text;
  auto add = [&](const Monomial& monomial, int64_t coefficient) {
    std::string product;
    int64_t size = coefficient < 0 ? -coefficient : coefficient;
    if (size != 1 || monomial.empty()) product = fmt::format("{}", size);
    for (AtomId atom : monomial)
      product += (product.empty() ? "" : "*") + terms.Facts(atom).symbol.str();
    std::string_view sign =
        text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    text += fmt::format("{}{}", sign, product);
  };
  for (const auto& [monomial, coefficient] : poly.terms()) {
    if (!monomial.empty()) add(monomial, coefficient);
  }
  if (poly.constant() != 0) add({}, poly.constant());
  return text.empty() ? "0" : text;
}

/// The runs of an access: of launches that are not refused, in turns of the loops around it, branches that are taken and, if
/// it is asked, at points where its mask holds. What is shown of all of them is a proof.
class AccessRuns {
 public:
  AccessRuns(Instances& instances, const AccessView& view, bool masked = true)
      : instances_(instances), view_(view), masked_(masked) {}

  bool Always(const Poly& a, CompareKind compare, const Poly& b) {
    instances_.context().Allow(kOperationsOfRun);
    if (!runs_) runs_ = instances_.WithBounds(instances_.RunsOf(view_, masked_), known_);
    PointSet others = *runs_ & instances_.Compare(Negated(compare), a, b);
    return instances_.WithFacts(others, known_).IsSurelyEmpty();
  }

 private:
  Instances& instances_;
  const AccessView& view_;
  bool masked_;
  std::optional<PointSet> runs_;
  Instances::Names known_;  ///< variables of which runs_ says what is known
};

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
    std::vector<OpenIndex> open;
    for (size_t d = 0; d < view.rank(); ++d) {
      if (IsWholeRange(view, d)) {
        clip = true;
      } else if (OpenIndex index = Ask(view, d, runs); index.below || index.above) {
        index.is_wrong = ReportOutside(view, index, runs);
        open.push_back(index);
      }
    }
    bool proven = std::ranges::all_of(
        open, [&](const OpenIndex& index) { return launch_bounds_.Add(view, index); });
    if (!proven && !context_.unchecked) return;
    view.op->SetAttr(ir::MakeAttr<AttrKey::Edge>(clip ? EdgeKind::Clip : EdgeKind::Proven));
    if (proven) DropMask(view);
  }

  /// The same of a tile's elements: each index is one of a block.
  void Check(ir::TakeOp take) {
    if (take->attr<AttrKey::Edge>() != EdgeKind::Guard) return;
    AccessView view{take.op, nullptr, take.index(), ir::Effect::Read, take.mask()};
    AccessRuns runs(instances_, view);
    const AxisList over = take->attr<AttrKey::Axes>();
    for (size_t i = 0; i < over.size(); ++i) {
      const Value* blk = ir::FindBlk(take.op, over[i]);
      Poly index = terms_.OfValue(view.index[i]);
      Poly start = terms_.OfFact(OpKind::BlkStart, blk);
      Poly behind = start + terms_.OfFact(OpKind::BlkSize, blk);
      if (!runs.Always(index, CompareKind::Ge, start) ||
          !runs.Always(index, CompareKind::Lt, behind))
        return;
    }
    take->SetAttr(ir::MakeAttr<AttrKey::Edge>(EdgeKind::Proven));
  }

 private:
  bool IsWholeRange(const AccessView& view, size_t d) {
    ir::Access access = view.access();
    const ir::AccessDim& dim = access.dims[d];
    if (dim.terms.size() != 1 || !IsConstant(dim.offset, 0) ||
        !IsConstant(dim.terms[0].coefficient, 1))
      return false;
    const Value* range = view.index[dim.terms[0].operand];
    Size size = view.tensor->type()->dims[d];
    bool is_range = range->type()->kind == ir::TypeKind::Blk;
    return is_range && function_.axis(range->type()->axes[0]).domain == size &&
           IsWhole(range, size, terms_);
  }

  OpenIndex Ask(const AccessView& view, size_t d, AccessRuns& runs) {
    Poly index = terms_.OfIndex(view, d);
    Poly size = terms_.OfDim(view, d);
    if (IsPlain(index, size)) return {d, false, false};
    return {d, !runs.Always(index, CompareKind::Ge, 0), !runs.Always(index, CompareKind::Lt, size)};
  }

  /// Bounds of loops alone say it: most indices need no more.
  bool IsPlain(const Poly& index, const Poly& size) {
    std::optional<Poly> least = reach_.Extreme(index, false);
    std::optional<Poly> most = reach_.Extreme(index, true);
    return least && most && terms_.IsNonNegative(*least) && terms_.IsNonNegative(size - *most - 1);
  }

  /// Only where the access runs, at each of its points, whenever its loops do.
  bool ReportOutside(const AccessView& view, const OpenIndex& open, AccessRuns& runs) {
    if (!reach_.IsAlways(view)) return false;
    Poly index = terms_.OfIndex(view, open.dim);
    auto is_outside = [&](const Poly& at, bool above) {
      return above ? runs.Always(at, CompareKind::Ge, terms_.OfDim(view, open.dim))
                   : runs.Always(at, CompareKind::Lt, 0);
    };
    std::string_view text = view.op->attr<AttrKey::Text>().text();
    std::string size = ToString(view.tensor->type()->dims[open.dim]);
    Span span = context_.SpanOf(view.op->loc());
    if (open.below != open.above && is_outside(index, open.above)) {
      AddExample(context_.diagnostics.Report(diag::AlwaysOutside, span, text, open.dim, size), view,
                 open.dim, open.above)
          .Help(kOutsideHelp);
      return true;
    }
    for (bool above : {false, true}) {
      std::optional<Poly> extreme = reach_.Extreme(index, above);
      if (!(above ? open.above : open.below) || !extreme || !is_outside(*extreme, above)) continue;
      AddExample(context_.diagnostics.Report(diag::ReachesOutside, span, text,
                                             TextOf(*extreme, terms_), open.dim, size),
                 view, open.dim, above)
          .Help("walk a shorter range, or say what elements outside are: [… else 0.0]");
      return true;
    }
    return false;
  }

  Diagnostic& AddExample(Diagnostic& report, const AccessView& view, size_t dim, bool above) {
    if (function_.kind != ir::FunctionKind::Kernel) return report;
    if (!examples_) examples_.emplace(function_, context_.module.types());
    std::optional<IndexExample> example = examples_->Outside(view, dim, above);
    if (!example) return report;
    return report.Note(context_.SpanOf(view.op->loc()),
                       fmt::format("it is {}{}{}", example->index, example->at, example->sizes));
  }

  /// A proven access is safe everywhere; the mask only kept it from trapping, and from what other blocks write.
  void DropMask(const AccessView& view) {
    auto load = ir::DynAs<ir::LoadOp>(view.op);
    if (!load || !view.mask || !IsInput(view.tensor) || UsesMask(view)) return;
    if (view.axes() == view.op->result()->type()->axes)
      view.op->SetSegment(ir::LoadOp::at_mask, {});
  }

  /// The proof may rest on the mask.
  bool UsesMask(const AccessView& view) {
    AccessRuns runs(instances_, view, false);
    for (size_t d = 0; d < view.rank(); ++d) {
      OpenIndex index = IsWholeRange(view, d) ? OpenIndex{} : Ask(view, d, runs);
      if (index.below || index.above) return true;
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
  std::optional<Examples> examples_;
};

}  // namespace

void RunCheckBounds(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    BoundsChecker checker(context, *function);
    for (const AccessView& view : AccessesIn(function->body)) checker.Check(view);
    for (Op* op : OpsOfKind(*function, OpKind::Take)) checker.Check(ir::TakeOp(op));
  }
}

void CheckBoundsIn(PassContext& context, Op* added) {
  BoundsChecker checker(context, *added->block()->function());
  for (const ir::Block* region : added->regions()) {
    for (const AccessView& view : AccessesIn(region)) checker.Check(view);
  }
}

}  // namespace kdl::passes
