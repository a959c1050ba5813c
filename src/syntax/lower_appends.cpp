#include "syntax/lower_appends.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/contains.h"
#include "syntax/append_loops.h"
#include "syntax/append_survey.h"
#include "syntax/counted_outputs.h"
#include "syntax/diagnostics.h"
#include "syntax/tree_maker.h"

namespace kdl::syntax {

namespace {

/// Returns `n <= N` if the expression has this form.
const BinaryExpr* AsCountedSize(const Expr* dim) {
  const auto* compared = DynAs<BinaryExpr>(dim);
  bool is_counted = compared != nullptr && compared->op == BinaryOp::Le &&
                    DynAs<NameExpr>(compared->lhs) != nullptr;
  return is_counted ? compared : nullptr;
}

void ReportCountedSize(Builder& builder, const Expr* dim, std::string_view fault,
                       std::string_view help) {
  builder.diagnostics.Report(diag::CountedSize, dim->span, builder.Text(dim->span), fault)
      .Help(std::string(help));
}

/// Whether the parameter may have the counted size. Otherwise reports why not.
bool MayBeCounted(Builder& builder, const Param& param, size_t dim) {
  const Expr* size = param.type->dims[dim];
  std::string_view name = param.name.name.text();
  std::string type = ToString(param.type->name);
  if (dim != 0) {
    ReportCountedSize(builder, size, "must be the first size of an output",
                      "append rows, whose number is the first size");
  } else if (param.direction != Direction::Out) {
    ReportCountedSize(builder, size, "is only allowed for an `out` tensor",
                      fmt::format("declare the tensor as `{}: out {}[{}]`", name, type,
                                  builder.Text(size->span)));
  } else if (param.is_optional) {
    ReportCountedSize(builder, size, "is not allowed for an optional tensor", "remove the `?`");
  } else if (param.strides != ParamStrides::Dense) {
    ReportCountedSize(builder, size, "is not allowed for a `strided` tensor", "remove `strided`");
  } else {
    return true;
  }
  return false;
}

class Kernel {
 public:
  Kernel(Builder& builder, FunctionItem& item) : builder_(builder), item_(item) {}

  void Lower() {
    size_t errors = builder_.diagnostics.error_count();
    LowerParams();
    if (counted_.empty() && builder_.appends.empty()) return;
    for (const Stmt* stmt : item_.body->stmts)
      surveys_.push_back(SurveyAppends(builder_.arena, stmt));
    CheckStatements();
    if (builder_.diagnostics.error_count() == errors) LowerBody();
  }

 private:
  void LowerParams();
  void CheckStatements();
  void CheckAppend(Append& append, bool is_blocks);
  void CheckOutputs(Append& append);
  void CheckLoops(const Append& append);
  void CheckBounds(const ForStmt& loop);
  void CheckLoop(const ForStmt& loop, const AppendSurvey& survey);
  void LowerBody();
  std::vector<Name> ViewsOf(Name tensor) const;

  Counted* Find(Name output) {
    auto at = std::ranges::find_if(counted_, [&](auto& c) { return c.output.name == output; });
    return at == counted_.end() ? nullptr : &*at;
  }
  bool IsCountOrOutput(Name name) const {
    return std::ranges::any_of(
        counted_, [&](auto& c) { return c.output.name == name || c.count.name == name; });
  }

  /// Whether an `append` statement names the output, even a wrong one.
  bool IsAppended(Name output) const {
    return std::ranges::any_of(builder_.appends, [&](const AssignStmt* append) {
      return std::ranges::any_of(As<TupleExpr>(append->target).elements, [&](const Expr* target) {
        return BaseOf(target)->name == output;
      });
    });
  }

