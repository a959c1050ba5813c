#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// Checks the statements in a scope of their own.
void CheckBlock(FunctionState& state, const syntax::BlockStmt& block);

/// The body of a fn, kernel or program.
void CheckBody(FunctionState& state);

/// `f32[M, 4]`, with sizes; nothing, reported, where a part is faulty.
std::optional<Type> TensorType(FunctionState& state, const syntax::TypeRef& ref);

/// A fn ends with a `return` where it has a result.
void CheckLastReturn(FunctionState& state);
/// A `return` is the last statement of its fn.
void CheckEarlyReturn(FunctionState& state, const syntax::BlockStmt& block, bool outermost);

// The kinds that have files of their own.
void CheckLet(FunctionState& state, const syntax::LetStmt& let);
void CheckReturn(FunctionState& state, const syntax::ReturnStmt& stmt);
void CheckView(FunctionState& state, const syntax::ViewStmt& view);
/// `assert` and `static_assert`.
void CheckAssert(FunctionState& state, const syntax::AssertStmt& assertion);
void CheckPrint(FunctionState& state, const syntax::PrintStmt& print);
void CheckWhile(FunctionState& state, const syntax::WhileStmt& loop);
/// `break` and `continue`.
void CheckJump(FunctionState& state, const syntax::Stmt* jump);
void CheckFor(FunctionState& state, const syntax::ForStmt& loop);
/// Decides, once all loops are known, which `@dynamic` ones hand their blocks to whoever is free.
void SettleDynamic(FunctionState& state);
void CheckRange(FunctionState& state, const syntax::RangeStmt& range);
void CheckDomain(FunctionState& state, const syntax::DomainStmt& stmt);
/// What a launch or call gives the kernel or program that it names: arguments, sizes, integer parameters. False, reported,
/// where that does not fit.
bool BindCallee(FunctionState& state, const syntax::CallExpr& call, const Entity* callee,
                LaunchInfo& launch);
/// A statement of a program that is a call of a program, `copy(from, to);` or `swap(a, b);`. False: it is none of these.
bool CheckHostCall(FunctionState& state, const syntax::CallStmt& stmt);
void CheckLaunch(FunctionState& state, const syntax::LaunchStmt& launch);
void CheckAssign(FunctionState& state, const syntax::AssignStmt& assign);

}  // namespace kdl::sema
