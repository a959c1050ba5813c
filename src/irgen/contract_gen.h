#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/contract.h"
#include "irgen/argument_number.h"
#include "irgen/function_gen.h"

// A clause of a contract is generated as a function is, with these differences: tensors are read by element, names that it
// binds are i64 values, what a condition does not need is not evaluated, reductions are loops, and the fns that it calls are
// a part of it. What is made holds values alone: carry_bounds.h adds their bounds.
namespace kdl::irgen {

using IndexNames = std::vector<const sema::Entity*>;

/// What the clauses of one contract share.
struct ContractTables {
  ir::Contract& contract;
  const ArgumentNumber& argument;
  std::unordered_map<const sema::Entity*, uint32_t> auxiliaries = {};
};

/// One clause while it is made.
struct ContractScope {
  ContractTables& tables;
  ir::Clause& clause;
  IndexNames around = {};  ///< those that have a value here
  std::map<std::pair<const sema::Entity*, bool>, ir::Value*> tensors = {};
};

// contract_values.cpp
/// The element of a tensor or auxiliary, as the contract computes with it.
ir::Value* GenContractLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
ir::Value* GenContractName(FunctionGen& gen, const sema::ExprInfo& info);
ir::Value* GenContractLogic(FunctionGen& gen, const syntax::BinaryExpr& binary);
ir::Value* GenContractCast(FunctionGen& gen, ir::Value* operand, const sema::ExprInfo& info);
ir::Value* GenContractBuiltin(FunctionGen& gen, const syntax::CallExpr& call,
                              const sema::ExprInfo& info);
std::vector<ir::Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                        const sema::ExprInfo& info);
/// A fn whose body is a part of the clause: its sizes are known, its parameters not yet.
FunctionGen GenInner(FunctionGen& gen, const sema::CheckedFunction& callee,
                     const std::vector<Size>& sizes);
/// The body of it, at the place of `gen`.
void GenInnerBody(FunctionGen& gen, FunctionGen& inner);
/// The body of a fn of scalars as a part of the clause; what it returns.
std::vector<ir::Value*> GenInlined(FunctionGen& gen, const sema::CheckedFunction& callee,
                                   const std::vector<ir::Value*>& arguments,
                                   const std::vector<Size>& sizes);
/// One of two, of which only that one is evaluated.
using GenValues = std::function<std::vector<ir::Value*>()>;
std::vector<ir::Value*> GenChoice(FunctionGen& gen, ir::Value* condition,
                                  const std::vector<Scalar>& types, const GenValues& then,
                                  const GenValues& otherwise);
/// What the parts of a value of the type are made in.
std::vector<Scalar> MadeParts(const FunctionGen& gen, const sema::Type& type);
std::vector<ir::Value*> CastParts(FunctionGen& gen, std::vector<ir::Value*> parts,
                                  const std::vector<Scalar>& types);
/// The element of a tensor, or what `otherwise` gives where the index is outside; null: it is never.
ir::Value* GenElementOr(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                        const syntax::Expr* otherwise, Scalar scalar, Span span);
/// The index of one dimension, an i64.
ir::Value* GenDimIndex(FunctionGen& gen, const sema::IndexDim& dim);
/// A size as a scalar of this type; of an f64 no bound counts the cast.
ir::Value* GenExactSize(FunctionGen& gen, Size size, Scalar scalar);
/// A new parameter of the clause's function.
ir::Value* AddContractParam(FunctionGen& gen, ir::Type type, Name name, ir::ContractParam param);

// contract_folds.cpp
struct Kept;
/// A reduction, scan or fold with a fn: its parts.
std::vector<ir::Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce);
/// Stores what it gives for the present names; a scan does for all values of its own.
void GenFoldRow(FunctionGen& gen, const syntax::ReduceExpr& reduce, const Kept& kept);
IndexNames RowOfFold(const sema::ReduceInfo& info);

// access.cpp
/// The tensor of a constant table.
ir::Value* GenTable(FunctionGen& gen, const sema::Entity* table);
/// The element, as it lies in memory; an index outside gives `otherwise`, or a trap where that is null.
ir::Value* GenElement(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                      ir::Value* otherwise, Span span);
void GenElementStore(FunctionGen& gen, ir::Value* value, ir::Value* tensor,
                     const sema::IndexInfo& index);
// expressions.cpp
ir::Value* GenBuiltin(FunctionGen& gen, const sema::Builtin& builtin,
                      const std::vector<ir::Value*>& args, Span span);
// reductions.cpp
ir::FoldKind FoldOf(sema::ReduceKind kind);

}  // namespace kdl::irgen
