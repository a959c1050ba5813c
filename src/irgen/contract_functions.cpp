#include <optional>
#include <string_view>
#include <utility>

#include "irgen/contract_gen.h"
#include "support/check.h"

// The fns that a contract calls: statements over slots. No fn calls itself.

namespace kdl::irgen {

using ir::ContractId;
using ir::ContractMap;
using ir::ContractStatement;
using ir::ContractStatementKind;
using sema::Entity;
using syntax::Stmt;
using syntax::StmtKind;

ContractId ContractGen::NewSlots(const Entity* entity) {
  ContractId first = frame_->count;
  frame_->slots[entity] = first;
  size_t parts = entity->type.is_tuple() ? entity->type.parts.size() : 1;
  frame_->count += static_cast<uint32_t>(parts);
  return first;
}

ContractId ContractGen::Slot(Span span, ContractId slot, Scalar scalar) {
  ir::ContractNode node;
  node.kind = ir::ContractKind::Slot;
  node.span = span;
  node.scalar = scalar;
  node.id = slot;
  return contract_.Add(std::move(node));
}

ContractId ContractGen::Function(const sema::CheckedFunction& callee) {
  auto known = functions_.find(&callee);
  if (known != functions_.end()) return known->second;
  Frame frame;
  Frame* around = std::exchange(frame_, &frame);
  const sema::CheckedFunction* caller = std::exchange(checked_, &callee);
  for (const sema::ParamInfo& param : callee.params) NewSlots(param.entity);
  for (const sema::IntGenericInfo& generic : callee.generics) NewSlots(generic.entity);
  ir::ContractFunction function;
  function.name = callee.item->name.name;
  function.body = GenBlock(callee.item->body);
  function.slots = frame.count;
  if (callee.result.is_tuple()) function.parts = static_cast<uint32_t>(callee.result.parts.size());
  frame_ = around;
  checked_ = caller;
  auto number = static_cast<ContractId>(contract_.functions.size());
  contract_.functions.push_back(std::move(function));
  functions_[&callee] = number;
  return number;
}

ContractGen::Statements ContractGen::GenBlock(const Stmt* stmt) {
  Statements made;
  if (stmt != nullptr) GenStatement(*stmt, made);
  return made;
}

void ContractGen::GenStatement(const Stmt& stmt, Statements& into) {
  ContractStatement made;
  made.span = stmt.span;
  switch (stmt.kind) {
    case StmtKind::Block:
      for (const Stmt* inner : syntax::As<syntax::BlockStmt>(&stmt).stmts)
        GenStatement(*inner, into);
      return;
    case StmtKind::Let: {
      const auto& let = syntax::As<syntax::LetStmt>(&stmt);
      made.values = GenParts(let.value);
      ContractId first = NewSlots(checked_->Info(&stmt).entities[0]);
      for (size_t i = 0; i < made.values.size(); ++i)
        made.slots.push_back(first + static_cast<ContractId>(i));
      break;
    }
    case StmtKind::Assign:
      return GenAssign(syntax::As<syntax::AssignStmt>(&stmt), into);
    case StmtKind::If: {
      const auto& choice = syntax::As<syntax::IfStmt>(&stmt);
      made.kind = ContractStatementKind::If;
      made.values = {Gen(choice.condition)};
      made.body = GenBlock(choice.then_block);
      made.other = GenBlock(choice.else_stmt);
      break;
    }
    case StmtKind::While: {
      const auto& loop = syntax::As<syntax::WhileStmt>(&stmt);
      made.kind = ContractStatementKind::Loop;
      made.values = {Gen(loop.condition)};
      made.body = GenBlock(loop.body);
      break;
    }
    case StmtKind::For:
      return GenFor(syntax::As<syntax::ForStmt>(&stmt), 0, into);
    case StmtKind::Break:
      made.kind = ContractStatementKind::Break;
      break;
    case StmtKind::Continue:
      made.kind = ContractStatementKind::Continue;
      break;
    case StmtKind::Return:
      made.kind = ContractStatementKind::Return;
      made.values = GenParts(syntax::As<syntax::ReturnStmt>(&stmt).value);
      break;
    case StmtKind::Assert: {
      const auto& assertion = syntax::As<syntax::AssertStmt>(&stmt);
      if (assertion.is_static) return;
      made.kind = ContractStatementKind::Assert;
      made.values = {Gen(assertion.condition)};
      break;
    }
    default:
      KDL_UNREACHABLE("a statement that no fn of scalars has");
  }
  into.push_back(std::move(made));
}

void ContractGen::GenAssign(const syntax::AssignStmt& assign, Statements& into) {
  ContractStatement made;
  made.span = assign.span;
  ContractId first = frame_->slots.at(checked_->Info(assign.target).entity);
  made.values = GenParts(assign.value);
  if (assign.op != syntax::AssignOp::Set) {
    std::string_view spelling = syntax::Spelling(assign.op);
    std::optional<ContractMap> map = ir::FindContractMap(spelling.substr(0, spelling.size() - 1));
    KDL_CHECK(map, "an update that no contract has");
    made.values = {Map(assign.target, *map, {Gen(assign.target), made.values[0]})};
  }
  for (size_t i = 0; i < made.values.size(); ++i)
    made.slots.push_back(first + static_cast<ContractId>(i));
  into.push_back(std::move(made));
}

ContractGen::Statements ContractGen::GenTurn(const syntax::ForStmt& loop, size_t depth) {
  if (depth == loop.binders.size()) return GenBlock(loop.body);
  Statements made;
  GenFor(loop, depth, made);
  return made;
}

/// `for r in lo..hi step s`, in steps that stay below hi: what is left is counted, since r + s may leave 64 bits.
void ContractGen::GenFor(const syntax::ForStmt& loop, size_t depth, Statements& into) {
  const Entity* binder = checked_->Info(&loop).entities[depth];
  const syntax::Extent& extent = loop.binders[depth].extent;
  Span span = loop.binders[depth].name.span;
  ContractId at = NewSlots(binder);
  ContractId end = frame_->count++;
  ContractId step = frame_->count++;
  auto slot = [&](ContractId number) { return Slot(span, number, Scalar::I64); };
  auto map = [&](ContractMap kind, Scalar scalar, Ids operands) {
    ir::ContractNode node;
    node.kind = ir::ContractKind::Map;
    node.span = span;
    node.map = kind;
    node.scalar = scalar;
    node.operands = std::move(operands);
    return contract_.Add(std::move(node));
  };
  auto whole = [&](const syntax::Expr* expr, uint64_t otherwise) {
    if (expr == nullptr) return Constant(span, Scalar::I64, otherwise);
    return map(ContractMap::Cast, Scalar::I64, {Gen(expr)});
  };
  ContractStatement begin;
  begin.span = span;
  begin.slots = {at, end, step};
  begin.values = {whole(extent.lo, 0), whole(extent.hi, 0), whole(extent.step, 1)};
  into.push_back(std::move(begin));

  ContractStatement turns;
  turns.span = span;
  turns.kind = ContractStatementKind::Loop;
  turns.values = {map(ContractMap::Lt, Scalar::Bool, {slot(at), slot(end)})};
  turns.body = GenTurn(loop, depth + 1);
  ContractStatement next;
  next.span = span;
  next.slots = {at};
  ContractId left = map(ContractMap::Sub, Scalar::U64, {slot(end), slot(at)});
  ContractId by = map(ContractMap::Cast, Scalar::U64, {slot(step)});
  ContractId stays = map(ContractMap::Gt, Scalar::Bool, {left, by});
  ContractId sum = map(ContractMap::Add, Scalar::I64, {slot(at), slot(step)});
  ir::ContractNode choice;
  choice.kind = ir::ContractKind::Select;
  choice.span = span;
  choice.scalar = Scalar::I64;
  choice.operands = {stays, sum, slot(end)};
  next.values = {contract_.Add(std::move(choice))};
  turns.other.push_back(std::move(next));
  into.push_back(std::move(turns));
}

}  // namespace kdl::irgen
