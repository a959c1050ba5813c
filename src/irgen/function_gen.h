#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::irgen {

/// What a loop walks.
struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  ir::Value* step;  ///< null: 1, or blocks
};

struct ContractScope;
struct FnTiles;

/// What one function's generation shares: where ops go, and what each source name stands for at this point.
/// Narrow floats: a value under a name, in a tensor or passed to a fn has its own type; the value of an expression is
/// the f32 that it computes in (see Widen and Round).
struct FunctionGen {
  const sema::CheckedFunction& checked;
  const SourceManager& sources;
  ir::Module& module;
  ir::Function& function;
  ir::Builder builder;

  /// Lets, vars, parameters, scalar binders, tensors: the present value.
  std::unordered_map<const sema::Entity*, ir::Value*> values;
  /// Lets, vars and parameters that are tuples: the values of their parts.
  std::unordered_map<const sema::Entity*, std::vector<ir::Value*>> tuples;
  std::unordered_map<const sema::Entity*, ir::Value*> blks;  ///< of the ranges in scope
  std::unordered_map<const sema::Entity*, ir::AxisId> axes;
  /// Of a domain, by dimension: made where it is declared.
  std::unordered_map<const sema::Entity*, std::vector<LoopBounds>> domains;

  /// The conditions of the `if` expressions around: elements for which one does not hold must not trap. In a loop of a fn
  /// that is mapped the first one is the loop's own, which stands for all around it.
  struct Guard {
    ir::Value* condition;
    bool negated;
    bool of_loop = false;
    ir::Value* mask = nullptr;    ///< this and all outer guards; made at first need
    ir::Value* inside = nullptr;  ///< the same without the loop's own
  };
  std::vector<Guard> guards;
  ir::Contracts* contracts = nullptr;  ///< of a test: what its ops expect
  ContractScope* contract =
      nullptr;               ///< of a clause, and of the fns in it; null: this is no contract
  FnTiles* tiles = nullptr;  ///< of a fn with ranges whose body is a part of a clause; else null
  std::vector<ir::Value*> returned = {};  ///< by another fn whose body is

  /// Of a loop that `break` or `continue` may leave: bools that statements behind these are under. They are carried like
  /// the source's own vars.
  struct LoopFlow {
    const sema::Entity* stays = nullptr;  ///< no `break` yet; null: there is none in the loop
    const sema::Entity* live = nullptr;   ///< neither, in this turn; null: there is no `continue`
    const sema::Entity* AfterJump() const { return live ? live : stays; }
  };
  std::vector<LoopFlow> loops = {};  ///< around, innermost last
  /// Of a program: what size names of the source stand for where this is another size: those of a called program, and
  /// numbers that it makes sizes of.
  std::unordered_map<Name, Size> sizes = {};
  std::deque<sema::Entity> flow_entities = {};

  const sema::ExprInfo& Info(const syntax::Expr* expr) const { return checked.Info(expr); }
  ir::Loc LocOf(Span span) const;
  Name TextOf(Span span) const;
  Size Bound(Size size) const;  ///< with what its names stand for
  ir::AxisId AxisOf(const sema::Entity* range);
  std::vector<ir::AxisId> AxesOf(const std::vector<const sema::Entity*>& ranges);
  ir::Value* Mask();  ///< null: no guard
  ir::Value*
  AssignMask();  ///< where an assignment takes effect: a loop keeps what has ended by itself
  /// A fn that may be mapped: what depends on an element is selected, not branched on.
  bool Maps() const { return function.kind == ir::FunctionKind::Fn && !checked.HasPipes(); }
  /// What a value of the type is made in: in a contract every float is an f64.
  Scalar Made(Scalar scalar) const { return contract && IsFloat(scalar) ? Scalar::F64 : scalar; }
};

/// Puts a location on the builder for the life of the object.
class LocScope {
 public:
  LocScope(FunctionGen& gen, Span span) : gen_(gen), outer_(gen.builder.loc()) {
    gen.builder.set_loc(gen.LocOf(span));
  }
  ~LocScope() { gen_.builder.set_loc(outer_); }
  LocScope(const LocScope&) = delete;
  LocScope& operator=(const LocScope&) = delete;

 private:
  FunctionGen& gen_;
  ir::Loc outer_;
};

