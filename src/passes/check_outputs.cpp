#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/tensor_view.h"
#include "passes/analysis/cover.h"
#include "passes/analysis/enumeration.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// check-outputs: every element of an `out` parameter is written, whatever the data is, and read only once it is. What
// cannot be proven is the user's mistake; where a small launch shows an element, the error names it.

namespace kdl::passes {

namespace {

using ir::Effect;
using ir::Op;
using ir::Value;

class OutputChecker {
 public:
  OutputChecker(PassContext& context, const ir::Function& kernel)
      : context_(context),
        kernel_(kernel),
        terms_(kernel, context.module.types()),
        covers_(terms_) {}

  void Run() {
    CheckLaunchTensors();
    for (const ir::Param& param : kernel_.params) {
      bool is_out = param.direction == ir::Direction::Out &&
                    param.value->type()->kind == ir::TypeKind::Tensor;
      if (is_out) outs_.insert(param.value);
    }
    undefined_.insert(outs_.begin(), outs_.end());
    if (undefined_.empty()) return;
    ir::Walk(kernel_.body, [&](Op* op) {
      std::optional<AccessView> view = AccessOf(op);
      bool reads = view && view->effect != Effect::Write && !view->is_partial() &&
                   undefined_.contains(ir::MemoryOf(view->tensor));
      if (reads && !IsWrittenBefore(*view)) ReportRead(*view);
    });
    if (outs_.empty()) return;
    std::vector<Cover> all = covers_.OfBlock(kernel_.body);
    for (const ir::Param& param : kernel_.params) {
      bool is_checked = outs_.contains(param.value) && !reported_.contains(param.value);
      bool is_whole = is_checked && IsWhole(param.value, ByOneCore(OfTensor(all, param.value)));
      if (is_checked && !is_whole) ReportPartial(param.value);
    }
  }

 private:
  /// What nothing writes holds nothing to read; what something writes is undefined until then.
  void CheckLaunchTensors() {
    std::set<const Value*> written;
    std::map<const Value*, const Op*> read;
    ir::Walk(kernel_.body, [&](Op* op) {
      std::optional<AccessView> view = AccessOf(op);
      if (!view) return;
      const Value* memory = ir::MemoryOf(view->tensor);
      if (!IsOwn(memory)) return;
      if (view->effect == Effect::Read) {
        read.try_emplace(memory, op);
      } else {
        written.insert(memory);
      }
    });
    undefined_.insert(written.begin(), written.end());
    for (const auto& [memory, op] : read) {
      if (written.contains(memory)) continue;
      context_.diagnostics
          .Report(diag::NeverWritten, context_.SpanOf(op->loc()), memory->name().text(),
                  kernel_.base_name())
          .Help("write it first, and put a `sync;` between");
    }
  }

  /// Whether the launch allocates it.
  static bool IsOwn(const Value* memory) {
    return memory->def() && memory->def()->kind() == ir::OpKind::LaunchTensor;
  }

  static std::vector<Cover> OfTensor(const std::vector<Cover>& covers, const Value* tensor) {
    std::vector<Cover> found;
    for (const Cover& cover : covers) {
      if (cover.tensor == tensor) found.push_back(cover);
    }
    return found;
  }

  /// Whether its covers have any element of it: an index of each dimension about which nothing else is known.
  bool IsWhole(const Value* tensor, const std::vector<Cover>& covers) {
    std::vector<Poly> target;
    std::vector<Poly> facts = terms_.LaunchFacts();
    for (Size dim : terms_.Coordinates(tensor)->type()->dims) {
      Poly index = Poly::Atom(terms_.Slack(300 + static_cast<int>(target.size())));
      Poly size = terms_.OfSize(ByEquation(dim));
      facts.push_back(size - index - 1);
      // a product that is not 0 has no factor that is
      bool is_product = size.terms().size() == 1 && size.terms().begin()->second > 0;
      for (AtomId factor : is_product ? size.terms().begin()->first : Monomial{})
        facts.push_back(Poly::Atom(factor) - 1);
      target.push_back(index);
    }
    return IsCovered(terms_, target, facts, covers);
  }

