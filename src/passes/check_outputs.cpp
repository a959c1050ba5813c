#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/tensor_view.h"
#include "passes/analysis/examples.h"
#include "passes/analysis/must_writes.h"
#include "passes/analysis/plain_accesses.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/ragged_checks.h"

// check-outputs: every element of an `out` parameter is written, whatever the data is, and read only once it is. What
// cannot be proven is the user's mistake; where a small launch shows an element, the error names it.

namespace kdl::passes {

namespace {

using ir::Effect;

class OutputChecker {
 public:
  OutputChecker(PassContext& context, const ir::Function& kernel)
      : context_(context),
        kernel_(kernel),
        instances_(sets_, kernel, context.module.types()),
        writes_(instances_),
        plain_writes_(instances_, CountedWrites::Plain),
        examples_(kernel, context.module.types()) {}

  void Run() {
    CheckLaunchTensors();
    for (const ir::Param& param : kernel_.params) {
      bool is_out = param.direction == ir::Direction::Out &&
                    param.value->type()->kind == ir::TypeKind::Tensor;
      if (is_out) outs_.insert(param.value);
    }
    undefined_.insert(outs_.begin(), outs_.end());
    if (undefined_.empty()) return;
    for (const AccessView& view : AccessesIn(kernel_.body)) {
      bool reads =
          !view.is_write() && !view.is_partial() && undefined_.contains(ir::MemoryOf(view.tensor));
      if (reads && !IsWrittenBefore(view)) ReportRead(view);
    }
    for (const ir::Param& param : kernel_.params) {
      bool is_checked = outs_.contains(param.value) && !reported_.contains(param.value) &&
                        !IsWrittenPlainly(param.value, instances_.terms());
      if (is_checked && !IsWhole(writes_, instances_, param.value) && !IsWholeByTable(param.value))
        ReportPartial(param.value);
    }
    CheckParts();
  }

