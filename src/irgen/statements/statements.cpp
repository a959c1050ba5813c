#include <fmt/format.h>

#include "ir/op_kind.h"
#include "irgen/accesses/tile_parts.h"
#include "irgen/contracts/tables.h"
#include "irgen/contracts/tiles.h"
#include "irgen/expressions/access.h"
#include "irgen/expressions/arithmetic.h"
#include "irgen/expressions/reductions.h"
#include "irgen/programs/checkpoints.h"
#include "irgen/programs/host_calls.h"
#include "irgen/programs/programs.h"
#include "irgen/stages/pipes.h"
#include "irgen/statements/flow.h"
#include "irgen/statements/loop_bounds.h"
#include "irgen/statements/loops.h"
#include "irgen/statements/ranges.h"
#include "irgen/statements/tensor_views.h"
#include "irgen/statements/watch.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"
#include "sema/model/element_name.h"
#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::Value;

/// Converts the value to the declared type of its variable: rounds it to the scalar type, and broadcasts it
/// along all ranges.
Value* AsDeclared(FunctionGen& gen, Value* value, const sema::Type& declared) {
  Value* rounded = Round(gen, value, declared.scalar);
  return gen.builder.Broadcast(rounded, gen.RangeAxes(declared.ranges));
}

std::vector<Value*> AsDeclaredParts(FunctionGen& gen, const syntax::Expr* value,
                                    const sema::Type& declared) {
  std::vector<Value*> parts = GenParts(gen, value);
  std::vector<sema::Type> types = PartTypes(declared);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = AsDeclared(gen, parts[i], types[i]);
  return parts;
}

void Bind(FunctionGen& gen, const sema::Entity* entity, Value* value) {
  SetName(value, entity->name);
  gen.values[entity] = value;
  GenSizeName(gen, entity);
}

void BindParts(FunctionGen& gen, const sema::Entity* entity, std::vector<Value*> parts) {
  Names& names = gen.module.context().names;
  for (size_t i = 0; i < parts.size(); ++i)
    SetName(parts[i], sema::ElementName(entity->name, i, names));
  gen.tuples[entity] = std::move(parts);
}

void GenLet(FunctionGen& gen, const syntax::LetStmt& let) {
  const sema::Entity* entity = gen.checked.Info(&let).entities.at(0);
  if (entity->kind == sema::EntityKind::LocalTensor) {
    GenLocalTensor(gen, entity, let.span);
    if (const syntax::Expr* seed = gen.checked.Info(&let).seed) GenRandom(gen, entity, seed);
    if (const syntax::Expr* fill = gen.checked.Info(&let).fill) GenFill(gen, entity, fill);
    if (!entity->elements.empty()) GenElements(gen, entity, let.value->span);
    return;
  }
  if (gen.tiles && !entity->type.ranges.empty()) return GenTileLet(gen, entity, let.value);
  if (entity->type.is_tuple()) {
    return BindParts(gen, entity, AsDeclaredParts(gen, let.value, entity->type));
  }
  Bind(gen, entity, AsDeclared(gen, GenExpr(gen, let.value), entity->type));
}

void AssignTuple(FunctionGen& gen, const syntax::AssignStmt& assign, const sema::Entity* var) {
  std::vector<Value*> stored = AsDeclaredParts(gen, assign.value, var->type);
  Value* mask = gen.AssignMask();
  for (size_t i = 0; mask && i < stored.size(); ++i)
    stored[i] = gen.builder.Select(mask, stored[i], gen.tuples.at(var)[i]);
  BindParts(gen, var, std::move(stored));
}

void AssignVar(FunctionGen& gen, const syntax::AssignStmt& assign, const sema::Entity* var) {
  if (var->type.is_tuple()) return AssignTuple(gen, assign, var);
  Value* present = gen.values.at(var);
  const auto* reduce = syntax::DynAs<syntax::ReduceExpr>(assign.value);
  Value* value;
  if (reduce && gen.Info(reduce).reduce->in_place) {
    value = GenContractInto(gen, *reduce, present);
  } else if (assign.op == syntax::AssignOp::Set) {
    value = GenExpr(gen, assign.value);
  } else {
    value = GenUpdate(gen, assign, Widen(gen, present));
  }
  Value* stored = AsDeclared(gen, value, var->type);
  if (Value* mask = gen.AssignMask()) stored = gen.builder.Select(mask, stored, present);
  Bind(gen, var, stored);
}

