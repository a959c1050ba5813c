#include "sema/programs/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "sema/accesses/slice.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/model/ast_walk.h"
#include "sema/walk/expr.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::CallExpr;
using syntax::CallStmt;
using syntax::Direction;
using syntax::Expr;
using syntax::Stmt;

constexpr std::string_view kName = "checkpoint";
constexpr std::string_view kForm = "`checkpoint(t, x, to = \"run.checkpoint\", every = 100);`";

bool HasName(const syntax::Stmt* stmt) {
  const auto* call = syntax::DynAs<CallStmt>(stmt);
  return call != nullptr && call->call->receiver == nullptr &&
         call->call->callee.name.text() == kName;
}

/// Returns whether the statement, or one inside it, has the name of a checkpoint.
bool AnyHasName(const Stmt* stmt) {
  bool found = HasName(stmt);
  ForEachInside(stmt, [&](const Stmt* inner) { found = found || AnyHasName(inner); });
  return found;
}

void ReportForm(FunctionState& state, Span span) {
  state.diagnostics.Report(diag::CheckpointForm, span).Help(fmt::format("write {}", kForm));
}

/// Returns the path of a file in the current folder or in a folder inside it, without detours, that resembles the given one.
std::string PlainPath(const std::string& given) {
  std::filesystem::path plain;
  for (const std::filesystem::path& part :
       std::filesystem::path(given).relative_path().lexically_normal())
    if (!part.empty() && part != "..") plain /= part;
  return plain.empty() || plain == "." ? "run.checkpoint" : plain.string();
}

/// Sources are not trusted, so they only choose files in the folder in which the program runs. Reports other paths, and those with
/// detours, because two paths are the same file exactly if they have the same text.
void CheckPath(FunctionState& state, const syntax::StringLit& to) {
  std::string plain = PlainPath(to.value);
  if (plain == to.value) return;
  state.diagnostics.Report(diag::CheckpointPath, to.span, to.value)
      .Help(fmt::format("use `to = \"{}\"`", plain));
}

/// Returns why the value of a name cannot be part of a checkpoint, or an empty string.
std::string_view WhyNot(const FunctionState& state, const Entity& entity) {
  if (entity.of != nullptr && entity.type.is_tensor()) return "it is a view";
  switch (entity.kind) {
    case EntityKind::LocalTensor:
      return "";
    case EntityKind::TensorParam:
      return state.fn.params[entity.param].direction == Direction::In
                 ? "the program cannot change it"
                 : "";
    case EntityKind::Var:
    case EntityKind::ScalarBinder:
      return entity.type.is_scalar() ? "" : "it is not a number";
    case EntityKind::Let:
      return "it does not change";
    default:
      return "it is neither a tensor nor a variable";
  }
}

void CheckNamed(FunctionState& state, const syntax::Arg& arg) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(arg.value);
  if (name == nullptr) return ReportForm(state, arg.value->span);
  const Entity* found = state.scopes.Find(name->name);
  bool is_tensor = found != nullptr && (found->kind == EntityKind::LocalTensor ||
                                        found->kind == EntityKind::TensorParam);
  Type type = is_tensor ? CheckTensor(state, arg.value) : CheckExpr(state, arg.value);
  const Entity* entity = state.fn.exprs[arg.value].entity;
  if (type.is_error() || entity == nullptr) return;
  if (std::string_view why = WhyNot(state, *entity); !why.empty()) {
    state.diagnostics
        .Report(diag::CheckpointName, arg.value->span, entity->name.text(), std::string(why))
        .Note(entity->span, "declared here");
    return;
  }
  if (is_tensor) NoteRead(state, entity, arg.value->span);
}

/// Calls `visit` for each statement inside of a block, at any depth.
void ForEachStmt(const syntax::BlockStmt& block, const std::function<void(const Stmt*)>& visit) {
  for (const Stmt* stmt : block.stmts) {
    std::function<void(const Stmt*)> enter = [&](const Stmt* inner) {
      visit(inner);
      ForEachInside(inner, enter);
    };
    enter(stmt);
  }
}

const Entity* EntityOf(const CheckedFunction& program, const Expr* expr) {
  auto info = program.exprs.find(expr);
  return info == program.exprs.end() ? nullptr : info->second.entity;
}