 private:
  /// What nothing writes holds nothing to read; what something writes is undefined until then.
  void CheckLaunchTensors() {
    std::map<const Value*, const Op*> read;
    for (const AccessView& view : AccessesIn(kernel_.body)) {
      const Value* memory = ir::MemoryOf(view.tensor);
      if (!IsOwn(memory)) continue;
      if (view.effect == Effect::Read) {
        read.try_emplace(memory, view.op);
      } else {
        undefined_.insert(memory);
      }
    }
    for (const auto& [memory, op] : read) {
      if (undefined_.contains(memory)) continue;
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

  /// Launches of which no assert in the kernel's body fails.
  PointSet AtEnd(Instances& instances) const {
    return instances.Launch() & instances.Around(kernel_.body->terminator());
  }

  bool IsWhole(MustWrites& writes, Instances& instances, const Value* tensor) {
    if (!writes.elements().IsExact(tensor)) return false;
    PointSet written = writes.OfLaunch(tensor);
    sets_.Allow(kOperationsOfQuestion);
    PointSet all = instances.WithFacts(AtEnd(instances) & writes.elements().Of(tensor));
    return instances.WithFacts(all - written).IsSurelyEmpty();
  }

  /// The first op in the block that writes elements of the tensor; null: none does.
  static const Op* FindWrite(const ir::Block* block, const Value* tensor) {
    for (const AccessView& view : AccessesIn(block)) {
      if (view.effect != Effect::Read && ir::MemoryOf(view.tensor) == tensor) return view.op;
    }
    return nullptr;
  }

  /// Whether parts that tables bound are all of it, if they are all of some dimension: then the launch checks that.
  bool IsWholeByTable(const Value* tensor) {
    std::vector<size_t> around = PartsAround(RaggedOf(kernel_, instances_.terms()), tensor);
    for (Size dim : tensor->type()->dims) {
      auto needed = FewestOf(around, [&](const std::vector<size_t>& parts) {
        return IsWholeByParts(tensor, dim, parts);
      });
      if (!needed) continue;
      for (size_t part : *needed) checked_.emplace(part, dim);
      return true;
    }
    return false;
  }

  bool IsWholeByParts(const Value* tensor, Size dim, const std::vector<size_t>& parts) {
    Instances instances(sets_, kernel_, context_.module.types());
    std::vector<Ragged> all = RaggedOf(kernel_, instances.terms());
    std::vector<Ragged> assumed;
    for (size_t part : parts) {
      assumed.push_back(all[part]);
      assumed.back().whole = dim;
    }
    instances.Assume(std::move(assumed));
    MustWrites writes(instances);
    return IsWhole(writes, instances, tensor);
  }

  void CheckParts() {
    if (context_.unchecked) return;
    std::vector<Ragged> all = RaggedOf(kernel_, instances_.terms());
    for (const auto& [part, dim] : checked_) CheckThatPartsAreWhole(context_, all[part], dim);
  }

  static bool IsUpdate(const Op* op) { return op->kind() == OpKind::Update; }

  /// Two updates of one element may meet, so nothing says that one of another block comes first.
  PointSet WrittenBefore(const Op* op, const Value* memory) {
    if (!IsUpdate(op)) return writes_.Before(op, memory);
    return plain_writes_.Before(op, memory) | writes_.BeforeInOrder(op, memory);
  }

  bool IsWrittenBefore(const AccessView& view) {
    const Value* memory = ir::MemoryOf(view.tensor);
    PointSet before = WrittenBefore(view.op, memory);
    sets_.Allow(kOperationsOfQuestion);
    PointSet read = instances_.Launch() & instances_.Around(view.op) &
                    writes_.elements().Of(memory) & writes_.elements().TouchedBy(view).elements;
    return instances_.WithFacts(instances_.WithFacts(read) - before).IsSurelyEmpty();
  }

  /// An element that nothing writes in some launch.
  std::optional<ElementExample> Hole(const Value* tensor) {
    return examples_.ElementOf(tensor, [&](Races& races, Instances& instances) {
      if (!races.elements().IsExact(tensor)) return instances.None();
      PointSet left = AtEnd(instances) & races.elements().Of(tensor);
      for (const Site& site : races.sites()) {
        bool writes = ir::MemoryOf(site.view.tensor) == tensor && site.view.effect != Effect::Read;
        if (writes) left = left - races.ElementsOf(site);
      }
      return left;
    });
  }

  /// An element that an access surely reads and that nothing writes which may come before it.
  std::optional<ElementExample> TooSoon(const Op* op, const Value* memory) {
    return examples_.ElementOf(memory, [&](Races& races, Instances& instances) {
      PointSet left = instances.None();
      for (const Site& site : races.sites()) {
        if (site.view.op == op && site.is_certain) left = site.touched - races.MaybeBefore(site);
      }
      return left;
    });
  }

  void ReportRead(const AccessView& view) {
    const Value* memory = ir::MemoryOf(view.tensor);
    if (!reported_.insert(memory).second) return;
    std::string name = memory->name().str();
    std::string_view what = IsOwn(memory) ? "a tensor of the launch" : "`out`";
    Span span = context_.SpanOf(view.op->loc());
    std::optional<ElementExample> found = TooSoon(view.op, memory);
    Diagnostic& report = found
                             ? context_.diagnostics.Report(diag::ReadUnwritten, span,
                                                           found->element, name, what, found->sizes)
                             : context_.diagnostics.Report(diag::ReadUnproven, span, name, what);
    report.Help(
        IsOwn(memory)
            ? "write all of it first, on every path, and put a `sync;` between"
            : fmt::format("declare '{}' `inout` where its old values count, or write it first{}",
                          name, IsUpdate(view.op) ? ", and put a `sync;` between" : ""));
  }

  void ReportPartial(const Value* tensor) {
    const Op* store = FindWrite(kernel_.body, tensor);
    std::string name = tensor->name().str();
    Span span = context_.SpanOf(store ? store->loc() : kernel_.loc);
    std::optional<ElementExample> found = Hole(tensor);
    Diagnostic& report = found ? context_.diagnostics.Report(diag::OutPartial, span, name,
                                                             found->element, found->sizes)
                               : context_.diagnostics.Report(diag::OutUnproven, span, name);
    report.Help(fmt::format(
        "write all of it, or declare '{}' `inout`: what is not written stays as it was", name));
  }

  PassContext& context_;
  const ir::Function& kernel_;
  SetContext sets_;
  Instances instances_;
  MustWrites writes_;
  MustWrites plain_writes_;
  Examples examples_;
  std::set<const Value*> outs_;
  std::set<const Value*>
      undefined_;  ///< when the kernel begins: outs_, and what the launch allocates
  std::set<const Value*> reported_;
  std::set<std::pair<size_t, Size>> checked_;  ///< of RaggedOf, all of this dimension
};

}  // namespace

void RunCheckOutputs(PassContext& context, ir::Function& kernel) {
  OutputChecker(context, kernel).Run();
}

}  // namespace kdl::passes