/// Calls `store` with a mask, so that the store takes effect only where the condition is true. Where it is
/// false, neither an index nor the stored value can trap.
void Where(FunctionGen& gen, const syntax::Expr* condition,
           const std::function<void(Value* mask)>& store) {
  if (!condition) return store(nullptr);
  Value* holds = GenExpr(gen, condition);
  gen.guards.push_back({holds, false});
  store(gen.Mask());
  gen.guards.pop_back();
}

void AssignElements(FunctionGen& gen, const syntax::AssignStmt& assign,
                    const syntax::IndexExpr& target) {
  Where(gen, assign.condition, [&](Value* mask) {
    Value* value = assign.op == syntax::AssignOp::Set
                       ? GenExpr(gen, assign.value)
                       : GenUpdate(gen, assign, Widen(gen, GenLoad(gen, target)));
    ir::Op* store = GenStore(gen, target, value, mask);
    if (assign.appends) store->SetAttr(ir::MakeAttr<ir::AttrKey::Append>(1));
  });
}

/// Returns the kind of update that an assignment operator performs. `-=` adds the negated value. For floats
/// and for wrapping integers, this gives the same bits.
ir::UpdateKind UpdateKindOf(syntax::AssignOp op) {
  using syntax::AssignOp;
  static constexpr std::pair<AssignOp, ir::UpdateKind> kRows[] = {
      {AssignOp::Set, ir::UpdateKind::Set},    {AssignOp::Add, ir::UpdateKind::Add},
      {AssignOp::Sub, ir::UpdateKind::Add},    {AssignOp::Mul, ir::UpdateKind::Mul},
      {AssignOp::Max, ir::UpdateKind::Max},    {AssignOp::Min, ir::UpdateKind::Min},
      {AssignOp::BitAnd, ir::UpdateKind::And}, {AssignOp::BitOr, ir::UpdateKind::Or},
      {AssignOp::BitXor, ir::UpdateKind::Xor}};
  for (const auto& [known, how] : kRows) {
    if (known == op) return how;
  }
  KDL_UNREACHABLE("unexpected update '{}'", Spelling(op));
}

/// Generates an `atomic` or `reduce` statement.
void UpdateElements(FunctionGen& gen, const syntax::AssignStmt& assign) {
  bool atomic = assign.mode == syntax::AssignMode::Atomic;
  Where(gen, assign.condition, [&](Value* mask) {
    Value* value = GenExpr(gen, assign.value);
    if (assign.op == syntax::AssignOp::Sub) value = gen.builder.Unary(ir::OpKind::Neg, value);
    GenUpdateOf(gen, syntax::As<syntax::IndexExpr>(assign.target), value, mask,
                UpdateKindOf(assign.op), atomic ? ir::ScopeKind::Launch : ir::ScopeKind::Group);
  });
}

/// Generates an assignment to a part of a tile. The old part is read even if its value is not needed, because
/// an out-of-bounds index must trap.
void AssignPart(FunctionGen& gen, const syntax::AssignStmt& assign,
                const syntax::IndexExpr& target) {
  const sema::Entity* var = gen.Info(&target).entity;
  Value* before = GenTilePart(gen, target);
  Value* value = assign.op == syntax::AssignOp::Set ? GenExpr(gen, assign.value)
                                                    : GenUpdate(gen, assign, Widen(gen, before));
  Value* present = gen.values.at(var);
  Value* stored = AsDeclared(gen, GenWithPart(gen, target, present, value), var->type);
  if (Value* mask = gen.AssignMask()) stored = gen.builder.Select(mask, stored, present);
  Bind(gen, var, stored);
}

void GenAssign(FunctionGen& gen, const syntax::AssignStmt& assign) {
  if (assign.mode != syntax::AssignMode::Plain) return UpdateElements(gen, assign);
  const auto* target = syntax::DynAs<syntax::IndexExpr>(assign.target);
  const sema::Entity* var = gen.Info(assign.target).entity;
  if (gen.tiles && gen.tiles->values.contains(var))
    return target ? GenTilePartAssign(gen, assign, *target) : GenTileAssign(gen, assign, var);
  if (target && gen.Info(target).part) return AssignPart(gen, assign, *target);
  if (target) return AssignElements(gen, assign, *target);
  AssignVar(gen, assign, var);
}