/// Calls `visit` for each tensor that a statement may change.
void ForEachChanged(const CheckedFunction& program, const Stmt* stmt,
                    const std::function<void(const Entity*)>& visit) {
  auto change = [&](const Expr* tensor) {
    if (const Entity* entity = EntityOf(program, tensor)) visit(ShownTensor(entity));
  };
  if (const auto* assign = syntax::DynAs<syntax::AssignStmt>(stmt)) {
    const IndexInfo* index = program.Info(assign->target).index;
    if (index != nullptr) visit(ShownTensor(index->base));
  }
  auto info = program.stmts.find(stmt);
  if (info == program.stmts.end()) return;
  if (const TensorCallInfo* call = info->second.tensors) {
    change(call->to);
    if (call->swaps) change(call->from);
  }
  const LaunchInfo* launch = info->second.launch;
  for (size_t i = 0; launch != nullptr && i < launch->args.size(); ++i) {
    const ParamInfo& param = launch->kernel->params[i];
    if (param.direction != Direction::In && param.entity->type.is_tensor()) change(launch->args[i]);
  }
}

/// Returns the variables that a loop assigns, and that are declared before it.
std::vector<const Entity*> ChangedVars(const CheckedFunction& program, const Stmt& loop,
                                       const syntax::BlockStmt& body) {
  std::set<const Entity*> vars;
  ForEachStmt(body, [&](const Stmt* stmt) {
    const auto* assign = syntax::DynAs<syntax::AssignStmt>(stmt);
    const Entity* entity = assign == nullptr ? nullptr : EntityOf(program, assign->target);
    if (entity != nullptr && entity->kind == EntityKind::Var &&
        entity->span.begin < loop.span.begin)
      vars.insert(entity);
  });
  std::vector<const Entity*> sorted(vars.begin(), vars.end());
  std::ranges::sort(sorted, {}, &Entity::number);
  return sorted;
}

/// Checks the checkpoint of a loop that is not inside of another statement.
class LoopChecker {
 public:
  LoopChecker(FunctionState& state, const Stmt& loop, const syntax::BlockStmt& body,
              const Checkpoint& checkpoint)
      : state_(state), loop_(loop), body_(body), checkpoint_(checkpoint) {}

  void Check() {
    if (loop_.kind == syntax::StmtKind::For) {
      for (const Entity* binder : state_.fn.Info(&loop_).entities) Require(binder);
    }
    for (const Entity* var : ChangedVars(state_.fn, loop_, body_)) Require(var);
    for (const Entity* tensor : ChangedTensors(state_.fn, body_))
      if (tensor->kind == EntityKind::TensorParam) Require(tensor);
  }

 private:
  void Require(const Entity* entity) {
    if (checkpoint_.Contains(entity, state_.fn)) return;
    std::string_view name = entity->name.text();
    state_.diagnostics.Report(diag::CheckpointMisses, checkpoint_.call->span, name)
        .Note(entity->span, "declared here")
        .Help(fmt::format("add it: `checkpoint({}, …);`", name));
  }

  FunctionState& state_;
  const Stmt& loop_;
  const syntax::BlockStmt& body_;
  const Checkpoint& checkpoint_;
};

/// Returns the body of a loop whose iterations one after another are those of the program, or null.
const syntax::BlockStmt* BodyOfLoop(const FunctionState& state, const Stmt* stmt) {
  if (const auto* loop = syntax::DynAs<syntax::WhileStmt>(stmt)) return loop->body;
  const auto* loop = syntax::DynAs<syntax::ForStmt>(stmt);
  if (loop == nullptr || loop->is_spmd) return nullptr;
  const std::vector<const Entity*>& binders = state.fn.Info(stmt).entities;
  bool is_counted = binders.size() == 1 && binders[0]->kind == EntityKind::ScalarBinder;
  return is_counted ? loop->body : nullptr;
}

}  // namespace

bool Checkpoint::Contains(const Entity* entity, const CheckedFunction& program) const {
  return std::ranges::find(numbers, entity) != numbers.end() ||
         std::ranges::any_of(
             tensors, [&](const Expr* tensor) { return EntityOf(program, tensor) == entity; });
}

std::optional<Checkpoint> FindCheckpoint(const CheckedFunction& program, const Stmt* stmt) {
  auto info = program.stmts.find(stmt);
  bool is_checkpoint = HasName(stmt) && info != program.stmts.end() &&
                       info->second.launch == nullptr && info->second.tensors == nullptr;
  if (!is_checkpoint) return std::nullopt;
  Checkpoint found;
  found.call = syntax::As<CallStmt>(stmt).call;
  for (const syntax::Arg& arg : found.call->args) {
    const Entity* entity = EntityOf(program, arg.value);
    if (arg.name && arg.name.name.text() == "to") {
      found.path = syntax::As<syntax::StringLit>(arg.value).value;
    } else if (arg.name) {
      found.every = arg.value;
    } else if (entity->type.is_tensor()) {
      found.tensors.push_back(arg.value);
    } else {
      found.numbers.push_back(entity);
    }
  }
  return found;
}

