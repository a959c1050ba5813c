#include "sema/stmt.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "sema/ast_walk.h"
#include "sema/attributes.h"
#include "sema/coerce.h"
#include "sema/contract.h"
#include "sema/definite_writes.h"
#include "sema/expr.h"
#include "sema/flow.h"
#include "sema/pipes.h"
#include "sema/resolve.h"
#include "sema/sizes.h"
#include "sema/stages.h"
#include "sema/tuples.h"
#include "sema/updates.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Expr;
using syntax::FunctionKind;
using syntax::LetStmt;
using syntax::Stmt;
using syntax::StmtKind;

enum class Place : uint8_t { Ok, No };

struct StmtRule {
  std::string_view text;
  StmtKind kind;
  std::array<Place, 3> places;  ///< by FunctionKind
};

constexpr StmtRule kStmtRules[] = {
#define KDL_STMT(kind, text, in_fn, in_kernel, in_program) \
  {text, StmtKind::kind, {Place::in_fn, Place::in_kernel, Place::in_program}},
#include "sema/stmt_rules.def"
};

const StmtRule& RuleOf(StmtKind kind) {
  const StmtRule& rule = kStmtRules[static_cast<size_t>(kind)];
  KDL_CHECK(rule.kind == kind, "stmt_rules.def has another order than the tree");
  return rule;
}

std::string_view Describe(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Fn:
      return "a fn";
    case FunctionKind::Kernel:
      return "a kernel";
    case FunctionKind::Program:
      return "a program";
  }
  KDL_UNREACHABLE("function kind {}", static_cast<int>(kind));
}

/// Names that a statement would have declared go on without meaning.
void DeclareNamesOf(FunctionState& state, const Stmt* stmt) {
  if (const auto* domain = syntax::DynAs<syntax::DomainStmt>(stmt)) {
    DeclareFaulty(state, domain->name);
  } else if (const auto* stage = syntax::DynAs<syntax::StageStmt>(stmt)) {
    DeclareFaulty(state, stage->name);
  } else if (const auto* pipe = syntax::DynAs<syntax::PipeStmt>(stmt)) {
    DeclareFaulty(state, pipe->name);
  } else if (const auto* view = syntax::DynAs<syntax::ViewStmt>(stmt)) {
    DeclareFaulty(state, view->name);
  } else if (const auto* range = syntax::DynAs<syntax::RangeStmt>(stmt)) {
    DeclareFaulty(state, range->name);
  }
}

/// The declaration's first line, or the whole statement where it is one line.
Span HeadOf(const FunctionState& state, const Stmt* stmt) {
  Span span = stmt->span;
  size_t line = state.Text(span).find('\n');
  if (line != std::string_view::npos) span.end = span.begin + static_cast<uint32_t>(line);
  return span;
}

bool MayStand(FunctionState& state, const Stmt* stmt) {
  const StmtRule& rule = RuleOf(stmt->kind);
  Place place = rule.places[static_cast<size_t>(state.kind())];
  bool is_static = stmt->kind == StmtKind::Assert && As<syntax::AssertStmt>(stmt).is_static;
  if (stmt->kind == StmtKind::Expect && state.fn.item->test == nullptr) place = Place::No;
  if (is_static && state.kind() == FunctionKind::Program) place = Place::No;
  if (place == Place::Ok) return true;
  std::string_view what = is_static ? "static_assert" : rule.text;
  Diagnostic& report =
      state.diagnostics.Report(diag::Misplaced, HeadOf(state, stmt), what, Describe(state.kind()));
  if (is_static) report.Help("write `assert`, which is checked when it is run");
  if (stmt->kind == StmtKind::Launch) report.Help("a program launches kernels");
  if (stmt->kind == StmtKind::Expect) report.Help("a test compares with `expect`");
  DeclareNamesOf(state, stmt);
  return false;
}

