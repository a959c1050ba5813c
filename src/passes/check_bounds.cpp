#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/checks/launch_bounds.h"
#include "passes/checks/unmask.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// check-bounds: decides the bounds mode of every access.
//   proven  Each index is in bounds for all sizes, or for all that the launch accepts (checks/launch_bounds.h).
//   clip    Like `proven`, but at least one index is a range over the whole dimension. Where the last block
//           of the range extends beyond the dimension, the block is clipped.
//   guard   Not proven. The access is checked at run time or, with --unchecked, treated as if it were proven.
// An index that is out of bounds in every launch that reaches it is an error. Accesses with `else` are left
// as they are. Reads of single elements of tiles also become `proven`, or remain `guard`.

namespace kdl::passes {

namespace {

using ir::BoundsMode;
using proofs::AccessView;
using proofs::OpenIndex;

constexpr const char* kOutsideHelp =
    "use an index from 0 to the size minus 1, or give the value of elements outside: [… else 0.0]";
/// Says how to read elements outside, or how to store only elements that exist.
std::string HelpForReaching(const AccessView& view, std::string_view text) {
  bool is_read = view.effect == ir::Effect::Read && text.ends_with(']');
  if (!is_read) return "use a shorter range";
  std::string_view zero = IsFloat(view.tensor->type()->scalar) ? "0.0" : "0";
  return fmt::format(
      "write '{} else {}]', which is {} for elements outside, or use a shorter range",
      text.substr(0, text.size() - 1), zero, zero);
}

class BoundsChecker {
 public:
  BoundsChecker(PassContext& context, ir::Function& function)
      : context_(context),
        inside_(function, context.module.types(), {context.proof_steps}),
        launch_bounds_(context.module, function, inside_) {}

  void Check(const AccessView& view) {
    if (view.op->attr<AttrKey::BoundsMode>() != BoundsMode::Guard) return;
    proofs::IndexAnswer answer = inside_.OpenIndices(view);
    for (const OpenIndex& index : answer.open) {
      if (index.outside) Report(view, index);
    }
    bool proven = std::ranges::all_of(
        answer.open, [&](const OpenIndex& index) { return launch_bounds_.Add(view, index); });
    WarnOfOtherSizes(view, answer);
    if (!proven && !context_.unchecked) {
      std::string_view text = view.op->attr<AttrKey::Text>().text();
      context_.diagnostics.Report(diag::GuardRemains, context_.SpanOf(view.op->loc()), text);
      return;
    }
    view.op->SetAttr(
        ir::MakeAttr<AttrKey::BoundsMode>(answer.is_range ? BoundsMode::Clip : BoundsMode::Proven));
    if (proven) DropMask(view);
  }

  /// Checks a read of single elements of a tile. The indices must be in the bounds of the tile's blocks.
  void Check(ir::GatherOp take) {
    if (take->attr<AttrKey::BoundsMode>() != BoundsMode::Guard || !inside_.IsTakeInside(take))
      return;
    take->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(BoundsMode::Proven));
  }

 private:
  void Report(const AccessView& view, const OpenIndex& open) {
    std::string_view text = view.op->attr<AttrKey::Text>().text();
    std::string size = ToString(view.tensor->type()->dims[open.dim]);
    Span span = context_.SpanOf(view.op->loc());
    const proofs::AlwaysOutside& outside = *open.outside;
    Diagnostic& report =
        outside.extreme.empty()
            ? context_.diagnostics.Report(diag::AlwaysOutside, span, text, open.dim, size)
            : context_.diagnostics.Report(diag::ReachesOutside, span, text, outside.extreme,
                                          open.dim, size);
    if (const auto& example = outside.example)
      report.Note(span, fmt::format("it is {}{}{}", example->index, example->at, example->sizes));
    report.Help(outside.extreme.empty() ? kOutsideHelp : HelpForReaching(view, text));
  }

  /// Returns the size over all of which the index of a dimension runs, or null.
  Size WholeSize(const AccessView& view, size_t dim) {
    std::optional<proofs::IndexEnds> ends = inside_.FindIndexSpan(view, dim);
    bool is_whole = ends && IsConstant(ends->from, 0) && ends->to->kind == SizeKind::Symbol;
    return is_whole ? ends->to : nullptr;
  }

