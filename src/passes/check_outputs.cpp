#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/comparisons.h"
#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/checks/ragged_checks.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

// check-outputs: proves that every element of an `out` parameter is written, regardless of the data, and is
// not read before. It is an error if this cannot be proven. If a launch with small sizes leaves an element
// unwritten, the error names that element.

namespace kdl::passes {

namespace {

using ir::Effect;
using proofs::AccessesIn;
using proofs::AccessView;

class OutputChecker {
 public:
  OutputChecker(PassContext& context, const ir::Function& kernel)
      : context_(context),
        kernel_(kernel),
        written_(kernel, context.module.types(), {context.proof_steps}) {}

  void Check() {
    CheckLaunchTensors();
    for (const ir::Param& param : kernel_.params) {
      bool is_out = param.direction == ir::Direction::Out &&
                    param.value->type()->kind == ir::TypeKind::Tensor;
      if (is_out) outs_.insert(param.value);
    }
    undefined_.insert(outs_.begin(), outs_.end());
    if (undefined_.empty()) return;
    for (const AccessView& view : AccessesIn(kernel_.body)) {
      bool reads = !view.is_write() && undefined_.contains(ir::MemoryOf(view.tensor));
      if (reads && !written_.IsBefore(view)) ReportRead(view);
    }
    for (const ir::Param& param : kernel_.params) {
      bool is_checked = outs_.contains(param.value) && !reported_.contains(param.value);
      if (is_checked && !written_.IsWhole(param.value)) ReportPartial(param.value);
    }
    if (context_.unchecked) return;
    for (const auto& [parts, dim] : written_.parts()) CheckThatPartsAreWhole(context_, parts, dim);
  }

 private:
  /// Collects the tensors that the launch allocates, which are undefined until they are written, and reports
  /// those that are read but never written.
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
          .Help("write it first, with a `sync;` between the write and this read");
    }
  }

  /// Returns whether the launch itself allocates the tensor.
  static bool IsOwn(const Value* memory) {
    return memory->def() && memory->def()->kind() == ir::OpKind::LaunchTensor;
  }

  /// Returns the first op in the region that writes elements of the tensor, or null.
  static const Op* FindWrite(const ir::Region* region, const Value* tensor) {
    for (const AccessView& view : AccessesIn(region)) {
      if (view.effect != Effect::Read && ir::MemoryOf(view.tensor) == tensor) return view.op;
    }
    return nullptr;
  }

  static bool IsUpdate(const Op* op) { return op->kind() == OpKind::Update; }

  void ReportRead(const AccessView& view) {
    const Value* memory = ir::MemoryOf(view.tensor);
    if (!reported_.insert(memory).second) return;
    std::string name = memory->name().str();
    std::string_view what = IsOwn(memory) ? "declared by the kernel" : "`out`";
    Span span = context_.SpanOf(view.op->loc());
    std::optional<proofs::ElementExample> found = written_.TooSoon(view.op, memory);
    Diagnostic& report = found
                             ? context_.diagnostics.Report(diag::ReadUnwritten, span,
                                                           found->element, name, what, found->sizes)
                             : context_.diagnostics.Report(diag::ReadUnproven, span, name, what);
    report.Help(ReadHelp(view, name));
  }

  /// Returns the help for a read of an element that may not have been written. The most frequent remedy comes first.
  static std::string ReadHelp(const AccessView& view, const std::string& name) {
    if (IsOwn(ir::MemoryOf(view.tensor)))
      return "write all of it first, on every path, with a `sync;` between the write and this read";
    if (IsUpdate(view.op)) {
      return fmt::format(
          "write it first, with a `sync;` in between, or declare '{}' `inout` to keep its old "
          "values",
          name);
    }
    if (IsAddedTo(view.op)) {
      return fmt::format(
          "write `{} = 0;` before the loop that adds to it, or declare '{}' `inout` to add to its "
          "old values",
          view.op->attr<AttrKey::Text>().text(), name);
    }
    return fmt::format("write it first, or declare '{}' `inout` to use its old values", name);
  }

  /// Returns whether the loaded element is the operand of a sum that a loop stores in the same element, as in `y[i] += e`.
  static bool IsAddedTo(const Op* load) {
    if (!load->HasAttr(AttrKey::Text) || !Around(load->parent_region()->parent(), OpKind::For))
      return false;
    auto stores_sum = [&](const ir::Use& use) {
      return use.user->kind() == OpKind::Store && use.user->HasAttr(AttrKey::Text) &&
             use.user->attr<AttrKey::Text>() == load->attr<AttrKey::Text>();
    };
    return std::ranges::any_of(load->result()->uses(), [&](const ir::Use& use) {
      return use.user->kind() == OpKind::Add &&
             std::ranges::any_of(use.user->result()->uses(), stores_sum);
    });
  }

  /// Adds a note for each condition of a store, from the inside out.
  void NoteConditions(const Op* store, Diagnostic& report) const {
    auto note = [&](const Value* condition, const Op* at) {
      const Op* place = condition->def() ? condition->def() : at;
      report.Note(context_.SpanOf(place->loc()), "whether it is written depends on this");
    };
    const Value* mask =
        store->kind() == ir::OpKind::Store ? ir::StoreOp(const_cast<Op*>(store)).mask() : nullptr;
    if (mask) note(mask, store);
    for (const Op* op = store; op; op = op->parent_region()->parent()) {
      const Op* around = op->parent_region()->parent();
      if (around && around->kind() == ir::OpKind::If) note(around->operand(0), around);
    }
  }

  /// Returns whether the mask of a store is a comparison of floats.
  static bool ComparesFloats(const Op* store) {
    if (store->kind() != ir::OpKind::Store) return false;
    const Value* mask = ir::StoreOp(const_cast<Op*>(store)).mask();
    const Op* condition = mask ? mask->def() : nullptr;
    return condition && ir::IsComparison(condition->kind()) &&
           IsFloat(condition->operand(0)->type()->scalar);
  }

  void ReportPartial(const Value* tensor) {
    const Op* store = FindWrite(kernel_.body, tensor);
    std::string name = tensor->name().str();
    Span span = context_.SpanOf(store ? store->loc() : kernel_.loc);
    std::optional<proofs::ElementExample> found = written_.Hole(tensor);
    Diagnostic& report = found ? context_.diagnostics.Report(diag::OutPartial, span, name,
                                                             found->element, found->sizes)
                               : context_.diagnostics.Report(diag::OutUnproven, span, name);
    if (store) NoteConditions(store, report);
    if (store && ComparesFloats(store)) {
      report.Help(
          "no comparison with NaN is true, so `x < 0.0` and `x >= 0.0` do not cover all values: "
          "use "
          "`else`, or `where !(x < 0.0)`");
    }
    report.Help(
        fmt::format("write all of it, or declare '{}' `inout` to keep the old values of elements "
                    "that are not written",
                    name));
  }

  PassContext& context_;
  const ir::Function& kernel_;
  proofs::Written written_;
  std::set<const Value*> outs_;
  /// Tensors that are undefined at kernel entry: `outs_` and the tensors that the launch allocates.
  std::set<const Value*> undefined_;
  std::set<const Value*> reported_;
};

}  // namespace

void RunCheckOutputs(PassContext& context, ir::Function& kernel) {
  OutputChecker(context, kernel).Check();
}

}  // namespace kdl::passes