/// `f32[i, j]`: ranges that are live here.
std::optional<Type> TileType(FunctionState& state, const syntax::TypeRef& ref) {
  std::optional<Scalar> scalar = ResolveScalar(state, ref.name);
  Type type = ValueType(scalar.value_or(Scalar::F32));
  bool ok = scalar.has_value();
  for (const Expr* dim : ref.dims) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(dim);
    const Entity* entity = name != nullptr ? Resolve(state, name->name, name->span) : nullptr;
    if (name != nullptr && (entity == nullptr || IsFaulty(*entity))) {
      ok = false;
    } else if (entity == nullptr || entity->kind != EntityKind::Range) {
      state.diagnostics.Report(diag::NotATileDim, dim->span, Quote(state, dim));
      ok = false;
    } else if (Contains(type.ranges, entity)) {
      state.diagnostics.Report(diag::RangeTwice, dim->span, entity->name.text());
      ok = false;
    } else {
      type.ranges = UnionOf(type.ranges, {entity});
    }
  }
  return ok ? std::optional(type) : std::nullopt;
}

/// Whether a type has sizes, not ranges, in its brackets: no dimension is a range or unknown.
bool IsTensorType(const FunctionState& state, const syntax::TypeRef& ref) {
  if (ref.dims.empty()) return false;
  for (const Expr* dim : ref.dims) {
    const auto* name = syntax::DynAs<syntax::NameExpr>(dim);
    if (name == nullptr) continue;
    const Entity* entity = state.scopes.Find(name->name);
    if (entity == nullptr && name->name.text() == "core_num") continue;
    if (entity == nullptr || entity->kind == EntityKind::Range || IsFaulty(*entity)) return false;
  }
  return true;
}

/// In a program; in a kernel where every core comes by.
bool MayDeclareTensor(FunctionState& state, const LetStmt& let) {
  if (state.kind() == FunctionKind::Program) return true;
  if (state.kind() == FunctionKind::Fn) {
    state.diagnostics.Report(diag::Misplaced, let.span, "a tensor", "a fn");
    return false;
  }
  if (let.on) state.diagnostics.Report(diag::OnValue, let.on.span, let.name.name.text());
  std::string_view place = state.stages.current != nullptr ? "a stage"
                           : state.spmd_depth != 0         ? "a `spmd for`"
                           : state.divergent > 0           ? "a branch that some cores do not take"
                                                           : "";
  if (place.empty()) return !let.on;
  state.diagnostics.Report(diag::LaunchTensorPlace, let.span, place)
      .Help("declare it before the loops of the kernel, or use a `var`, which is a core's own");
  return false;
}

/// `random(T[…], seed)`, or null where the value is another one.
const syntax::CallExpr* RandomCall(const FunctionState& state, const LetStmt& let) {
  const auto* call = syntax::DynAs<syntax::CallExpr>(let.value);
  bool is_random = state.fn.item->test != nullptr && call != nullptr && call->receiver == nullptr &&
                   call->callee.name.text() == "random";
  return is_random ? call : nullptr;
}

void DeclareRandom(FunctionState& state, const LetStmt& let, const syntax::CallExpr& call) {
  const auto* type =
      call.args.empty() ? nullptr : syntax::DynAs<syntax::TypeExpr>(call.args[0].value);
  bool seeded =
      call.args.size() == 2 && (!call.args[1].name || call.args[1].name.name.text() == "seed");
  bool bare = !let.is_var && let.type == nullptr && !let.on;
  if (type == nullptr || type->type->dims.empty() || !seeded || !bare) {
    state.diagnostics.Report(diag::RandomForm, call.span)
        .Help(fmt::format("write `let {} = random(f32[100], seed = 1);`", let.name.name.text()));
    return DeclareFaulty(state, let.name);
  }
  std::optional<Type> tensor = TensorType(state, *type->type);
  bool ok = !CheckInteger(state, call.args[1].value, "a seed").is_error();
  Entity* entity = Declare(state, EntityKind::LocalTensor, let.name);
  state.loop_depth_of[entity] = state.loop_depth;
  state.written.insert(entity);
  if (!tensor || !ok) return;
  entity->type = *std::move(tensor);
  state.fn.stmts[&let].entities = {entity};
  state.fn.stmts[&let].seed = call.args[1].value;
}