std::optional<Checkpoint> FindCheckpointOfLoop(const CheckedFunction& program,
                                               const syntax::BlockStmt& body) {
  return body.stmts.empty() ? std::nullopt : FindCheckpoint(program, body.stmts[0]);
}

bool IsCheckpointCall(const FunctionState& state, const CallStmt& stmt) {
  return HasName(&stmt) && state.scopes.Find(stmt.call->callee.name) == nullptr;
}

void CheckCheckpoint(FunctionState& state, const CallStmt& stmt) {
  const CallExpr& call = *stmt.call;
  size_t errors = state.diagnostics.error_count();
  const Expr* to = nullptr;
  const Expr* every = nullptr;
  size_t named = 0;
  for (const syntax::Arg& arg : call.args) {
    std::string_view name = arg.name ? arg.name.name.text() : "";
    const auto* text = syntax::DynAs<syntax::StringLit>(arg.value);
    if (name.empty()) {
      ++named;
      CheckNamed(state, arg);
    } else if (name == "to" && to == nullptr && text != nullptr && !text->value.empty()) {
      to = arg.value;
      CheckPath(state, *text);
    } else if (name == "every" && every == nullptr) {
      every = arg.value;
      CheckInteger(state, every, "every");
    } else {
      ReportForm(state, arg.span);
    }
  }
  if (state.diagnostics.error_count() != errors) return;
  bool is_complete = named > 0 && to != nullptr && every != nullptr && call.generics.empty();
  if (!is_complete) return ReportForm(state, call.span);
  Size number = state.fn.exprs[every].size;
  if (number != nullptr && IsConstant(number) && number->value <= 0)
    return ReportForm(state, every->span);
  state.fn.stmts[&stmt];
}

void CheckCheckpointPlaces(FunctionState& state) {
  std::set<const Stmt*> placed;
  std::map<std::string, Span> files;
  for (const Stmt* stmt : state.fn.item->body->stmts) {
    const syntax::BlockStmt* body = BodyOfLoop(state, stmt);
    if (body == nullptr) continue;
    std::optional<Checkpoint> checkpoint = FindCheckpointOfLoop(state.fn, *body);
    if (!checkpoint) continue;
    placed.insert(body->stmts[0]);
    auto [earlier, is_new] = files.try_emplace(checkpoint->path, checkpoint->call->span);
    if (!is_new) {
      state.diagnostics.Report(diag::CheckpointFile, checkpoint->call->span, checkpoint->path)
          .Note(earlier->second, "the other checkpoint")
          .Help("name another file after `to =`");
    }
    LoopChecker(state, *stmt, *body, *checkpoint).Check();
  }
  ForEachStmt(*state.fn.item->body, [&](const Stmt* stmt) {
    if (placed.contains(stmt) || !FindCheckpoint(state.fn, stmt)) return;
    state.diagnostics.Report(diag::CheckpointPlace, stmt->span)
        .Help("move it to the beginning of a loop of the program, or remove it");
  });
}

bool MayCall(FunctionState& state, const CallExpr& call, const CheckedFunction& program) {
  const syntax::BlockStmt* body = program.item->body;
  auto found = std::ranges::find_if(body->stmts, AnyHasName);
  if (found == body->stmts.end()) return true;
  state.diagnostics.Report(diag::CheckpointCalled, call.span, call.callee.name.text())
      .Note((*found)->span, "it contains a checkpoint")
      .Help("move the loop with the checkpoint to the program that is run");
  return false;
}

std::vector<const Entity*> ChangedTensors(const CheckedFunction& program,
                                          const syntax::BlockStmt& body) {
  std::set<const Entity*> tensors;
  ForEachStmt(body, [&](const Stmt* stmt) {
    ForEachChanged(program, stmt, [&](const Entity* tensor) {
      bool is_outside = tensor->span.end <= body.span.begin;
      if (is_outside) tensors.insert(tensor);
    });
  });
  std::vector<const Entity*> sorted(tensors.begin(), tensors.end());
  std::ranges::sort(sorted, {}, &Entity::number);
  return sorted;
}

}  // namespace kdl::sema
