#include "driver/compile/source_variables.h"

#include <algorithm>
#include <deque>
#include <map>

#include "sema/model/ast_walk.h"
#include "sema/model/element_name.h"
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
                    Names& names, SourceFunction& to)
      : checked_(checked), sources_(sources), names_(names), to_(to) {}

  void Collect() {
    const syntax::FunctionItem& item = *checked_.item;
    const Extent whole{to_.begin, to_.end};
    for (const sema::ParamInfo& param : checked_.params) AddParameter(param.entity, whole);
    for (const sema::DimInfo& dim : checked_.dims) AddParameter(dim.entity, whole);
    for (const sema::IntGenericInfo& generic : checked_.generics) Add(generic.entity, whole);
    for (const Entity* range : checked_.ranges) Add(range, whole);
    Visit(item.body, to_.end);
  }

  /// Adds the calls of fns whose variables have been collected, too.
  void AddCalls(const std::map<const sema::CheckedFunction*, const SourceFunction*>& functions) {
    for (const auto& [expr, info] : checked_.exprs) {
      if (expr->kind != syntax::ExprKind::Call || info.callee == nullptr) continue;
      auto callee = functions.find(info.callee);
      if (callee == functions.end()) continue;
      AddCall(syntax::As<syntax::CallExpr>(expr), info, *callee->second);
    }
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
    if (made.kind == VariableKind::Tuple) AddElements(entity->type.parts, made);
    return &made;
  }

  void AddElements(const std::vector<sema::Type>& parts, SourceVariable& tuple) {
    for (size_t i = 0; i < parts.size(); ++i) {
      SourceVariable& element = to_.variables.emplace_back();
      element.name = sema::ElementName(tuple.name, i, names_);
      element.kind = parts[i].ranges.empty() ? VariableKind::Scalar : VariableKind::Tile;
      element.scalar = parts[i].scalar;
      for (const Entity* range : parts[i].ranges) element.ranges.push_back(range->name);
      element.declared = tuple.declared;
      element.begin = tuple.begin;
      element.end = tuple.end;
      element.tuple = &tuple;
      tuple.elements.push_back(&element);
    }
  }

  /// Adds an assignment of the variable, and of its elements if it is a tuple. `value` may be null.
  void AddAssignment(SourceVariable& variable, SourcePlace begin, SourcePlace end,
                     const syntax::Expr* value) const {
    const bool has_value = value != nullptr;
    variable.assignments.push_back({begin, end, has_value ? Copied(value, variable) : nullptr});
    for (size_t i = 0; i < variable.elements.size(); ++i) {
      SourceVariable& element = *variable.elements[i];
      const SourceVariable* copied = has_value ? CopiedElement(value, i, element) : nullptr;
      // The statement has already changed other elements of the same tuple.
      if (copied != nullptr && copied->tuple == &variable) copied = nullptr;
      element.assignments.push_back({begin, end, copied});
    }
  }

  /// Returns the variable whose value element `number` of the tuple `value` is, or null.
  const SourceVariable* CopiedElement(const syntax::Expr* value, size_t number,
                                      const SourceVariable& to) const {
    if (const auto* tuple = syntax::DynAs<syntax::TupleExpr>(value))
      return number < tuple->elements.size() ? Copied(tuple->elements[number], to) : nullptr;
    const SourceVariable* from = Named(value);
    const bool has_element = from != nullptr && number < from->elements.size();
    return has_element && AreAlike(*from->elements[number], to) ? from->elements[number] : nullptr;
  }

  void AddParameter(const Entity* entity, Extent extent) {
    SourceVariable* made = Add(entity, extent);
    if (made != nullptr) made->parameter = ++parameters_;
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
        if (entity.type.is_tuple()) return VariableKind::Tuple;
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
      const auto* let = syntax::DynAs<syntax::LetStmt>(&stmt);
      const bool has_value = let != nullptr && let->value != nullptr;
      AddAssignment(*made, BeginOf(stmt.span), made_at, has_value ? let->value : nullptr);
      if (!has_value) continue;
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
    AddAssignment(*target, BeginOf(assign.span), EndOf(assign.span),
                  assign.op == syntax::AssignOp::Set ? assign.value : nullptr);
  }

  /// Returns the variable whose value `value` is, if it has the same type as `to`. Otherwise returns null.
  const SourceVariable* Copied(const syntax::Expr* value, const SourceVariable& to) const {
    const SourceVariable* from = Named(value);
    return from != nullptr && AreAlike(*from, to) ? from : nullptr;
  }

  static bool AreAlike(const SourceVariable& a, const SourceVariable& b) {
    return a.kind == b.kind && a.scalar == b.scalar && a.ranges == b.ranges &&
           std::ranges::equal(
               a.elements, b.elements,
               [](const SourceVariable* x, const SourceVariable* y) { return AreAlike(*x, *y); });
  }

  void AddCall(const syntax::CallExpr& call, const sema::ExprInfo& info,
               const SourceFunction& callee) {
    codegen::SourceCall made{BeginOf(call.span), EndOf(call.span), callee.name, {}};
    auto find = [&](const Entity* entity) {
      auto found = std::ranges::find_if(callee.variables, [&](const SourceVariable& variable) {
        return variable.name == entity->name && variable.begin == callee.begin;
      });
      return found == callee.variables.end() ? nullptr : &*found;
    };
    const size_t count = std::min(call.args.size(), info.callee->params.size());
    for (size_t i = 0; i < count; ++i) {
      const SourceVariable* parameter = find(info.callee->params[i].entity);
      if (parameter != nullptr) AddArgument(*parameter, call.args[i].value, made);
    }
    for (size_t i = 0; info.call != nullptr && i < info.call->ranges.size(); ++i) {
      auto range = known_.find(info.call->ranges[i]);
      const SourceVariable* parameter = find(info.callee->ranges[i]);
      if (parameter != nullptr && range != known_.end())
        made.arguments.push_back({parameter, range->second, std::nullopt});
    }
    to_.calls.push_back(std::move(made));
  }

  void AddArgument(const SourceVariable& parameter, const syntax::Expr* value,
                   codegen::SourceCall& call) const {
    const auto* tuple = syntax::DynAs<syntax::TupleExpr>(value);
    const SourceVariable* copied = Named(value);
    for (size_t i = 0; i < parameter.elements.size(); ++i) {
      const SourceVariable& element = *parameter.elements[i];
      if (tuple != nullptr) AddArgument(element, tuple->elements.at(i), call);
      if (tuple != nullptr) continue;
      const bool is_tuple = copied != nullptr && i < copied->elements.size();
      call.arguments.push_back({&element, is_tuple ? copied->elements[i] : nullptr, std::nullopt});
    }
    if (parameter.kind == VariableKind::Tuple) return;
    if (copied != nullptr && copied->scalar != parameter.scalar) copied = nullptr;
    std::optional<uint64_t> constant;
    auto known = checked_.exprs.find(value);
    if (known != checked_.exprs.end() && known->second.constant)
      constant = known->second.constant->bits;
    call.arguments.push_back({&parameter, copied, constant});
  }

  /// Returns the variable or the element of a tuple that the expression names, or null. Code for other types than those of this function
  /// has not been checked.
  SourceVariable* Named(const syntax::Expr* expr) const {
    auto info = checked_.exprs.find(expr);
    if (const auto* field = syntax::DynAs<syntax::FieldExpr>(expr)) {
      SourceVariable* base = Named(field->base);
      const bool is_element = base != nullptr && field->index < base->elements.size();
      return is_element ? base->elements[field->index] : nullptr;
    }
    if (expr->kind != syntax::ExprKind::Name || info == checked_.exprs.end()) return nullptr;
    auto known = known_.find(info->second.entity);
    return known == known_.end() ? nullptr : known->second;
  }

  const sema::CheckedFunction& checked_;
  const SourceManager& sources_;
  Names& names_;
  SourceFunction& to_;
  uint32_t parameters_ = 0;
  std::unordered_map<const Entity*, SourceVariable*> known_;
};

}  // namespace

codegen::SourceVariables CollectVariables(const sema::CheckedModule& checked,
                                          const SourceManager& sources, Names& names) {
  codegen::SourceVariables all;
  std::map<const sema::CheckedFunction*, const SourceFunction*> functions;
  std::deque<VariableCollector> collectors;
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
    collectors.emplace_back(*function, sources, names, made).Collect();
    functions[function] = &made;
  }
  for (VariableCollector& collector : collectors) collector.AddCalls(functions);
  return all;
}

}  // namespace kdl::driver
