#include "driver/compile/source_variables.h"

#include <algorithm>

#include "sema/model/ast_walk.h"
#include "syntax/ast.h"

namespace kdl::driver {

namespace {

using codegen::SourceFunction;
using codegen::SourcePlace;
using codegen::SourceVariable;
using codegen::VariableKind;
using sema::Entity;
using sema::EntityKind;

/// Collects the variables of one function.
class VariableCollector {
 public:
  VariableCollector(const sema::CheckedFunction& checked, const SourceManager& sources,
                    SourceFunction& to)
      : checked_(checked), sources_(sources), to_(to) {}

  void Collect() {
    const syntax::FunctionItem& item = *checked_.item;
    const Extent whole{to_.begin, to_.end};
    for (const sema::ParamInfo& param : checked_.params) AddParameter(param.entity, whole);
    for (const sema::DimInfo& dim : checked_.dims) AddParameter(dim.entity, whole);
    for (const sema::IntGenericInfo& generic : checked_.generics) Add(generic.entity, whole);
    for (const Entity* range : checked_.ranges) Add(range, whole);
    Visit(item.body, to_.end);
  }

 private:
  struct Extent {
    SourcePlace begin, end;
  };

  SourcePlace PlaceOf(FileId file, uint32_t offset) const {
    LineColumn at = sources_.Locate(file, offset);
    return {at.line, at.column};
  }
  SourcePlace BeginOf(Span span) const { return PlaceOf(span.file, span.begin); }
  SourcePlace EndOf(Span span) const { return PlaceOf(span.file, span.end); }

  /// Adds a variable whose name can be used in `extent`. Returns null for entities that have no value in KIR.
  SourceVariable* Add(const Entity* entity, Extent extent) {
    std::optional<VariableKind> kind = KindOf(*entity);
    if (!kind) return nullptr;
    SourceVariable& made = to_.variables.emplace_back();
    made.name = entity->name;
    made.kind = *kind;
    if (entity->type.is_value() || entity->type.is_tensor()) made.scalar = entity->type.scalar;
    for (const Entity* range : entity->type.ranges) made.ranges.push_back(range->name);
    made.sizes = entity->type.dims;
    if (entity->range.whole && entity->range.domain) made.sizes = {entity->range.domain};
    made.declared = BeginOf(entity->span);
    made.begin = extent.begin;
    made.end = extent.end;
    known_[entity] = &made;
    return &made;
  }

  void AddParameter(const Entity* entity, Extent extent) {
    SourceVariable* made = Add(entity, extent);
    if (made) made->parameter = ++parameters_;
  }

  static std::optional<VariableKind> KindOf(const Entity& entity) {
    switch (entity.kind) {
      case EntityKind::Range:
        return VariableKind::Range;
      case EntityKind::TensorParam:
        return VariableKind::Tensor;
      case EntityKind::SizeName:
      case EntityKind::IntGeneric:
      case EntityKind::ScalarBinder:
        return VariableKind::Scalar;
      case EntityKind::ScalarParam:
      case EntityKind::TileParam:
      case EntityKind::Let:
      case EntityKind::Var:
        if (!entity.type.is_value()) return std::nullopt;
        return entity.type.ranges.empty() ? VariableKind::Scalar : VariableKind::Tile;
      default:
        return std::nullopt;
    }
  }

  void Visit(const syntax::Stmt* stmt, SourcePlace end) {
    auto found = checked_.stmts.find(stmt);
    const sema::StmtInfo* info = found == checked_.stmts.end() ? nullptr : &found->second;
    if (const auto* assign = syntax::DynAs<syntax::AssignStmt>(stmt))
      return NoteAssignment(*assign);
    if (info != nullptr) Declare(*stmt, *info, end);
    const auto* loop = syntax::DynAs<syntax::ForStmt>(stmt);
    if (loop != nullptr && loop->is_spmd) to_.spmds.push_back(BeginOf(stmt->span));
    const bool is_block = stmt->kind == syntax::StmtKind::Block;
    sema::ForEachInside(
        stmt, [&](const syntax::Stmt* inner) { Visit(inner, is_block ? EndOf(stmt->span) : end); });
  }