/// The value of each element, in a program.
bool CheckFill(FunctionState& state, const LetStmt& let, const std::optional<Type>& tensor) {
  if (let.is_var || state.kind() != FunctionKind::Program) {
    std::string_view name = let.name.name.text();
    std::string_view word = let.is_var ? "var" : "tensor of a launch";
    state.diagnostics.Report(diag::TensorWithValue, let.span, name, word)
        .Help(let.is_var ? fmt::format("write `let {}: … = …;`", name)
                         : fmt::format("write `let {}: …;` alone, and a loop that fills it", name));
    return false;
  }
  Type value = CheckValue(state, let.value);
  if (value.is_error() || !tensor || Fits(state, let.value, tensor->scalar))
    return !value.is_error() && tensor.has_value();
  state.diagnostics
      .Report(diag::ValueType, let.value->span, let.name.name.text(), Spelling(tensor->scalar),
              ToString(value))
      .Help(fmt::format("write '{}'", AsHint(state, let.value, tensor->scalar)));
  return false;
}

void DeclareTensor(FunctionState& state, const LetStmt& let) {
  if (!MayDeclareTensor(state, let)) return DeclareFaulty(state, let.name);
  std::optional<Type> type = TensorType(state, *let.type);
  const Entity* device = let.on ? ResolveDevice(state, let.on) : nullptr;
  bool fills = let.value != nullptr && CheckFill(state, let, type);
  Entity* entity = Declare(state, EntityKind::LocalTensor, let.name);
  entity->on = device;
  state.loop_depth_of[entity] = state.loop_depth;
  if (fills) state.written.insert(entity);
  if (!type) return;
  entity->type = *std::move(type);
  state.fn.stmts[&let].entities = {entity};
  if (fills) state.fn.stmts[&let].fill = let.value;
}

/// The value of a declaration against its declared type.
bool CheckDeclared(FunctionState& state, const LetStmt& let, const Type& declared) {
  Type value = state.fn.exprs[let.value].type;
  if (!Fits(state, let.value, declared.scalar)) {
    state.diagnostics
        .Report(diag::ValueType, let.value->span, let.name.name.text(), Spelling(declared.scalar),
                ToString(value))
        .Help(fmt::format("write '{}'", AsHint(state, let.value, declared.scalar)));
    return false;
  }
  std::vector<const Entity*> missing = Missing(value.ranges, declared.ranges);
  if (missing.empty()) return true;
  state.diagnostics
      .Report(diag::RangeNotInVariable, let.value->span, RangesText(missing), let.name.name.text(),
              ToString(declared))
      .Help(fmt::format("declare '{}' with it, or reduce over it: sum({} over {})",
                        let.name.name.text(), Quote(state, let.value), Joined(missing)));
  return false;
}

/// The types of the parts of `(f32, i64[i])`; an error, reported, where one is none.
Type DeclaredTuple(FunctionState& state, const syntax::TypeRef& ref) {
  Type type;
  type.kind = TypeKind::Tuple;
  for (const syntax::TypeRef* element : ref.elements) {
    if (!element->elements.empty()) {
      state.diagnostics.Report(diag::TuplePart, element->span, state.Text(element->span))
          .Help("a tuple has no tuples in it: list their parts");
      return Type{};
    }
    std::optional<Type> part = TileType(state, *element);
    if (!part) return Type{};
    type.ranges = UnionOf(type.ranges, part->ranges);
    type.parts.push_back(*std::move(part));
  }
  return type;
}

/// The type of a variable that is, or is declared, a tuple. A part that is declared a scalar has its ranges from its value.
Type CheckTupleVariable(FunctionState& state, const LetStmt& let, const Type& value) {
  if (let.type == nullptr || value.is_error()) return value;
  Type declared = let.type->elements.empty() ? TileType(state, *let.type).value_or(Type{})
                                             : DeclaredTuple(state, *let.type);
  if (declared.is_error()) return Type{};
  if (!FitsType(state, let.value, declared) || !declared.is_tuple() || !value.is_tuple()) {
    state.diagnostics.Report(diag::TupleParts, let.value->span, Quote(state, let.value),
                             ToString(value), ToString(declared));
    return Type{};
  }
  const Type fitted = state.fn.exprs[let.value].type;
  for (size_t i = 0; i < declared.parts.size(); ++i) {
    Type& part = declared.parts[i];
    std::vector<const Entity*> missing = Missing(fitted.parts[i].ranges, part.ranges);
    if (part.ranges.empty()) {
      part.ranges = fitted.parts[i].ranges;
      declared.ranges = UnionOf(declared.ranges, part.ranges);
    } else if (!missing.empty()) {
      state.diagnostics.Report(diag::RangeNotInVariable, let.value->span, RangesText(missing),
                               let.name.name.text(), ToString(declared));
      return Type{};
    }
  }
  return declared;
}