  /// Warns of dimensions that are indexed by all of another size, so that it is only known at run time whether the elements
  /// exist.
  void WarnOfOtherSizes(const AccessView& view, const proofs::IndexAnswer& answer) {
    const auto& dims = view.tensor->type()->dims;
    for (const OpenIndex& open : answer.open) {
      Size range = open.below || open.outside ? nullptr : WholeSize(view, open.dim);
      if (!range) continue;
      std::string_view text = view.op->attr<AttrKey::Text>().text();
      std::string given = ToString(range);
      std::string size = ToString(dims[open.dim]);
      Diagnostic& report = context_.diagnostics.Report(
          diag::OtherSize, context_.SpanOf(view.op->loc()), text, open.dim, given, size);
      size_t other = 0;
      while (other < dims.size() && WholeSize(view, other) != dims[open.dim]) ++other;
      if (other < dims.size()) {
        report.Help(fmt::format(
            "the index of dimension {} runs over '{}': are the indices in the wrong order?", other,
            size));
      } else {
        report.Help(fmt::format(
            "if '{0}' and '{1}' are equal, use one name for both; if not, add `where {1} >= {0}`",
            given, size));
      }
    }
  }

  /// Removes the mask of a load that is proven to be in bounds if loading every element is safe. The mask was
  /// only needed to prevent traps, and reads of elements that other blocks write.
  void DropMask(const AccessView& view) {
    auto load = ir::DynAs<ir::LoadOp>(view.op);
    if (!load || !view.mask || !proofs::IsInput(view.tensor) || inside_.NeedsMask(view)) return;
    Unmask(context_.module, view.op, view.axes());
  }

  PassContext& context_;
  proofs::Inside inside_;
  LaunchBounds launch_bounds_;
};

/// Returns the ops that have a bounds mode, in the order of the code.
std::vector<Op*> BoundedOps(const ir::Function& function) {
  std::vector<Op*> ops;
  ir::Walk(function.body, [&](Op* op) {
    if (op->HasAttr(AttrKey::BoundsMode)) ops.push_back(op);
  });
  return ops;
}

std::vector<BoundsMode> ModesOf(const std::vector<Op*>& ops) {
  std::vector<BoundsMode> modes;
  for (const Op* op : ops) modes.push_back(op->attr<AttrKey::BoundsMode>());
  return modes;
}

/// A function in which the pass has changed nothing but bounds modes.
struct Settled {
  const ir::Function* function;
  std::vector<BoundsMode> before;
};

/// Takes the bounds modes of a function that was alike before the pass, such as an instance for another type. Returns
/// false if there is none. A function without such modes, such as most fns, needs no other one.
bool TakeModes(const ir::Function& function, const std::vector<Settled>& settled) {
  std::vector<Op*> ops = BoundedOps(function);
  if (ops.empty()) return true;
  std::vector<BoundsMode> before = ModesOf(ops);
  auto is_alike = [&](const Settled& other) {
    return other.before == before &&
           proofs::AreAlike(*other.function, function, proofs::BoundsModes::Ignored);
  };
  auto alike = std::ranges::find_if(settled, is_alike);
  if (alike == settled.end()) return false;
  std::vector<BoundsMode> modes = ModesOf(BoundedOps(*alike->function));
  for (size_t i = 0; i < ops.size(); ++i)
    ops[i]->SetAttr(ir::MakeAttr<AttrKey::BoundsMode>(modes[i]));
  return true;
}

void CheckFunction(PassContext& context, ir::Function& function) {
  BoundsChecker checker(context, function);
  for (const AccessView& view : proofs::AccessesIn(function.body)) checker.Check(view);
  for (Op* op : OpsOfKind(function, OpKind::Gather)) checker.Check(ir::GatherOp(op));
}

}  // namespace

void RunCheckBounds(PassContext& context) {
  std::vector<Settled> settled;
  for (ir::Function* function : context.module.functions()) {
    if (TakeModes(*function, settled)) continue;
    std::vector<BoundsMode> before = ModesOf(BoundedOps(*function));
    size_t reports = context.diagnostics.all().size();
    CheckFunction(context, *function);
    if (context.diagnostics.all().size() == reports)
      settled.push_back({function, std::move(before)});
  }
}

void CheckBoundsIn(PassContext& context, Op* added) {
  BoundsChecker checker(context, *added->parent_region()->function());
  for (const ir::Region* region : added->regions()) {
    for (const AccessView& view : proofs::AccessesIn(region)) checker.Check(view);
  }
}

}  // namespace kdl::passes