  /// Adds the variables that a statement declares: those of a loop are known up to the end of its body, others up to the end
  /// of the block around the statement. The statement itself belongs to their scopes, because debuggers follow a variable
  /// only within its scope.
  void Declare(const syntax::Stmt& stmt, const sema::StmtInfo& info, SourcePlace end) {
    const auto* loop = syntax::DynAs<syntax::ForStmt>(&stmt);
    const SourcePlace made_at = loop != nullptr ? BeginOf(loop->body->span) : EndOf(stmt.span);
    const Extent extent{BeginOf(stmt.span), loop != nullptr ? EndOf(loop->body->span) : end};
    for (const Entity* entity : info.entities) {
      SourceVariable* made = Add(entity, extent);
      if (made == nullptr) continue;
      made->assignments.push_back({BeginOf(stmt.span), made_at, nullptr});
      const auto* let = syntax::DynAs<syntax::LetStmt>(&stmt);
      if (let == nullptr || let->value == nullptr) continue;
      made->assignments[0].copied = Copied(let->value, *made);
      auto value = checked_.exprs.find(let->value);
      bool folded = value != checked_.exprs.end() && value->second.constant.has_value();
      if (folded && !let->is_var && made->kind == VariableKind::Scalar)
        made->constant = value->second.constant->bits;
    }
  }

  void NoteAssignment(const syntax::AssignStmt& assign) {
    if (assign.target->kind != syntax::ExprKind::Name) return;
    SourceVariable* target = Named(assign.target);
    if (target == nullptr) return;
    SourceVariable& variable = *target;
    const SourceVariable* copied =
        assign.op == syntax::AssignOp::Set ? Copied(assign.value, variable) : nullptr;
    variable.assignments.push_back({BeginOf(assign.span), EndOf(assign.span), copied});
  }

  /// Returns the variable whose value `value` is, if it has the same type as `to`. Otherwise returns null.
  const SourceVariable* Copied(const syntax::Expr* value, const SourceVariable& to) const {
    const SourceVariable* from = Named(value);
    bool same = from != nullptr && from->kind == to.kind && from->scalar == to.scalar &&
                from->ranges == to.ranges;
    return same ? from : nullptr;
  }

  /// Returns the variable that the expression names, or null. Code for other types than those of this function
  /// has not been checked.
  SourceVariable* Named(const syntax::Expr* expr) const {
    auto info = checked_.exprs.find(expr);
    if (expr->kind != syntax::ExprKind::Name || info == checked_.exprs.end()) return nullptr;
    auto known = known_.find(info->second.entity);
    return known == known_.end() ? nullptr : known->second;
  }

  const sema::CheckedFunction& checked_;
  const SourceManager& sources_;
  SourceFunction& to_;
  uint32_t parameters_ = 0;
  std::unordered_map<const Entity*, SourceVariable*> known_;
};

}  // namespace

codegen::SourceVariables CollectVariables(const sema::CheckedModule& checked,
                                          const SourceManager& sources, Names& names) {
  codegen::SourceVariables all;
  for (const sema::CheckedFunction* function : checked.functions) {
    const syntax::FunctionItem& item = *function->item;
    if (item.function_kind == syntax::FunctionKind::Program || item.body == nullptr) continue;
    SourceFunction& made = all.functions.emplace_back();
    made.name = names.Intern(function->InstanceName());
    const Span name = item.name.span;
    LineColumn at = sources.Locate(name);
    LineColumn begin = sources.Locate(item.span);
    LineColumn end = sources.Locate(item.body->span.file, item.body->span.end);
    made.loc = {names.Intern(sources.name(name.file)), at.line, at.column, name.end - name.begin};
    made.begin = {begin.line, begin.column};
    made.end = {end.line, end.column};
    VariableCollector(*function, sources, made).Collect();
  }
  return all;
}

}  // namespace kdl::driver