  Builder& builder_;
  FunctionItem& item_;
  std::vector<Counted> counted_;
  std::vector<AppendSurvey> surveys_;  ///< for each statement of the body
};

void Kernel::LowerParams() {
  std::vector<Param> params;
  for (Param& param : item_.params) {
    const TypeRef* type = param.type;
    const BinaryExpr* size = nullptr;
    for (size_t d = 0; d < type->dims.size(); ++d) {
      const BinaryExpr* found = AsCountedSize(type->dims[d]);
      if (found != nullptr && MayBeCounted(builder_, param, d)) size = found;
    }
    if (size == nullptr) {
      params.push_back(std::move(param));
      continue;
    }
    auto* dense = builder_.arena.Make<TypeRef>(*type);
    dense->dims[0] = size->rhs;
    param.type = dense;
    Ident name;
    name.name = As<NameExpr>(size->lhs).name;
    name.span = size->lhs->span;
    bool is_new =
        std::ranges::none_of(counted_, [&](auto& c) { return c.count.name == name.name; });
    counted_.push_back({param.name, name, dense->name, dense->dims, nullptr});
    AddCount(builder_.names, item_, param.name, size->lhs);
    params.push_back(std::move(param));
    if (!is_new) continue;
    TreeMaker make(builder_, size->lhs->span);
    Param& count = params.emplace_back();
    count.span = size->lhs->span;
    count.name = name;
    count.direction = Direction::Out;
    count.type = make.LocalTensor(count.name, {})->type;
  }
  item_.params = std::move(params);
}

void Kernel::CheckStatements() {
  for (size_t s = 0; s < surveys_.size(); ++s) {
    AppendSurvey& survey = surveys_[s];
    const auto* loop = DynAs<ForStmt>(item_.body->stmts[s]);
    bool is_blocks = loop != nullptr && loop->is_spmd;
    for (Append& append : survey.appends) CheckAppend(append, is_blocks);
    for (const auto& [name, place] : survey.stored) {
      if (IsCountOrOutput(name))
        builder_.diagnostics.Report(diag::AppendOutputs, place->span, name.text(),
                                    "belongs to a counted output, which only `append` writes");
    }
    if (is_blocks && !survey.appends.empty()) CheckLoop(*loop, survey);
  }
  for (const Counted& counted : counted_) {
    if (counted.append != nullptr || IsAppended(counted.output.name)) continue;
    std::string_view name = counted.output.name.text();
    builder_.diagnostics
        .Report(diag::AppendOutputs, counted.output.span, name,
                "is a counted output, but nothing is appended to it")
        .Help(fmt::format("write `append {} += …;` in an `spmd for`", name));
  }
}

void Kernel::CheckAppend(Append& append, bool is_blocks) {
  size_t errors = builder_.diagnostics.error_count();
  for (const Expr* target : append.targets()) {
    const NameExpr* base = BaseOf(target);
    if (Find(base->name) != nullptr) continue;
    builder_.diagnostics.Report(diag::AppendTarget, target->span, base->name.text())
        .Help(
            fmt::format("declare it as a counted output: `{}: out T[n <= N]`", base->name.text()));
  }
  if (!is_blocks) {
    builder_.diagnostics.Report(diag::AppendPlace, append.stmt->span, "this place",
                                "it must be in an `spmd for` at the top level of the kernel");
  }
  if (builder_.diagnostics.error_count() != errors) return;
  CheckOutputs(append);
  CheckLoops(append);
}

/// Checks that the statement appends to all outputs of its counted size, and that it is the only one.
void Kernel::CheckOutputs(Append& append) {
  Ident count = Find(BaseOf(append.targets()[0])->name)->count;
  append.count = count;
  for (const Expr* target : append.targets()) {
    Counted& counted = *Find(BaseOf(target)->name);
    std::string_view name = counted.output.name.text();
    if (counted.count.name != count.name) {
      builder_.diagnostics
          .Report(diag::AppendOutputs, target->span, name,
                  fmt::format("has another counted size than '{}'",
                              BaseOf(append.targets()[0])->name.text()))
          .Help(fmt::format("use a statement of its own: append {} += …;", name));
    } else if (counted.append != nullptr) {
      builder_.diagnostics
          .Report(diag::AppendOutputs, target->span, name, "is appended to more than once")
          .Note(counted.append->stmt->span, "the first `append`");
    }
    counted.append = &append;
  }
  for (const Counted& counted : counted_) {
    if (counted.count.name != count.name || counted.append == &append) continue;
    builder_.diagnostics
        .Report(
            diag::AppendOutputs, append.stmt->span, counted.output.name.text(),
            fmt::format("also has the counted size '{}', so the same statement must append to it",
                        count.name.text()))
        .Help("append one element to each: append y, z += …, …;");
  }
}

/// Checks that the order of the appended elements does not depend on the sizes of blocks.
void Kernel::CheckLoops(const Append& append) {
  for (const ForStmt* loop : append.loops) {
    for (const Binder& binder : loop->binders) {
      bool is_last = loop == append.loops.back() && &binder == &loop->binders.back();
      if (is_last || !IsRange(binder)) continue;
      builder_.diagnostics
          .Report(diag::AppendOrder, binder.name.span, binder.name.name.text(),
                  "is a range, but around an `append`, only the last variable of the innermost "
                  "loop can be one")
          .Note(append.stmt->span, "the `append`")
          .Help(fmt::format(
              "iterate over single indices: {} in 0..{}", binder.name.name.text(),
              binder.extent.hi == nullptr ? "…" : builder_.Text(binder.extent.hi->span)));
    }
  }
}

/// Finds a loop variable of an `spmd for` in an expression.
class VariableFinder : public TreeCopier {
 public:
  VariableFinder(Arena& arena, const ForStmt& loop) : TreeCopier(arena), loop_(loop) {}

  const Binder* Find(const Expr* expr) {
    Expression(expr);
    return found_;
  }

 private:
  const Expr* Replacement(const Expr* expr) override {
    const auto* name = DynAs<NameExpr>(expr);
    if (name == nullptr) return nullptr;
    auto at = std::ranges::find_if(
        loop_.binders, [&](const Binder& binder) { return binder.name.name == name->name; });
    if (at != loop_.binders.end()) found_ = &*at;
    return nullptr;
  }