/// In a kernel, generates a push, a pop whose tile is unused, or a call of a fn that contains pushes or pops.
/// In a program, generates a call of a program or of a function of whole tensors.
void GenCallStmt(FunctionGen& gen, const syntax::CallStmt& stmt) {
  if (gen.function.kind == ir::FunctionKind::Program) {
    if (std::optional<sema::Checkpoint> checkpoint = sema::FindCheckpoint(gen.checked, &stmt))
      return GenCheckpoint(gen, *checkpoint);
    const sema::StmtInfo& done = gen.checked.Info(&stmt);
    return done.launch ? GenProgramCall(gen, *done.launch) : GenTensorCall(gen, *done.tensors);
  }
  const syntax::CallExpr& call = *stmt.call;
  const sema::ExprInfo& info = gen.Info(&call);
  if (info.callee) {
    GenFnCall(gen, call, info);
  } else if (info.pipe->pushes) {
    GenPush(gen, *info.pipe, call.span);
  } else {
    GenPop(gen, *info.pipe, call.span);
  }
}

/// Generates a `return`. A fn has only one, at its end.
void GenReturn(FunctionGen& gen, const syntax::ReturnStmt& statement) {
  if (gen.tiles) return GenTileReturn(gen, statement.value);
  std::vector<Value*> values = AsDeclaredParts(gen, statement.value, gen.checked.result);
  if (gen.contract) {
    gen.returned = std::move(values);
    return;
  }
  gen.builder.Create(ir::OpKind::Return, {values}, {});
}

void GenStmt(FunctionGen& gen, const syntax::Stmt* stmt) {
  switch (stmt->kind) {
    case syntax::StmtKind::Let:
      GenLet(gen, syntax::As<syntax::LetStmt>(stmt));
      break;
    case syntax::StmtKind::Assign:
      GenAssign(gen, syntax::As<syntax::AssignStmt>(stmt));
      break;
    case syntax::StmtKind::Block:
      GenBlock(gen, syntax::As<syntax::BlockStmt>(stmt));
      break;
    case syntax::StmtKind::If:
      GenIf(gen, syntax::As<syntax::IfStmt>(stmt));
      break;
    case syntax::StmtKind::For:
      GenFor(gen, syntax::As<syntax::ForStmt>(stmt));
      break;
    case syntax::StmtKind::While:
      GenWhile(gen, syntax::As<syntax::WhileStmt>(stmt));
      break;
    case syntax::StmtKind::Assert:
      GenAssert(gen, syntax::As<syntax::AssertStmt>(stmt));
      break;
    case syntax::StmtKind::Print:
      GenPrint(gen, syntax::As<syntax::PrintStmt>(stmt));
      break;
    case syntax::StmtKind::Break:
      GenBreak(gen);
      break;
    case syntax::StmtKind::Continue:
      GenContinue(gen);
      break;
    case syntax::StmtKind::Range:
      GenRange(gen, syntax::As<syntax::RangeStmt>(stmt));
      break;
    case syntax::StmtKind::Domain:
      GenDomain(gen, gen.checked.Info(stmt).entities.at(0));
      break;
    case syntax::StmtKind::Pipe:
      GenPipe(gen, gen.checked.Info(stmt).entities.at(0));
      break;
    case syntax::StmtKind::Stage:
      GenStage(gen, syntax::As<syntax::StageStmt>(stmt));
      break;
    case syntax::StmtKind::Call:
      GenCallStmt(gen, syntax::As<syntax::CallStmt>(stmt));
      break;
    case syntax::StmtKind::Return:
      GenReturn(gen, syntax::As<syntax::ReturnStmt>(stmt));
      break;
    case syntax::StmtKind::View:
      GenView(gen, syntax::As<syntax::ViewStmt>(stmt));
      break;
    case syntax::StmtKind::Sync:
      gen.builder.Create(ir::OpKind::Sync, {}, {});
      break;
    case syntax::StmtKind::Expect:
      return GenExpect(gen, *stmt);
    case syntax::StmtKind::Launch:
      GenLaunch(gen, syntax::As<syntax::LaunchStmt>(stmt));
      break;
  }
}

}  // namespace

void GenBlock(FunctionGen& gen, const syntax::BlockStmt& block) {
  if (block.unrolled) return GenUnrolled(gen, block);
  if (block.fused) return GenFuse(gen, block);
  GenStmts(gen, block.stmts);
}

void GenStmts(FunctionGen& gen, std::span<const syntax::Stmt* const> stmts) {
  for (size_t i = 0; i < stmts.size(); ++i) {
    LocScope loc(gen, stmts[i]->span);
    GenStmt(gen, stmts[i]);
    bool more = i + 1 < stmts.size();
    if (more && Jumps(stmts[i])) return GenRest(gen, stmts.subspan(i + 1));
  }
}

}  // namespace kdl::irgen