void DeclareVariable(FunctionState& state, const LetStmt& let) {
  Type type;
  if (let.value != nullptr) {
    CheckAny(state, let.value);
    type = let.type != nullptr ? state.fn.exprs[let.value].type : DefaultParts(state, let.value);
  }
  if (let.on) state.diagnostics.Report(diag::OnValue, let.on.span, let.name.name.text());
  Size size = let.value != nullptr ? state.fn.exprs[let.value].size : nullptr;
  bool is_tuple = type.is_tuple() || (let.type != nullptr && !let.type->elements.empty());
  if (is_tuple) {
    type = CheckTupleVariable(state, let, type);
  } else if (let.type != nullptr) {
    std::optional<Type> declared = TileType(state, *let.type);
    if (declared && let.value != nullptr) CheckDeclared(state, let, *declared);
    type = declared.value_or(Type{});
  }
  if (let.value == nullptr) {
    std::string_view type_text = let.type != nullptr ? state.Text(let.type->span) : "f32";
    state.diagnostics.Report(diag::NoInitialValue, let.span, let.name.name.text())
        .Help(fmt::format("write `let {}: {} = …;`", let.name.name.text(), type_text));
  }
  Entity* entity = Declare(state, let.is_var ? EntityKind::Var : EntityKind::Let, let.name);
  entity->type = std::move(type);
  if (!let.is_var && entity->type.is_scalar() && entity->type.scalar == Scalar::I64) {
    entity->size = size;
  }
  state.depth_of[entity] = state.scopes.depth();
  if (let.value != nullptr) RecordInfluence(state, entity, let.value);
  state.fn.stmts[&let].entities = {entity};
}

void CheckLet(FunctionState& state, const LetStmt& let) {
  if (const syntax::CallExpr* random = RandomCall(state, let))
    return DeclareRandom(state, let, *random);
  if (let.type != nullptr && IsTensorType(state, *let.type)) return DeclareTensor(state, let);
  DeclareVariable(state, let);
}

void CheckSync(FunctionState& state, const Stmt* stmt) {
  std::string_view place = state.stages.current != nullptr ? "a stage"
                           : state.spmd_depth != 0         ? "a `spmd for`"
                                                           : "";
  if (place.empty()) {
    CheckUniformPlace(state, stmt->span, true);
    return;
  }
  state.diagnostics.Report(diag::SyncPlace, stmt->span, place)
      .Help(state.stages.current != nullptr
                ? "stages wait for each other by pipes; two kernels may do what needs a barrier"
                : "end the loop before it, and begin another one behind it");
}

/// `core_id == 0`, also as a part of `&&`.
bool HoldsOnCoreZero(const FunctionState& state, const Expr* condition) {
  const auto* binary = syntax::DynAs<syntax::BinaryExpr>(condition);
  if (binary == nullptr) return false;
  if (binary->op == syntax::BinaryOp::And) {
    return HoldsOnCoreZero(state, binary->lhs) || HoldsOnCoreZero(state, binary->rhs);
  }
  if (binary->op != syntax::BinaryOp::Eq) return false;
  auto is_core = [&](const Expr* expr) {
    auto info = state.fn.exprs.find(expr);
    return info != state.fn.exprs.end() && info->second.builtin != nullptr &&
           info->second.builtin->kind == BuiltinKind::CoreId;
  };
  return is_core(binary->lhs) ? !is_core(binary->rhs) : is_core(binary->rhs);
}

void CheckStmt(FunctionState& state, const Stmt* stmt);