// values.cpp: narrow floats and names
ir::Value* Widen(FunctionGen& gen, ir::Value* value);
ir::Value* Round(FunctionGen& gen, ir::Value* value, Scalar scalar);
void SetName(ir::Value* value, Name name);
/// Of a value its scalar type, of a tuple that of each part.
std::vector<sema::Type> PartTypes(const sema::Type& type);

// expressions.cpp
/// The value that the expression computes in: f32 where its type is a narrow float.
ir::Value* GenExpr(FunctionGen& gen, const syntax::Expr* expr);
/// The same of each part of a tuple; of another expression its one value.
std::vector<ir::Value*> GenParts(FunctionGen& gen, const syntax::Expr* expr);
/// Rounded to the expression's own type.
ir::Value* GenRounded(FunctionGen& gen, const syntax::Expr* expr);
/// The parts, or the one value, rounded to the scalars of `type`.
std::vector<ir::Value*> RoundedParts(FunctionGen& gen, const syntax::Expr* expr,
                                     const sema::Type& type);
/// Whether a call of the fn may trap.
bool MayTrap(const ir::Function& fn, const ir::Module& module);
/// A size as i64.
ir::Value* GenSize(FunctionGen& gen, Size size);
/// An integer expression as i64.
ir::Value* GenIndex(FunctionGen& gen, const syntax::Expr* expr);

/// The values that a call of a fn computes in: one for each part of the result, none where the fn has no result.
std::vector<ir::Value*> GenFnCall(FunctionGen& gen, const syntax::CallExpr& call,
                                  const sema::ExprInfo& info);
/// The same, where `given` is what the arguments of the source are.
std::vector<ir::Value*> GenCallOf(FunctionGen& gen, const sema::CheckedFunction& callee,
                                  const sema::CallInfo& bound,
                                  const std::vector<ir::Value*>& given);
/// Of a fn of the library, which takes and gives numbers.
ir::Value* GenLibraryCall(FunctionGen& gen, const sema::CheckedFunction& callee,
                          std::vector<ir::Value*> args);

// arithmetic.cpp
/// `lhs op rhs` with the language's fma rule; either side may be a product that is contracted.
ir::Value* GenBinary(FunctionGen& gen, const syntax::BinaryExpr& binary);
/// `target + e`, `target - e` … of an assignment, by the same rule.
ir::Value* GenUpdate(FunctionGen& gen, const syntax::AssignStmt& assign, ir::Value* target);
/// `a / b` or `a % b`, an OpKind, of integers or floats; where an `if` expression around does not hold, it does not trap.
ir::Value* GenQuotient(FunctionGen& gen, ir::OpKind kind, ir::Value* a, ir::Value* b, Span span);

/// Removes pure ops that nothing uses.
void DropUnused(const ir::Block* block);

// access.cpp
ir::Value* GenLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenStore(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value, ir::Value* mask);
/// `atomic t[…] op value`, `reduce t[…] op value`.
void GenUpdateOf(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value,
                 ir::Value* mask, ir::UpdateKind how, ir::ScopeKind scope);

// tensor_views.cpp
void GenView(FunctionGen& gen, const syntax::ViewStmt& view);

// tile_parts.cpp
/// `tile[k = e]`.
ir::Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr);
/// The tile with `value` in the part that `target` names.
ir::Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* tile,
                       ir::Value* value);