  /// Of a name the product that `where` says it is: in L == N * M. Flat stores are compared with the product.
  Size ByEquation(Size dim) const {
    if (dim->kind != SizeKind::Symbol) return dim;
    for (const Op* op : *kernel_.body) {
      if (op->kind() != ir::OpKind::Require ||
          op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq)
        continue;
      Size left = op->attr<ir::AttrKey::Left>();
      Size right = op->attr<ir::AttrKey::Right>();
      if (left == dim && right->kind == SizeKind::Mul) return right;
      if (right == dim && left->kind == SizeKind::Mul) return left;
    }
    return dim;
  }

  /// What stands outside of `spmd for` is done by each core, from 0 to the last.
  std::vector<Cover> ByOneCore(std::vector<Cover> covers) {
    AtomId core = terms_.CoreIdAtom({});
    Poly count = terms_.Facts(core).upper[0].bound + 1;
    for (Cover& cover : covers) cover.vars.push_back({core, 0, count});
    return covers;
  }

  /// Whether all cores wait in it: a `sync`, or a loop that has a turn and one in each.
  bool IsBarrier(const Op* op) {
    if (op->kind() == ir::OpKind::Sync) return true;
    if (op->kind() != ir::OpKind::For && op->kind() != ir::OpKind::Loop) return false;
    LoopBounds bounds = *LoopBoundsOf(op->region()->param(0));
    Poly turns = terms_.OfValue(bounds.hi, {}) - terms_.OfValue(bounds.lo, {});
    if (turns.AsConstant().value_or(0) <= 0) return false;
    for (const Op* inner : *op->region()) {
      if (IsBarrier(inner)) return true;
    }
    return false;
  }

  /// What is written when the op begins: by the core that runs it, and in front of a `sync` by each.
  std::vector<Cover> WrittenBefore(const Op* op) {
    std::vector<Cover> before;
    bool synced = false;  // between what is looked at and the op
    for (const ir::Block* block = op->block(); block;
         op = block->parent(), block = op ? op->block() : nullptr) {
      for (Op* sibling = op->prev(); sibling; sibling = sibling->prev()) {
        synced = synced || IsBarrier(sibling);
        std::vector<Cover> of = covers_.Of(sibling);
        if (synced) of = ByOneCore(std::move(of));
        before.insert(before.end(), of.begin(), of.end());
      }
    }
    return before;
  }

  bool IsWrittenBefore(const AccessView& view) {
    const Value* memory = ir::MemoryOf(view.tensor);
    std::vector<Cover> before = WithBothBranches(OfTensor(WrittenBefore(view.op), memory));
    std::vector<Poly> facts = terms_.FactsAt(view.op, {});
    for (size_t d = 0; d < view.rank(); ++d) {
      Poly index = terms_.OfIndex(view, d, {});
      facts.push_back(terms_.OfDim(view, d) - index - 1);
      facts.push_back(std::move(index));
    }
    return IsCovered(terms_, terms_.OfElement(view, {}), facts, before) || IsWhole(memory, before);
  }

  /// For each tensor an element that some small launch does not write, and for each op one that it reads too soon.
  void FindExamples() {
    if (searched_) return;
    searched_ = true;
    int64_t steps_left = kMostStepsOfSearch;
    for (const Sizes& sizes : SmallSizes(kernel_)) {
      std::map<const Value*, std::set<std::vector<int64_t>>> written;
      std::set<const Value*> unknown;
      std::map<const Op*, std::string> too_soon;
      bool complete = Enumerate(terms_, sizes, steps_left, [&](const Touched& touched) {
        const AccessView& view = *touched.view;
        const Value* memory = touched.memory;
        if (!undefined_.contains(memory)) return;
        if (view.effect == Effect::Read) {
          bool unwritten = touched.certain && touched.element && !unknown.contains(memory) &&
                           !written[memory].contains(*touched.element);
          if (unwritten) too_soon.try_emplace(view.op, TextOf(memory, *touched.element));
        } else if (touched.element) {
          written[memory].insert(*touched.element);
        } else {
          unknown.insert(memory);
        }
      });
      std::string text = SizesText(sizes);
      for (const auto& [op, element] : too_soon) reads_.try_emplace(op, Example{element, text});
      if (!complete) continue;
      for (const Value* tensor : outs_) {
        if (!unknown.contains(tensor)) FindHole(tensor, written[tensor], sizes);
      }
    }
  }