void CheckIf(FunctionState& state, const syntax::IfStmt& choice) {
  CheckCondition(state, choice.condition, "the condition of `if`", true);
  int divergent = MayVary(state, choice.condition) ? 1 : 0;
  int core_zero = HoldsOnCoreZero(state, choice.condition) ? 1 : 0;
  state.divergent += divergent;
  state.core_zero += core_zero;
  state.conditions.push_back(choice.condition);
  CheckBlock(state, *choice.then_block);
  state.core_zero -= core_zero;
  if (choice.else_stmt != nullptr) CheckStmt(state, choice.else_stmt);
  state.conditions.pop_back();
  state.divergent -= divergent;
}

void CheckCallStmt(FunctionState& state, const syntax::CallStmt& stmt) {
  const syntax::CallExpr& call = *stmt.call;
  if (state.kind() == FunctionKind::Program && CheckHostCall(state, stmt)) return;
  Type type = CheckExpr(state, &call);
  bool popped = state.fn.exprs[&call].pipe != nullptr;
  if (type.is_error() || type.kind == TypeKind::Nothing || popped) return;
  state.diagnostics.Report(diag::UnusedResult, call.span, call.callee.name.text());
}

void CheckReturnRanges(FunctionState& state, const syntax::ReturnStmt& stmt) {
  const Type& type = state.fn.exprs[stmt.value].type;
  std::vector<const Entity*> missing = Missing(type.ranges, state.fn.result.ranges);
  if (missing.empty()) return;
  state.diagnostics
      .Report(diag::ReturnRanges, stmt.value->span, RangesText(missing),
              state.fn.item->name.name.text(), ToString(state.fn.result))
      .Help(fmt::format("reduce over it, for example sum({} over {}), or add it to the result",
                        Quote(state, stmt.value), Joined(missing)));
}

void CheckReturnedTuple(FunctionState& state, const syntax::ReturnStmt& stmt) {
  const Type& result = state.fn.result;
  bool tuples = result.is_tuple() && state.fn.exprs[stmt.value].type.is_tuple();
  if (tuples && FitsType(state, stmt.value, result)) return CheckReturnRanges(state, stmt);
  state.diagnostics.Report(diag::TupleParts, stmt.value->span, Quote(state, stmt.value),
                           ToString(state.fn.exprs[stmt.value].type), ToString(result));
}

void CheckReturn(FunctionState& state, const syntax::ReturnStmt& stmt) {
  if (stmt.value == nullptr) {
    state.diagnostics.Report(diag::ReturnWithoutValue, stmt.span);
    return;
  }
  Type type = CheckAny(state, stmt.value);
  const Type& result = state.fn.result;
  if (result.kind == TypeKind::Nothing) {
    state.diagnostics.Report(diag::ReturnFromPipeFn, stmt.span, state.fn.item->name.name.text())
        .Help("push the value into a pipe, or leave the statement out");
    return;
  }
  if (type.is_error() || result.is_error()) return;
  if (type.is_tuple() || result.is_tuple()) return CheckReturnedTuple(state, stmt);
  if (Fits(state, stmt.value, result.scalar)) return CheckReturnRanges(state, stmt);
  state.diagnostics
      .Report(diag::ReturnType, stmt.value->span, state.fn.item->name.name.text(),
              Spelling(result.scalar), Spelling(type.scalar))
      .Help(fmt::format("write '{}'", AsHint(state, stmt.value, result.scalar)));
}

bool HasStopped(FunctionState& state, const Stmt* stmt) {
  if (state.diagnostics.error_count() <= kMaxErrors) return false;
  if (!std::exchange(state.has_stopped, true)) {
    state.diagnostics.Report(diag::TooManyErrors, HeadOf(state, stmt), kMaxErrors);
  }
  return true;
}

