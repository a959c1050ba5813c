#include "irgen/statements/flow.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "irgen/contracts/parts.h"
#include "irgen/programs/checkpoints.h"
#include "irgen/statements/loop_bounds.h"
#include "irgen/walk/carried.h"
#include "irgen/walk/generate.h"
#include "sema/model/ast_walk.h"

// Generates `while`, `break` and `continue`. A jump sets a bool to false. The statements after the jump, and
// the next iteration, are executed only if this bool is true. In kernels, these statements are placed in an
// `if` op. In a fn that is applied to each element of a tile, each element takes its own path, so the
// statements are guarded like the branches of an `if` statement.

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

bool Contains(const syntax::Stmt* stmt, syntax::StmtKind jump);

bool AnyContains(const syntax::BlockStmt& block, syntax::StmtKind jump) {
  return std::any_of(block.stmts.begin(), block.stmts.end(),
                     [&](const syntax::Stmt* inner) { return Contains(inner, jump); });
}

/// Returns whether `stmt` contains a jump that leaves an enclosing loop, rather than a loop in `stmt`.
bool Contains(const syntax::Stmt* stmt, syntax::StmtKind jump) {
  if (!stmt) return false;
  if (stmt->kind == jump) return true;
  if (const auto* block = syntax::DynAs<syntax::BlockStmt>(stmt))
    return !block->unrolled && AnyContains(*block, jump);
  const auto* branch = syntax::DynAs<syntax::IfStmt>(stmt);
  return branch && (Contains(branch->then_block, jump) || Contains(branch->else_stmt, jump));
}

/// Creates a bool that a jump sets to false. Its number is larger than that of every variable in the source,
/// so that it comes last in lists of variables, which are sorted by number.
const sema::Entity* NewFlag(FunctionGen& gen, std::string_view name) {
  auto number = static_cast<uint32_t>(gen.flow_entities.size());
  sema::Entity flag{};
  flag.kind = sema::EntityKind::Var;
  flag.name = gen.module.context().names.Intern(name);
  flag.number = UINT32_MAX - number;
  gen.flow_entities.push_back(std::move(flag));
  return &gen.flow_entities.back();
}

void MakeFalse(FunctionGen& gen, const sema::Entity* flag) {
  if (!flag) return;
  Value*& value = gen.values.at(flag);
  Value* mask = gen.AssignMask();
  value =
      mask ? gen.builder.And(value, gen.builder.Unary(OpKind::Not, mask)) : gen.builder.Bool(false);
}

/// In a fn that is applied to each element of a tile, returns the condition under which an element enters a
/// loop.
Value* Begins(FunctionGen& gen, Value* condition) {
  Value* mask = gen.Maps() ? gen.Mask() : nullptr;
  return mask ? gen.builder.And(mask, condition) : condition;
}

/// Generates a `while` that carries `inits` and then `vars`. The callback `iteration` generates one
/// iteration: it receives the current values of `inits` and returns their next values.
void GenIterations(
    FunctionGen& gen, std::vector<Value*> inits, const Vars& vars,
    const std::function<std::vector<Value*>(const std::vector<Value*>&)>& iteration) {
  size_t own = inits.size();
  std::vector<Value*> carried = Present(gen, vars);
  inits.insert(inits.end(), carried.begin(), carried.end());
  ir::Op* op = gen.builder.Create(OpKind::While, {inits}, ValueTypes(inits));
  std::vector<Value*> params;
  for (size_t i = 0; i < own; ++i)
    params.push_back(gen.builder.AddParam(op->region(), inits[i]->type(), Name()));
  SetName(params[0], gen.module.context().names.Intern("go"));
  CarryInto(gen, op->region(), vars, carried);
  gen.builder.SetInsertionPoint(op->region());
  std::vector<FunctionGen::Guard> around;
  if (gen.Maps()) {
    std::swap(around, gen.guards);
    gen.guards.push_back({params[0], false, true});
  }
  std::vector<Value*> next = iteration(params);
  std::vector<Value*> last = Present(gen, vars);
  next.insert(next.end(), last.begin(), last.end());
  gen.builder.Create(OpKind::Yield, {next}, {});
  if (gen.Maps()) std::swap(around, gen.guards);
  gen.builder.SetInsertionPoint(op->parent_region());
  TakeResults(gen, vars, op, own);
}

}  // namespace

bool Jumps(const syntax::Stmt* stmt) {
  return Contains(stmt, syntax::StmtKind::Break) || Contains(stmt, syntax::StmtKind::Continue);
}

void OpenLoop(FunctionGen& gen, const syntax::BlockStmt& body) {
  FunctionGen::LoopFlow flow;
  if (AnyContains(body, syntax::StmtKind::Break)) flow.stays = NewFlag(gen, "stays");
  if (AnyContains(body, syntax::StmtKind::Continue)) flow.live = NewFlag(gen, "live");
  if (flow.stays) gen.values[flow.stays] = gen.builder.Bool(true);
  gen.loops.push_back(flow);
}

void CloseLoop(FunctionGen& gen) {
  gen.values.erase(gen.loops.back().stays);
  gen.values.erase(gen.loops.back().live);
  gen.loops.pop_back();
}

void GenIteration(FunctionGen& gen, const syntax::BlockStmt& body) {
  if (const sema::Entity* live = gen.loops.back().live) gen.values[live] = gen.builder.Bool(true);
  GenBlock(gen, body);
}

