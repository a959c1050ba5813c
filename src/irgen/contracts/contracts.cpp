#include "irgen/contracts/contracts.h"

#include <fmt/format.h>

#include <utility>

#include "ir/op_kind.h"
#include "irgen/contracts/carry_bounds.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/scope.h"
#include "irgen/contracts/values.h"
#include "irgen/walk/generate.h"
#include "support/check.h"

namespace kdl::irgen {

namespace {

using ir::Value;

/// Generates the clauses of one contract. A contract is the specification of a kernel: what it requires and
/// ensures.
class ClauseGen {
 public:
  ClauseGen(const sema::CheckedFunction& checked, const SourceManager& sources,
            const std::unordered_map<Name, Size>& sizes, const ArgumentNumber& argument,
            ir::Contract& contract, ir::Module& module)
      : checked_(checked),
        sources_(sources),
        sizes_(sizes),
        module_(module),
        tables_{contract, argument} {
    contract.function = checked.InstanceName();
    contract.module = &module;
  }

  void AddRequirement(const sema::RequirementInfo& info) {
    ir::Clause clause;
    clause.span = info.condition->span;
    std::string_view word = checked_.item->test ? "expects" : "requires";
    Make(clause, fmt::format("{}{}", word, tables_.contract.requirements.size()), info.free,
         [&](FunctionGen& gen, std::optional<size_t>&) {
           return std::vector{GenExpr(gen, info.condition)};
         });
    tables_.contract.requirements.push_back(std::move(clause));
  }

  void AddEquation(const sema::EquationInfo& info) {
    if (!info.listed.empty()) return AddListing(info);
    ir::Clause clause;
    clause.span = info.equation->span;
    bool defines = info.defined != nullptr;
    std::string_view word = checked_.item->test ? "expects" : "ensures";
    Make(clause, fmt::format("{}{}", word, tables_.contract.equations.size()),
         defines ? info.indices : info.free, [&](FunctionGen& gen, std::optional<size_t>& value) {
           return defines      ? Defining(gen, info, value)
                  : info.table ? ComparingElements(gen, info, value)
                               : Comparing(gen, *info.equation, value);
         });
    if (defines) AddAuxiliary(clause, *info.defined);
    tables_.contract.equations.push_back(std::move(clause));
  }

 private:
  /// Adds two clauses for a comparison with a list: one defines which elements the list has, and the other computes them.
  void AddListing(const sema::EquationInfo& info) {
    ir::Clause selecting;
    selecting.span = info.equation->span;
    size_t number = tables_.contract.equations.size();
    Make(selecting, fmt::format("ensures{}", number), info.listed,
         [&](FunctionGen& gen, std::optional<size_t>&) -> std::vector<Value*> {
           const syntax::Expr* condition = info.equation->condition;
           return {condition ? GenExpr(gen, condition) : gen.builder.Bool(true)};
         });
    Names& names = module_.context().names;
    uint32_t selects = AddAuxiliary(selecting, names.Intern("selected"), Scalar::Bool);
    tables_.contract.equations.push_back(std::move(selecting));
    ir::Clause listing;
    listing.span = info.equation->span;
    IndexNames free = info.listed;
    free.insert(free.end(), info.indices.begin(), info.indices.end());
    Make(listing, fmt::format("ensures{}", number + 1), free,
         [&](FunctionGen& gen, std::optional<size_t>& value) {
           listing.selects = selects;
           return Listing(gen, info, value);
         });
    tables_.contract.equations.push_back(std::move(listing));
  }