// reductions.cpp
/// The bits of an f32 or f64, as an integer of as many: all NaNs have the same ones.
ir::Value* BitsOf(ir::Builder& b, ir::Value* value);
ir::Value* GenReduce(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// `reduce` or `scan` with a fn: a value for each part.
std::vector<ir::Value*> GenUserFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// `into += dot(…)`, marked in place by sema.
ir::Value* GenContractInto(FunctionGen& gen, const syntax::ReduceExpr& dot, ir::Value* into);

// statements.cpp
void GenBlock(FunctionGen& gen, const syntax::BlockStmt& block);
void GenStmts(FunctionGen& gen, std::span<const syntax::Stmt* const> stmts);

// flow.cpp
void GenWhile(FunctionGen& gen, const syntax::WhileStmt& loop);
void GenBreak(FunctionGen& gen);
void GenContinue(FunctionGen& gen);
/// Whether a statement may leave the turn of the loop around it.
bool Jumps(const syntax::Stmt* stmt);
/// `body`, in a turn of a loop whose vars have been bound; what `break` and `continue` need is there.
void GenTurn(FunctionGen& gen, const syntax::BlockStmt& body);
/// The rest of a block behind a statement that jumps: it happens where that has not jumped. `vars` it assigns.
void GenRest(FunctionGen& gen, std::span<const syntax::Stmt* const> rest);
/// A loop over a list, whose turns are copies of its body.
void GenUnrolled(FunctionGen& gen, const syntax::BlockStmt& copies);
/// Enters a loop and leaves it: `break` and `continue` in its body are its own.
void OpenLoop(FunctionGen& gen, const syntax::BlockStmt& body);
void CloseLoop(FunctionGen& gen);
/// The next turn's condition where nothing has ended the loop: `go_on`, evaluated only there.
ir::Value* GenGoesOn(FunctionGen& gen, const std::function<ir::Value*()>& go_on);
/// `for` in a fn that is mapped, from binder `depth` on: a `while`, since its bounds may differ by element.
void GenMappedFor(FunctionGen& gen, const syntax::ForStmt& loop, size_t depth);
/// A launch, or call, is refused unless the sizes compare so.
void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text);
/// Sets the insertion point behind what the function asks of its sizes.
void InsertAtRequirements(FunctionGen& gen);

// reduced_outputs.cpp
void FillReducedOutputs(FunctionGen& gen);

// loops.cpp
LoopBounds BoundsOf(FunctionGen& gen, const sema::Entity* binder);
void GenFor(FunctionGen& gen, const syntax::ForStmt& loop);
void GenIf(FunctionGen& gen, const syntax::IfStmt& branch);
void GenDomain(FunctionGen& gen, const sema::Entity* domain);

// watch.cpp
void GenAssert(FunctionGen& gen, const syntax::AssertStmt& assertion);
void GenPrint(FunctionGen& gen, const syntax::PrintStmt& print);

// pipes.cpp
void GenPipe(FunctionGen& gen, const sema::Entity* pipe);
void GenStage(FunctionGen& gen, const syntax::StageStmt& stage);
void GenPush(FunctionGen& gen, const sema::PipeInfo& push, Span span);
/// The tile, as it lies in the pipe.
ir::Value* GenPop(FunctionGen& gen, const sema::PipeInfo& pop, Span span);

// programs.cpp
ir::Value* GenHostLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
void GenHostStore(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value);
/// An index of a program's tensor: the sum of its terms.
ir::Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim);
ir::Value* GenDeviceCores(FunctionGen& gen, const sema::Entity* device);

// slices.cpp
/// A tensor of a program that an expression names, or is a part of.
ir::Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr);

// devices.cpp
/// The device's name in the module, which has it from then on.
Name NameOfDevice(ir::Module& module, const sema::Entity& device);
/// Of what stands `on` it; null: nothing says where, an empty name unless the function's file does.
Name DeviceNameOf(FunctionGen& gen, const sema::Entity* device);
void GenLaunch(FunctionGen& gen, const syntax::LaunchStmt& launch);
/// A called program becomes a part of its caller.
void GenProgramCall(FunctionGen& gen, const sema::LaunchInfo& call);
/// The `x to d` of a launch or call.
void GenMoves(FunctionGen& gen, const sema::LaunchInfo& launch);
/// A parameter lives on its device at the call.
void GenLives(FunctionGen& gen, const sema::Entity* param);
/// From here on the tensor lives there.
void GenMoveTo(FunctionGen& gen, ir::Value* tensor, const sema::Entity* device,
               std::string_view cause);
/// `copy(from, to);`, `swap(a, b);`.
void GenTensorCall(FunctionGen& gen, const sema::TensorCallInfo& call);
/// A size name that the function has not used yet.
Name FreshSizeName(FunctionGen& gen, Name wanted);
/// Makes a size of a number, where tensors have such a size.
void GenSizeName(FunctionGen& gen, const sema::Entity* number);
/// The `where` clauses: what launches and calls check.
void GenRequirements(FunctionGen& gen);
void GenExpect(FunctionGen& gen, const syntax::Stmt& statement);
/// Fills a tensor of a test with the numbers of a seed.
void GenFill(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* value);
void GenRandom(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* seed);
void GenLocalTensor(FunctionGen& gen, const sema::Entity* tensor, Span span);

}  // namespace kdl::irgen