  const ForStmt& loop_;
  const Binder* found_ = nullptr;
};

/// Checks that the blocks of the loop can be numbered.
void Kernel::CheckBounds(const ForStmt& loop) {
  for (const Binder& binder : loop.binders) {
    if (const Binder* other = VariableFinder(builder_.arena, loop).Find(binder.extent.hi)) {
      std::string_view name = binder.name.name.text();
      builder_.diagnostics
          .Report(diag::AppendOrder, binder.span, name,
                  fmt::format("must have a bound that does not depend on '{}', because the loop "
                              "contains an `append`",
                              other->name.name.text()))
          .Help(fmt::format("iterate over it in a loop inside: for {} in 0..{} {{ … }}", name,
                            builder_.Text(binder.extent.hi->span)));
      continue;
    }
    const auto* lo = DynAs<IntLit>(binder.extent.lo);
    bool is_zero = binder.extent.lo == nullptr || (lo != nullptr && lo->value == 0);
    bool is_numbered = loop.domain == nullptr && binder.extent.step == nullptr && is_zero &&
                       (IsRange(binder) || binder.extent.lo != nullptr);
    if (is_numbered) continue;
    builder_.diagnostics
        .Report(diag::AppendOrder, binder.span, binder.name.name.text(),
                "must be numbered from 0 in an `spmd for` with `append`")
        .Help(fmt::format("number it from 0: `{0} in N by 256` or `{0} in 0..N`",
                          binder.name.name.text()));
  }
}

/// Returns the views of a tensor, and the views of these views.
std::vector<Name> Kernel::ViewsOf(Name tensor) const {
  std::vector<Name> found = {tensor};
  for (const AppendSurvey& survey : surveys_) {
    for (const ViewStmt* view : survey.views) {
      const NameExpr* source = BaseOf(view->source);
      if (source != nullptr && Contains(found, source->name)) found.push_back(view->name.name);
    }
  }
  found.erase(found.begin());
  return found;
}

void Kernel::CheckLoop(const ForStmt& loop, const AppendSurvey& survey) {
  CheckBounds(loop);
  auto reads = [&](Name written, Name name) {
    auto read = survey.read.find(name);
    if (read == survey.read.end()) return;
    builder_.diagnostics.Report(diag::AppendReads, read->second->span, written.text())
        .Help("read it in a loop of its own, after a `sync;`");
  };
  for (const auto& [name, place] : survey.stored) reads(name, name);
  for (const Counted& counted : counted_) {
    bool is_here = std::ranges::any_of(survey.appends,
                                       [&](auto& append) { return counted.append == &append; });
    if (!is_here) continue;
    reads(counted.output.name, counted.output.name);
    reads(counted.count.name, counted.count.name);
    for (Name view : ViewsOf(counted.output.name)) reads(counted.output.name, view);
  }
  if (survey.leaves != nullptr) {
    builder_.diagnostics
        .Report(diag::AppendLeaves, survey.leaves->span, "cannot leave a block early")
        .Help("put the rest of the block into an `if`");
  }
  bool has_view = std::ranges::any_of(surveys_, [](auto& s) { return !s.views.empty(); });
  if (has_view && !survey.stored.empty()) {
    builder_.diagnostics
        .Report(diag::AppendLeaves, survey.stored.begin()->second->span,
                "cannot write other tensors in a kernel with views")
        .Help("write it in a loop of its own");
  }
}

void Kernel::LowerBody() {
  MadeNames names(builder_.Text(item_.span), counted_);
  auto* body = builder_.arena.Make<BlockStmt>(*item_.body);
  body->stmts.clear();
  for (size_t s = 0; s < surveys_.size(); ++s) {
    const Stmt* stmt = item_.body->stmts[s];
    if (surveys_[s].appends.empty()) {
      body->stmts.push_back(stmt);
    } else {
      AddAppendLoops(builder_, As<ForStmt>(stmt), surveys_[s], counted_, names, body->stmts);
    }
  }
  item_.body = body;
}

}  // namespace

void LowerAppends(Builder& builder, FunctionItem& kernel) { Kernel(builder, kernel).Lower(); }

void RefuseAppends(Builder& builder, std::string_view where) {
  for (const AssignStmt* append : builder.appends) {
    builder.diagnostics.Report(diag::AppendPlace, append->span, where,
                               "only kernels have counted outputs");
  }
  builder.appends.clear();
}

void RefuseCountedSizes(Builder& builder, const FunctionItem& function) {
  for (const Param& param : function.params) {
    for (const Expr* dim : param.type->dims) {
      if (AsCountedSize(dim) == nullptr) continue;
      ReportCountedSize(builder, dim, "is only allowed in a kernel",
                        "pass a tensor for the count: n: out i64[]");
    }
  }
}

}  // namespace kdl::syntax