void GenBreak(FunctionGen& gen) {
  MakeFalse(gen, gen.loops.back().stays);
  MakeFalse(gen, gen.loops.back().live);
}

void GenContinue(FunctionGen& gen) { MakeFalse(gen, gen.loops.back().live); }

namespace {

/// Generates the statements of `rest` with `gen_rest`, such that they take effect only if the condition is
/// true.
void GenUnder(FunctionGen& gen, Value* condition, std::span<const syntax::Stmt* const> rest,
              const std::function<void()>& gen_rest) {
  if (gen.Maps()) {
    gen.guards.push_back({condition, false});
    gen_rest();
    gen.guards.pop_back();
    return;
  }
  Vars vars = AssignedOutside(gen, rest);
  std::vector<Value*> before = Present(gen, vars);
  ir::Op* op = gen.builder.Create(OpKind::If, {{condition}}, ValueTypes(before));
  gen.builder.SetInsertionPoint(op->region(0));
  gen_rest();
  Yield(gen, vars);
  gen.builder.SetInsertionPoint(op->region(1));
  gen.builder.Create(OpKind::Yield, {before}, {});
  gen.builder.SetInsertionPoint(op->parent_region());
  TakeResults(gen, vars, op);
}

/// Generates the remaining iterations of a loop over a list. Each iteration is a copy of the loop's body.
void GenCopies(FunctionGen& gen, std::span<const syntax::Stmt* const> copies) {
  if (copies.empty()) return;
  GenIteration(gen, syntax::As<syntax::BlockStmt>(copies[0]));
  copies = copies.subspan(1);
  gen.values.erase(gen.loops.back().live);  // the next iteration has its own bool
  const sema::Entity* stays = gen.loops.back().stays;
  if (!stays) return GenCopies(gen, copies);
  GenUnder(gen, gen.values.at(stays), copies, [&] { GenCopies(gen, copies); });
}

}  // namespace

void GenRest(FunctionGen& gen, std::span<const syntax::Stmt* const> rest) {
  Value* condition = gen.values.at(gen.loops.back().AfterJump());
  GenUnder(gen, condition, rest, [&] { GenStmts(gen, rest); });
}

void GenUnrolled(FunctionGen& gen, const syntax::BlockStmt& copies) {
  OpenLoop(gen, copies);
  GenCopies(gen, copies.stmts);
  CloseLoop(gen);
}

namespace {

/// Returns the condition for another iteration. `go_on` is evaluated only if no `break` has left the loop.
Value* GenGoesOn(FunctionGen& gen, const std::function<Value*()>& go_on) {
  const sema::Entity* stays = gen.loops.back().stays;
  if (!stays) return go_on();
  Value* flag = gen.values.at(stays);
  if (gen.contract) {
    return GenChoice(
        gen, flag, {Scalar::Bool}, [&] { return std::vector{go_on()}; },
        [&] { return std::vector{gen.builder.Bool(false)}; })[0];
  }
  gen.guards.push_back({flag, false});
  Value* again = go_on();
  gen.guards.pop_back();
  return gen.builder.And(flag, again);
}

}  // namespace

void GenWhile(FunctionGen& gen, const syntax::WhileStmt& loop) {
  OpenLoop(gen, *loop.body);
  auto condition = [&] { return GenExpr(gen, loop.condition); };
  Value* continues = GenRestore(gen, *loop.body, loop.condition);
  Value* first = Begins(gen, condition());
  // The condition was true when the checkpoint was written. It may need tensors that are not part of the checkpoint.
  if (continues) first = gen.builder.Or(continues, first);
  const sema::Entity* stays = gen.loops.back().stays;
  Vars vars = CarriedBy(gen, *loop.body);
  if (stays) std::erase(vars, stays);
  GenIterations(gen, {first}, vars, [&](const std::vector<Value*>&) -> std::vector<Value*> {
    if (stays) gen.values[stays] = gen.builder.Bool(true);
    GenIteration(gen, *loop.body);
    return {GenGoesOn(gen, condition)};
  });
  CloseLoop(gen);
}

void GenMappedFor(FunctionGen& gen, const syntax::ForStmt& loop, size_t depth) {
  const Vars& binders = gen.checked.Info(&loop).entities;
  if (depth == binders.size()) return GenIteration(gen, *loop.body);
  ir::Builder& b = gen.builder;
  LoopBounds bounds = GenLoopBounds(gen, binders[depth]);
  Value* step = bounds.step ? bounds.step : b.I64(1);
  Value* first = Begins(gen, b.Lt(bounds.lo, bounds.hi));
  Vars vars = CarriedBy(gen, *loop.body);
  GenIterations(gen, {first, bounds.lo}, vars, [&](const std::vector<Value*>& params) {
    Value* index = params[1];
    SetName(index, binders[depth]->name);
    gen.values[binders[depth]] = index;
    GenMappedFor(gen, loop, depth + 1);
    // Compares the remaining distance rather than the next index, which may overflow 64 bits.
    Value* left = b.Cast(b.Sub(bounds.hi, index), Scalar::U64);
    Value* more = b.Gt(left, b.Cast(step, Scalar::U64));
    Value* again = GenGoesOn(gen, [&] { return more; });
    return std::vector<Value*>{again, b.Add(index, step)};
  });
}

}  // namespace kdl::irgen