  std::string TextOf(const Value* memory, const std::vector<int64_t>& element) {
    return ElementText(terms_.Coordinates(memory), element);
  }

  struct Example {
    std::string element;
    std::string sizes;
  };

  std::string SizesText(const Sizes& sizes) const {
    std::string text = ToText(sizes, kernel_);
    return text.empty() ? "" : fmt::format(", for {}", text);
  }

  void FindHole(const Value* tensor, const std::set<std::vector<int64_t>>& written,
                const Sizes& sizes) {
    if (holes_.contains(tensor)) return;
    std::optional<std::vector<int64_t>> shape = ShapeOf(terms_.Coordinates(tensor), sizes);
    if (!shape || std::find(shape->begin(), shape->end(), 0) != shape->end()) return;
    std::vector<int64_t> element(shape->size(), 0);
    for (size_t steps = 0; steps < 1'000'000; ++steps) {
      if (!written.contains(element)) {
        holes_[tensor] = {TextOf(tensor, element), SizesText(sizes)};
        return;
      }
      size_t d = element.size();
      while (d > 0 && ++element[d - 1] == (*shape)[d - 1]) element[--d] = 0;
      if (d == 0) return;
    }
  }

  void ReportRead(const AccessView& view) {
    const Value* memory = ir::MemoryOf(view.tensor);
    if (!reported_.insert(memory).second) return;
    FindExamples();
    std::string name = memory->name().str();
    std::string_view what = IsOwn(memory) ? "a tensor of the launch" : "`out`";
    Span span = context_.SpanOf(view.op->loc());
    auto found = reads_.find(view.op);
    Diagnostic& report =
        found == reads_.end()
            ? context_.diagnostics.Report(diag::ReadUnproven, span, name, what)
            : context_.diagnostics.Report(diag::ReadUnwritten, span, found->second.element, name,
                                          what, found->second.sizes);
    report.Help(
        IsOwn(memory)
            ? "write all of it first, on every path, and put a `sync;` between"
            : fmt::format("declare '{}' `inout` where its old values count, or write it first",
                          name));
  }

  void ReportPartial(const Value* tensor) {
    FindExamples();
    const Op* store = nullptr;
    ir::Walk(kernel_.body, [&](Op* op) {
      std::optional<AccessView> view = AccessOf(op);
      if (!store && view && ir::MemoryOf(view->tensor) == tensor && view->effect != Effect::Read)
        store = op;
    });
    std::string name = tensor->name().str();
    Span span = context_.SpanOf(store ? store->loc() : kernel_.loc);
    auto found = holes_.find(tensor);
    Diagnostic& report =
        found == holes_.end()
            ? context_.diagnostics.Report(diag::OutUnproven, span, name)
            : context_.diagnostics.Report(diag::OutPartial, span, name, found->second.element,
                                          found->second.sizes);
    report.Help(fmt::format(
        "write all of it, or declare '{}' `inout`: what is not written stays as it was", name));
  }

  PassContext& context_;
  const ir::Function& kernel_;
  Terms terms_;
  Covers covers_;
  std::set<const Value*> outs_;
  std::set<const Value*>
      undefined_;  ///< when the kernel begins: outs_, and what the launch allocates
  std::set<const Value*> reported_;
  bool searched_ = false;
  std::map<const Value*, Example> holes_;
  std::map<const Op*, Example> reads_;
};

}  // namespace

void RunCheckOutputs(PassContext& context) {
  for (const ir::Function* function : context.module.functions()) {
    if (function->kind == ir::FunctionKind::Kernel) OutputChecker(context, *function).Run();
  }
}

}  // namespace kdl::passes