void Dispatch(FunctionState& state, const Stmt* stmt) {
  switch (stmt->kind) {
    case StmtKind::Let:
      return CheckLet(state, As<LetStmt>(stmt));
    case StmtKind::Assign:
      return CheckAssign(state, As<syntax::AssignStmt>(stmt));
    case StmtKind::Call:
      return CheckCallStmt(state, As<syntax::CallStmt>(stmt));
    case StmtKind::Launch:
      return CheckLaunch(state, As<syntax::LaunchStmt>(stmt));
    case StmtKind::Block:
      return CheckBlock(state, As<syntax::BlockStmt>(stmt));
    case StmtKind::If:
      return CheckIf(state, As<syntax::IfStmt>(stmt));
    case StmtKind::For:
      return CheckFor(state, As<syntax::ForStmt>(stmt));
    case StmtKind::While:
      return CheckWhile(state, As<syntax::WhileStmt>(stmt));
    case StmtKind::Assert:
      return CheckAssert(state, As<syntax::AssertStmt>(stmt));
    case StmtKind::Print:
      return CheckPrint(state, As<syntax::PrintStmt>(stmt));
    case StmtKind::Break:
    case StmtKind::Continue:
      return CheckJump(state, stmt);
    case StmtKind::Return:
      return CheckReturn(state, As<syntax::ReturnStmt>(stmt));
    case StmtKind::Range:
      return CheckRange(state, As<syntax::RangeStmt>(stmt));
    case StmtKind::Domain:
      return CheckDomain(state, As<syntax::DomainStmt>(stmt));
    case StmtKind::Pipe:
      return CheckPipe(state, As<syntax::PipeStmt>(stmt));
    case StmtKind::Stage:
      return CheckStage(state, As<syntax::StageStmt>(stmt));
    case StmtKind::View:
      return CheckView(state, As<syntax::ViewStmt>(stmt));
    case StmtKind::Sync:
      return CheckSync(state, stmt);
    case StmtKind::Expect:
      return CheckExpect(state, As<syntax::ExpectStmt>(stmt));
    default:
      KDL_UNREACHABLE("statement kind {}", static_cast<int>(stmt->kind));
  }
}

void CheckStmt(FunctionState& state, const Stmt* stmt) {
  if (HasStopped(state, stmt)) return;
  CheckAttributes(state, stmt->attributes);
  if (!MayStand(state, stmt)) return;
  Dispatch(state, stmt);
  CheckPipePlaces(state, stmt);
}

/// A fn's only `return` is its last statement.
void CheckReturns(FunctionState& state) {
  const syntax::BlockStmt& body = *state.fn.item->body;
  const Stmt* last = body.stmts.empty() ? nullptr : body.stmts.back();
  if (syntax::DynAs<syntax::ReturnStmt>(last) == nullptr && state.fn.item->result != nullptr) {
    Span end = body.span;
    end.begin = end.end > 0 ? end.end - 1 : 0;
    state.diagnostics.Report(diag::MissingReturn, end, state.fn.item->name.name.text());
  }
}

void CheckEarlyReturn(FunctionState& state, const syntax::BlockStmt& block, bool outermost) {
  for (const Stmt* stmt : block.stmts) {
    bool is_last = outermost && stmt == block.stmts.back();
    if (stmt->kind == StmtKind::Return && !is_last) {
      state.diagnostics.Report(diag::EarlyReturn, stmt->span)
          .Help("keep the result in a `var`, or choose it with `if c then a else b`");
    }
    if (const auto* inner = syntax::DynAs<syntax::BlockStmt>(stmt)) {
      CheckEarlyReturn(state, *inner, false);
    }
    if (const auto* loop = syntax::DynAs<syntax::ForStmt>(stmt)) {
      CheckEarlyReturn(state, *loop->body, false);
    }
    if (const auto* loop = syntax::DynAs<syntax::WhileStmt>(stmt)) {
      CheckEarlyReturn(state, *loop->body, false);
    }
    const auto* choice = syntax::DynAs<syntax::IfStmt>(stmt);
    while (choice != nullptr) {
      CheckEarlyReturn(state, *choice->then_block, false);
      if (const auto* other = syntax::DynAs<syntax::BlockStmt>(choice->else_stmt)) {
        CheckEarlyReturn(state, *other, false);
      }
      choice = syntax::DynAs<syntax::IfStmt>(choice->else_stmt);
    }
  }
}

