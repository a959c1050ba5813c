#include "syntax/build_stmt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "syntax/build_expr.h"
#include "syntax/diagnostics.h"

namespace kdl::syntax {

namespace {

struct Mode {
  const char* words;
  std::vector<AssignOp> ops;
  const char* help;
};

/// Returns the operators that the AssignMode allows.
const Mode& ModeOf(AssignMode mode) {
  using enum AssignOp;
  static const std::array<Mode, 3> modes = {
      Mode{"an assignment",
           {Set, Add, Sub, Mul, Div, Rem, BitAnd, BitOr, BitXor},
           "write x = max(x, e), or use `atomic` or `reduce` if several blocks update the element"},
      Mode{"an `atomic` statement", {Set, Add, Sub, Mul, Max, Min, BitAnd, BitOr, BitXor}, ""},
      Mode{"a `reduce` statement", {Add, Sub, Mul, Max, Min, BitAnd, BitOr, BitXor}, ""}};
  return modes[static_cast<size_t>(mode)];
}

AssignOp BuildAssignOp(Builder& builder, AssignMode mode, P::AssignOpContext* node) {
  Span span = builder.NodeSpan(node);
  bool word = node->MAX() != nullptr || node->MIN() != nullptr;
  std::string text(word ? (node->MAX() != nullptr ? "max=" : "min=") : builder.Text(span));
  AssignOp op = FindSpelled(text, AssignOp::Min);
  const Mode& takes = ModeOf(mode);
  if (std::find(takes.ops.begin(), takes.ops.end(), op) == takes.ops.end()) {
    std::vector<std::string_view> spellings;
    spellings.reserve(takes.ops.size());
    for (AssignOp taken : takes.ops) spellings.push_back(Spelling(taken));
    builder.diagnostics
        .Report(diag::BadAssignOp, span, Spelling(op), takes.words,
                fmt::format("{}", fmt::join(spellings, " ")))
        .Help(takes.help);
  }
  return op;
}

/// Returns the texts of indices as a list.
std::string ListIndices(Builder& builder, const IndexExpr& index) {
  return std::string(builder.Text(Cover(index.indices.front().span, index.indices.back().span)));
}

/// Returns what to write instead of `y(i)` or `y[j][i]`, or an empty string.
std::string HelpForTarget(Builder& builder, const Expr* target) {
  const auto* call = DynAs<CallExpr>(target);
  if (call != nullptr && call->receiver == nullptr && !call->args.empty()) {
    Span args = Cover(call->args.front().span, call->args.back().span);
    return fmt::format("write `{}[{}]`: elements have brackets", call->callee.name.text(),
                       builder.Text(args));
  }
  const auto* outer = DynAs<IndexExpr>(target);
  const auto* inner = outer != nullptr ? DynAs<IndexExpr>(outer->base) : nullptr;
  const auto* name = inner != nullptr ? DynAs<NameExpr>(inner->base) : nullptr;
  if (name == nullptr || inner->indices.empty() || outer->indices.empty()) return {};
  std::string first = ListIndices(builder, *inner);
  std::string second = ListIndices(builder, *outer);
  return fmt::format("write `{}[{}, {}]`: one pair of brackets has all indices", name->name.text(),
                     first, second);
}

void CheckTarget(Builder& builder, const Expr* target) {
  if (builder.too_deep) return;
  const auto* index = DynAs<IndexExpr>(target);
  if (index != nullptr && index->otherwise != nullptr) {
    builder.diagnostics.Report(diag::NotAssignable, index->otherwise->span, "an index with `else`")
        .Help(
            "remove the `else`: only elements that exist are assigned; use `where` to skip others");
    return;
  }
  if (DynAs<NameExpr>(index != nullptr ? index->base : target) != nullptr) return;
  builder.diagnostics
      .Report(diag::NotAssignable, target->span, fmt::format("'{}'", builder.Text(target->span)))
      .Help(HelpForTarget(builder, target));
}

/// Builds `assert(c, "…")` or `static_assert(c, "…")`.
Stmt* BuildAssert(Builder& builder, const CallExpr& call, bool is_static) {
  auto* stmt = builder.MakeStmt<AssertStmt>(call.span);
  stmt->is_static = is_static;
  bool good = call.generics.empty() && (call.args.size() == 1 || call.args.size() == 2);
  for (const Arg& arg : call.args) good = good && !arg.name;
  if (good && call.args.size() == 2) {
    stmt->message = DynAs<StringLit>(call.args[1].value);
    good = stmt->message != nullptr;
  }
  if (good) {
    stmt->condition = call.args[0].value;
  } else {
    stmt->condition = &call;
    builder.diagnostics.Report(
        diag::BuiltinStatementForm, call.span, call.callee.name.text(),
        is_static ? "static_assert(c, \"what is wrong\")" : "assert(c, \"what is wrong\")");
  }
  return stmt;
}

Stmt* BuildPrint(Builder& builder, const CallExpr& call) {
  auto* stmt = builder.MakeStmt<PrintStmt>(call.span);
  bool good = call.generics.empty() && !call.args.empty();
  for (const Arg& arg : call.args) {
    good = good && !arg.name;
    stmt->values.push_back(arg.value);
  }
  if (!good) {
    builder.diagnostics.Report(diag::BuiltinStatementForm, call.span, "print",
                               "print(\"text\", e)");
  }
  return stmt;
}

Stmt* BuildCallStmt(Builder& builder, Span span, const Expr* expr) {
  const auto* call = DynAs<CallExpr>(expr);
  if (call == nullptr) {
    builder.diagnostics
        .Report(diag::NotAStatement, expr->span, fmt::format("'{}'", builder.Text(expr->span)))
        .Help("name it with `let name = …;`, or store it in a tensor");
    return builder.MakeStmt<CallStmt>(span);
  }
  std::string_view callee = call->callee.name.text();
  if (call->receiver == nullptr) {
    if (callee == "assert") return BuildAssert(builder, *call, false);
    if (callee == "static_assert") return BuildAssert(builder, *call, true);
    if (callee == "print") return BuildPrint(builder, *call);
    if (callee == "expect" && call->args.size() == 1 && !call->args[0].name) {
      // A condition in parentheses looks like a call.
      auto* expectation = builder.MakeStmt<ExpectStmt>(span);
      expectation->equation.lhs = call->args[0].value;
      expectation->equation.span = call->args[0].span;
      return expectation;
    }
  }
  auto* stmt = builder.MakeStmt<CallStmt>(span);
  stmt->call = call;
  return stmt;
}

Stmt* BuildAssign(Builder& builder, Span span, AssignMode mode, const Expr* target,
                  P::AssignOpContext* op, P::ExprContext* value, P::ConditionContext* condition) {
  auto* stmt = builder.MakeStmt<AssignStmt>(span);
  stmt->mode = mode;
  stmt->op = BuildAssignOp(builder, mode, op);
  stmt->target = target;
  stmt->value = BuildExpr(builder, value);
  if (condition != nullptr) stmt->condition = BuildExpr(builder, condition->expr());
  CheckTarget(builder, target);
  return stmt;
}

Extent BuildExtent(Builder& builder, P::ExtentContext* node) {
  Extent extent;
  extent.span = builder.NodeSpan(node);
  // The parse tree lists the expressions in source order, so `take` builds one after another.
  size_t next = 0;
  auto take = [&] { return BuildExpr(builder, node->expr(next++)); };
  const Expr* first = node->pack() != nullptr ? BuildPack(builder, node->pack()) : take();
  if (node->DOTDOT() != nullptr) {
    extent.lo = first;
    first = take();
  }
  extent.hi = first;
  if (node->BY() != nullptr) extent.by = take();
  if (node->STEP() != nullptr) extent.step = take();
  return extent;
}

Stmt* BuildLet(Builder& builder, Span span, P::LetStmtContext* node) {
  auto* stmt = builder.MakeStmt<LetStmt>(span);
  stmt->is_var = node->VAR() != nullptr;
  stmt->name = BuildIdent(builder, node->name());
  if (node->type() != nullptr) stmt->type = BuildType(builder, node->type());
  stmt->on = BuildPlacement(builder, node->placement());
  if (node->expr() != nullptr) stmt->value = BuildExpr(builder, node->expr());
  if (stmt->is_var && stmt->value == nullptr) {
    builder.diagnostics.Report(diag::VarWithoutValue, stmt->name.span, stmt->name.name.text())
        .Help(fmt::format("write its initial value: var {}: … = 0;", stmt->name.name.text()));
  } else if (stmt->value == nullptr && stmt->type == nullptr) {
    builder.diagnostics.Report(diag::LetWithoutAnything, stmt->name.span, stmt->name.name.text())
        .Help(fmt::format("write let {} = …;", stmt->name.name.text()));
  }
  return stmt;
}

Stmt* BuildSimple(Builder& builder, Span span, P::SimpleStmtContext* node) {
  const Expr* place = BuildPlace(builder, node->primary(), node->suffix());
  if (node->assignOp() == nullptr) return BuildCallStmt(builder, span, place);
  return BuildAssign(builder, span, AssignMode::Plain, place, node->assignOp(), node->expr(),
                     node->condition());
}

const Expr* BuildTarget(Builder& builder, P::TargetContext* written) {
  const Expr* name = BuildPath(builder, {written->name()});
  if (written->LBRACK() == nullptr) return name;
  auto* index = builder.MakeExpr<IndexExpr>(builder.NodeSpan(written));
  index->base = name;
  BuildIndices(builder, written->indices(), *index);
  return index;
}

Stmt* BuildAppend(Builder& builder, Span span, P::AppendStmtContext* node) {
  auto* stmt = builder.MakeStmt<AssignStmt>(span);
  auto* targets = builder.MakeExpr<TupleExpr>(span);
  auto* values = builder.MakeExpr<TupleExpr>(span);
  for (P::TargetContext* target : node->target()) {
    targets->elements.push_back(BuildTarget(builder, target));
    CheckTarget(builder, targets->elements.back());
  }
  values->elements = BuildExprs(builder, node->expr());
  if (targets->elements.size() != values->elements.size()) {
    builder.diagnostics.Report(diag::AppendValues, span, targets->elements.size(),
                               values->elements.size());
  }
  stmt->target = targets;
  stmt->value = values;
  if (node->condition() != nullptr) stmt->condition = BuildExpr(builder, node->condition()->expr());
  builder.appends.push_back(stmt);
  return stmt;
}

Stmt* BuildCombine(Builder& builder, Span span, P::CombineStmtContext* node) {
  const Expr* target = BuildTarget(builder, node->target());
  AssignMode mode = node->ATOMIC() != nullptr ? AssignMode::Atomic : AssignMode::Reduce;
  return BuildAssign(builder, span, mode, target, node->assignOp(), node->expr(),
                     node->condition());
}

Stmt* BuildFuse(Builder& builder, Span span, P::FuseStmtContext* node) {
  BlockStmt* stmt = BuildBlock(builder, node->block());
  stmt->span = span;
  stmt->fused = true;
  return stmt;
}

Stmt* BuildLaunch(Builder& builder, Span span, P::LaunchStmtContext* node) {
  auto* stmt = builder.MakeStmt<LaunchStmt>(span);
  std::vector<P::CallArgsContext*> args = node->callArgs();
  if (args.size() == 2) stmt->config = BuildArgs(builder, args[0], "a launch");
  if (P::LaunchDeviceContext* device = node->launchDevice()) {
    stmt->device = BuildIdent(builder, device->name(0));
    if (P::CallArgsContext* queues = device->callArgs()) {
      Ident form = BuildIdent(builder, device->name(1));
      std::vector<Arg> numbers = BuildArgs(builder, queues, "a list of queues");
      bool named = false;
      for (const Arg& number : numbers) {
        named = named || number.name;
        stmt->queues.push_back(number.value);
      }
      bool good = form.name.text() == "queue" ? numbers.size() == 1
                                              : form.name.text() == "queues" && !numbers.empty();
      if (!good || named)
        builder.diagnostics.Report(diag::UnknownQueueForm, form.span, form.name.text());
    }
  }
  std::vector<P::NameContext*> path = node->name();
  Span call_span = Cover(builder.NodeSpan(path.front()), builder.NodeSpan(args.back()));
  auto* call = builder.MakeExpr<CallExpr>(call_span);
  call->callee = BuildIdent(builder, path.back());
  path.pop_back();
  if (!path.empty()) call->receiver = BuildPath(builder, path);
  call->generics = BuildGenericArgs(builder, node->genericArgs());
  call->args = BuildArgs(builder, args.back(), "a launch");
  stmt->call = call;
  return stmt;
}

/// Builds an `if` statement. Each `else if` is an IfStmt in the else branch of the previous one, so the
/// statements are built from last to first.
Stmt* BuildIf(Builder& builder, Span span, P::IfStmtContext* node) {
  std::vector<antlr4::tree::TerminalNode*> words = node->IF();
  std::vector<P::IfConditionContext*> conditions = node->ifCondition();
  std::vector<P::BlockContext*> blocks = node->block();
  Deeper deeper(builder, conditions.size(), builder.NodeSpan(words.back()));
  if (!deeper.ok()) return builder.MakeStmt<IfStmt>(span);
  const Stmt* otherwise = nullptr;
  if (blocks.size() > conditions.size()) otherwise = BuildBlock(builder, blocks.back());
  IfStmt* stmt = nullptr;
  for (size_t i = conditions.size(); i-- > 0;) {
    stmt = builder.MakeStmt<IfStmt>(
        Cover(builder.NodeSpan(words[i]), builder.NodeSpan(blocks.back())));
    stmt->condition = BuildIfCondition(builder, conditions[i]);
    stmt->then_block = BuildBlock(builder, blocks[i]);
    stmt->else_stmt = otherwise;
    otherwise = stmt;
  }
  return stmt;
}

Stmt* BuildFor(Builder& builder, Span span, P::ForStmtContext* node) {
  auto* stmt = builder.MakeStmt<ForStmt>(span);
  stmt->is_spmd = node->SPMD() != nullptr;
  for (P::BinderContext* written : node->binder()) {
    Binder& binder = stmt->binders.emplace_back();
    binder.span = builder.NodeSpan(written);
    binder.name = BuildIdent(builder, written->name());
    binder.extent = BuildExtent(builder, written->extent());
  }
  if (P::DomainBindersContext* walk = node->domainBinders()) {
    std::vector<P::NameContext*> names = walk->name();
    stmt->domain = BuildPath(builder, {names.back()});
    names.pop_back();
    for (P::NameContext* name : names) {
      Binder& binder = stmt->binders.emplace_back();
      binder.span = builder.NodeSpan(name);
      binder.name = BuildIdent(builder, name);
    }
  }
  stmt->body = BuildBlock(builder, node->block());
  return stmt;
}

Stmt* BuildReturn(Builder& builder, Span span, P::ReturnStmtContext* node) {
  auto* stmt = builder.MakeStmt<ReturnStmt>(span);
  if (node->expr() != nullptr) stmt->value = BuildExpr(builder, node->expr());
  return stmt;
}

Stmt* BuildRange(Builder& builder, Span span, P::RangeStmtContext* node) {
  auto* stmt = builder.MakeStmt<RangeStmt>(span);
  stmt->name = BuildIdent(builder, node->name());
  size_t next = 0;
  if (node->OVER() != nullptr) stmt->window = BuildExpr(builder, node->expr(next++));
  if (node->IN() != nullptr) stmt->extent = BuildExpr(builder, node->expr(next++));
  if (node->MAX() != nullptr) stmt->max = BuildExpr(builder, node->expr(next));
  return stmt;
}

Stmt* BuildDomain(Builder& builder, Span span, P::DomainStmtContext* node) {
  auto* stmt = builder.MakeStmt<DomainStmt>(span);
  stmt->name = BuildIdent(builder, node->name());
  for (P::ExtentContext* dim : node->extent()) stmt->dims.push_back(BuildExtent(builder, dim));
  return stmt;
}

Stmt* BuildWhile(Builder& builder, Span span, P::WhileStmtContext* node) {
  auto* stmt = builder.MakeStmt<WhileStmt>(span);
  stmt->condition = BuildExpr(builder, node->expr());
  stmt->body = BuildBlock(builder, node->block());
  return stmt;
}

Stmt* BuildPipe(Builder& builder, Span span, P::PipeStmtContext* node) {
  auto* stmt = builder.MakeStmt<PipeStmt>(span);
  stmt->name = BuildIdent(builder, node->name());
  stmt->type = BuildType(builder, node->type());
  return stmt;
}

Stmt* BuildStage(Builder& builder, Span span, P::StageStmtContext* node) {
  auto* stmt = builder.MakeStmt<StageStmt>(span);
  stmt->name = BuildIdent(builder, node->name());
  stmt->body = BuildBlock(builder, node->block());
  return stmt;
}

Stmt* BuildView(Builder& builder, Span span, P::ViewStmtContext* node) {
  auto* stmt = builder.MakeStmt<ViewStmt>(span);
  stmt->name = BuildIdent(builder, node->name());
  stmt->type = BuildType(builder, node->type());
  stmt->source = BuildExpr(builder, node->expr());
  return stmt;
}

Stmt* BuildExpect(Builder& builder, Span span, P::ExpectStmtContext* node) {
  auto* stmt = builder.MakeStmt<ExpectStmt>(span);
  stmt->equation = BuildExpectation(builder, node);
  return stmt;
}

Stmt* BuildJump(Builder& builder, Span span, P::JumpStmtContext* node) {
  if (node->BREAK() != nullptr) return builder.MakeStmt<BreakStmt>(span);
  return builder.MakeStmt<ContinueStmt>(span);
}

/// Calls a Build… function after converting the parse tree to the context type that the function expects.
template <class Context>
Stmt* Call(Stmt* (*build)(Builder&, Span, Context*), Builder& builder,
           antlr4::ParserRuleContext* node) {
  return build(builder, builder.NodeSpan(node), static_cast<Context*>(node));
}

Stmt* BuildBareStmt(Builder& builder, antlr4::ParserRuleContext* node) {
  switch (node->getRuleIndex()) {
    case P::RuleBlock:
      return BuildBlock(builder, static_cast<P::BlockContext*>(node));
    case P::RuleLetStmt:
      return Call(BuildLet, builder, node);
    case P::RuleSimpleStmt:
      return Call(BuildSimple, builder, node);
    case P::RuleCombineStmt:
      return Call(BuildCombine, builder, node);
    case P::RuleAppendStmt:
      return Call(BuildAppend, builder, node);
    case P::RuleFuseStmt:
      return Call(BuildFuse, builder, node);
    case P::RuleLaunchStmt:
      return Call(BuildLaunch, builder, node);
    case P::RuleIfStmt:
      return Call(BuildIf, builder, node);
    case P::RuleForStmt:
      return Call(BuildFor, builder, node);
    case P::RuleWhileStmt:
      return Call(BuildWhile, builder, node);
    case P::RuleJumpStmt:
      return Call(BuildJump, builder, node);
    case P::RuleReturnStmt:
      return Call(BuildReturn, builder, node);
    case P::RuleSyncStmt:
      return builder.MakeStmt<SyncStmt>(builder.NodeSpan(node));
    case P::RuleRangeStmt:
      return Call(BuildRange, builder, node);
    case P::RuleDomainStmt:
      return Call(BuildDomain, builder, node);
    case P::RulePipeStmt:
      return Call(BuildPipe, builder, node);
    case P::RuleStageStmt:
      return Call(BuildStage, builder, node);
    case P::RuleViewStmt:
      return Call(BuildView, builder, node);
    case P::RuleExpectStmt:
      return Call(BuildExpect, builder, node);
    default:
      KDL_UNREACHABLE("rule {} is not a statement", node->getRuleIndex());
  }
}

}  // namespace

BlockStmt* BuildBlock(Builder& builder, P::BlockContext* block) {
  auto* stmt = builder.MakeStmt<BlockStmt>(builder.NodeSpan(block));
  Deeper deeper(builder, 1, stmt->span);
  if (!deeper.ok()) return stmt;
  for (P::StmtContext* written : block->stmt()) {
    auto* node = static_cast<antlr4::ParserRuleContext*>(written->children[0]);
    Stmt* inner = BuildBareStmt(builder, node);
    inner->attributes = BuildAttributes(builder, node->getRuleContexts<P::AttributeContext>());
    stmt->stmts.push_back(inner);
  }
  return stmt;
}

std::vector<Attribute> BuildAttributes(Builder& builder,
                                       const std::vector<P::AttributeContext*>& attributes) {
  std::vector<Attribute> out;
  for (P::AttributeContext* written : attributes) {
    Attribute& attribute = out.emplace_back();
    attribute.span = builder.NodeSpan(written);
    attribute.name = BuildIdent(builder, written->name());
    attribute.args = BuildArgs(builder, written->callArgs(), "an attribute");
  }
  return out;
}

}  // namespace kdl::syntax