  /// Generates the function of one clause. `values` generates the clause's results, and returns which of them
  /// has an error bound.
  template <class MakeValues>
  void Make(ir::Clause& clause, const std::string& name, const IndexNames& free,
            const MakeValues& values) {
    ir::Module scratch(module_.context());
    Names& names = scratch.context().names;
    Name unique = names.Intern(fmt::format("{}.{}", tables_.contract.function, name));
    for (int i = 1; module_.FindFunction(unique); ++i)
      unique = names.Intern(fmt::format("{}.{}.{}", tables_.contract.function, name, i));
    DoingScope doing(fmt::format("generating KIR of '{}'", unique.text()));
    clause.function = scratch.AddFunction(ir::FunctionKind::Contract, unique);
    ContractScope scope{tables_, clause};
    FunctionGen gen{checked_,
                    sources_,
                    scratch,
                    *clause.function,
                    ir::Builder(scratch, clause.function->body),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
    gen.contract = &scope;
    gen.sizes = sizes_;
    clause.function->loc = gen.LocOf(clause.span);
    gen.builder.set_loc(clause.function->loc);
    for (const sema::Entity* index : free) {
      auto number = static_cast<uint32_t>(clause.free.size());
      clause.free.push_back({index->name, gen.Bound(index->range.domain)});
      gen.values[index] = AddContractParam(gen, gen.builder.I64Type(), index->name,
                                           {ir::ContractInput::Index, number});
      scope.around.push_back(index);
    }
    std::optional<size_t> value;
    std::vector<Value*> results = values(gen, value);
    if (value && !IsFloat(results[*value]->type()->scalar)) value.reset();
    gen.builder.Create(ir::OpKind::Return, {results}, {});
    CarryBounds(clause, value, module_);
  }

  static std::vector<Value*> Defining(FunctionGen& gen, const sema::EquationInfo& info,
                                      std::optional<size_t>& value) {
    value = 0;
    Scalar scalar = gen.Made(info.defined->type.scalar);
    return {gen.builder.Cast(GenExpr(gen, info.equation->rhs), scalar)};
  }

  static std::vector<Value*> Comparing(FunctionGen& gen, const syntax::Equation& equation,
                                       std::optional<size_t>& value) {
    const sema::IndexInfo& left = *gen.Info(equation.lhs).index;
    ir::Clause& clause = gen.contract->clause;
    clause.compares = gen.contract->tables.argument(left.base);
    clause.compared = left.base->name;
    // If the right side reads only f64 tensors, the kernel is expected to compute in f64, and the tolerance
    // is smaller. Reading the left side, which is the output, must not change this, so the flag is restored.
    std::vector<Value*> right = {GenExpr(gen, equation.rhs)};
    bool reads_narrow = clause.reads_narrow;
    std::vector<Value*> results = {GenExpr(gen, equation.lhs)};
    clause.reads_narrow = reads_narrow;
    for (const sema::IndexDim& dim : left.dims) results.push_back(GenDimIndex(gen, dim));
    results.push_back(right[0]);
    AddTolerances(gen, equation, results, value);
    return results;
  }

  /// Compares each element of a tensor with the element of the table that has the same index.
  static std::vector<Value*> ComparingElements(FunctionGen& gen, const sema::EquationInfo& info,
                                               std::optional<size_t>& value) {
    ir::Clause& clause = gen.contract->clause;
    clause.compares = gen.contract->tables.argument(info.output);
    clause.compared = info.output->name;
    clause.is_exact = info.equation->exact;
    SizeTable& sizes = gen.module.types().sizes();
    sema::IndexInfo place;
    std::vector<Value*> results(1);
    for (const sema::Entity* name : info.free) {
      place.dims.push_back({{{sizes.Constant(1), name, nullptr}}, sizes.Constant(0), {}});
      results.push_back(gen.values.at(name));
    }
    results[0] = GenContractElement(gen, info.output, place, info.equation->lhs->span);
    results.push_back(GenContractElement(gen, info.table, place, info.equation->rhs->span));
    AddTolerances(gen, *info.equation, results, value);
    return results;
  }

  static std::vector<Value*> Listing(FunctionGen& gen, const sema::EquationInfo& info,
                                     std::optional<size_t>& value) {
    const syntax::Equation& equation = *info.equation;
    ir::Clause& clause = gen.contract->clause;
    clause.compares = gen.contract->tables.argument(info.output);
    clause.compared = info.output->name;
    clause.counter = gen.contract->tables.argument(info.count);
    clause.is_exact = equation.exact;
    Scalar scalar = gen.Made(info.output->type.scalar);
    std::vector<Value*> results = {gen.builder.Cast(GenExpr(gen, equation.rhs), scalar)};
    AddTolerances(gen, equation, results, value);
    return results;
  }

  /// Adds the stated tolerances to the results of a clause, or says that the expected value, which is the last result, has
  /// an error bound.
  static void AddTolerances(FunctionGen& gen, const syntax::Equation& equation,
                            std::vector<Value*>& results, std::optional<size_t>& value) {
    ir::Clause& clause = gen.contract->clause;
    clause.has_rtol = equation.rtol != nullptr;
    clause.has_atol = equation.atol != nullptr;
    if (!clause.has_rtol && !clause.has_atol) value = results.size() - 1;
    for (const syntax::Expr* tolerance : {equation.rtol, equation.atol}) {
      if (tolerance) results.push_back(gen.builder.Cast(GenExpr(gen, tolerance), Scalar::F64));
    }
  }

  void AddAuxiliary(ir::Clause& clause, const sema::Entity& entity) {
    tables_.auxiliaries[&entity] = AddAuxiliary(clause, entity.name, entity.type.scalar);
  }

  uint32_t AddAuxiliary(ir::Clause& clause, Name name, Scalar scalar) {
    auto number = static_cast<uint32_t>(tables_.contract.auxiliaries.size());
    clause.defines = number;
    ir::Auxiliary auxiliary{name, scalar, {}};
    for (const ir::ContractIndex& index : clause.free) auxiliary.dims.push_back(index.extent);
    tables_.contract.auxiliaries.push_back(std::move(auxiliary));
    return number;
  }

  const sema::CheckedFunction& checked_;
  const SourceManager& sources_;
  const std::unordered_map<Name, Size>& sizes_;
  ir::Module& module_;
  ContractTables tables_;
};

}  // namespace

ir::Contract GenerateExpectation(const sema::CheckedFunction& checked,
                                 const sema::ExpectInfo& expect, const SourceManager& sources,
                                 const std::unordered_map<Name, Size>& sizes,
                                 const ArgumentNumber& argument, ir::Module& module) {
  ir::Contract contract;
  ClauseGen clauses(checked, sources, sizes, argument, contract, module);
  if (expect.condition) clauses.AddRequirement(*expect.condition);
  if (expect.equation) clauses.AddEquation(*expect.equation);
  return contract;
}

ir::Contracts GenerateContracts(const sema::CheckedModule& checked, const SourceManager& sources,
                                ir::Context& context) {
  ir::Contracts contracts;
  contracts.module = std::make_unique<ir::Module>(context);
  const ArgumentNumber argument = [](const sema::Entity* entity) { return entity->param; };
  const std::unordered_map<Name, Size> sizes;
  for (const sema::CheckedFunction* function : checked.functions) {
    if (function->requirements.empty() && function->ensures.empty()) continue;
    contracts.list.emplace_back();
    ClauseGen clauses(*function, sources, sizes, argument, contracts.list.back(),
                      *contracts.module);
    for (const sema::RequirementInfo& info : function->requirements) clauses.AddRequirement(info);
    for (const sema::EquationInfo& info : function->ensures) clauses.AddEquation(info);
  }
  return contracts;
}

}  // namespace kdl::irgen