/// Loops carry values back to conditions that were checked before: what turned out to differ by
/// core may stand in one around a `spmd for`.
void CheckUniform(FunctionState& state) {
  if (state.uniform.empty()) return;
  for (bool progress = true; progress;) {
    progress = false;
    for (const Influence& influence : state.influences) {
      if (state.varying.contains(influence.variable)) continue;
      if (!MayVary(state, influence.value)) continue;
      state.varying.insert(influence.variable);
      progress = true;
    }
  }
  for (const UniformPlace& place : state.uniform) {
    if (MayVary(state, place.condition)) ReportDivergent(state, place.span, place.is_sync);
  }
}

}  // namespace

std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref) {
  Type type;
  type.kind = TypeKind::Tensor;
  std::optional<Scalar> scalar = ResolveScalar(state, ref.name);
  bool ok = scalar.has_value();
  for (const Expr* dim : ref.dims) {
    type.dims.push_back(CheckDim(state, dim));
    ok = ok && type.dims.back() != nullptr;
  }
  type.scalar = scalar.value_or(type.scalar);
  ok = CheckRank(state, ref) && ok;
  return ok ? std::optional(std::move(type)) : std::nullopt;
}

void CheckBlock(FunctionState& state, const syntax::BlockStmt& block) {
  ScopeGuard scope(state.scopes);
  ++state.block_depth;
  size_t errors = state.diagnostics.error_count();
  if (block.unrolled) OpenLoop(state, false);
  for (const Stmt* stmt : block.stmts) {
    CheckStmt(state, stmt);
    // What is wrong with one copy of a body is wrong with all.
    if (block.unrolled && state.diagnostics.error_count() != errors) break;
  }
  if (block.unrolled) CloseLoop(state);
  --state.block_depth;
}

void CheckBody(FunctionState& state) {
  CheckAttributes(state, state.fn.item->attributes);
  CheckBlock(state, *state.fn.item->body);
  CheckUniform(state);
  SettleDynamic(state);
  SettleGroups(state);
  if (state.kind() == FunctionKind::Kernel) CheckBesideStages(state, *state.fn.item->body);
  if (state.kind() == FunctionKind::Fn) {
    CheckEndsUsed(state);
    CheckReturns(state);
    CheckEarlyReturn(state, *state.fn.item->body, true);
  }
  bool is_program = state.kind() == FunctionKind::Program && state.fn.item->test == nullptr;
  if (is_program && state.diagnostics.error_count() == 0) CheckDefiniteWrites(state);
}

void RecordInfluence(FunctionState& state, const Entity* variable, const Expr* value) {
  if (state.kind() != FunctionKind::Kernel) return;
  bool by_core = state.divergent > 0 || DependsOnCore(state, value);
  if (by_core && state.spmd_depth == 0) state.core_dependent.insert(variable);
  if (state.divergent > 0 || MayVary(state, value)) state.varying.insert(variable);
  state.influences.push_back({variable, value});
  for (const Expr* condition : state.conditions) state.influences.push_back({variable, condition});
}

bool MayVary(FunctionState& state, const Expr* expr) {
  if (DependsOnCore(state, expr)) return true;
  return AnyOf(expr, [&](const Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    if (info == state.fn.exprs.end()) return false;
    if (state.varying.contains(info->second.entity)) return true;
    const IndexInfo* index = info->second.index;
    if (index == nullptr || state.kind() != FunctionKind::Kernel) return false;
    bool is_input = index->base->kind == EntityKind::TensorParam &&
                    state.fn.params[index->base->param].direction == syntax::Direction::In;
    return !is_input && index->base->kind != EntityKind::Const;
  });
}

bool DependsOnCore(FunctionState& state, const Expr* expr) {
  return AnyOf(expr, [&](const Expr* inner) {
    auto info = state.fn.exprs.find(inner);
    if (info == state.fn.exprs.end()) return false;
    const Builtin* builtin = info->second.builtin;
    bool popped = info->second.pipe != nullptr && state.spmd_depth == 0;
    return popped || (builtin != nullptr && builtin->kind == BuiltinKind::CoreId) ||
           state.core_dependent.contains(info->second.entity);
  });
}

}  // namespace kdl::sema
