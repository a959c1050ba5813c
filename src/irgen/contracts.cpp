#include "irgen/contracts.h"

#include <utility>

#include "irgen/contract_gen.h"

namespace kdl::irgen {

void ContractGen::AddRequirement(const sema::RequirementInfo& info) {
  ir::ContractCondition condition;
  condition.span = info.condition->span;
  condition.free = Indices(info.free);
  condition.value = Gen(info.condition);
  contract_.requirements.push_back(std::move(condition));
}

void ContractGen::AddEquation(const sema::EquationInfo& info) {
  ir::ContractEquation equation;
  equation.span = info.equation->span;
  equation.free = Indices(info.defined != nullptr ? info.indices : info.free);
  equation.value = Gen(info.equation->rhs);
  if (info.defined != nullptr) {
    equation.defines = Tensor(info.defined, false);
  } else {
    equation.target = Gen(info.equation->lhs);
  }
  if (info.equation->rtol != nullptr) equation.rtol = Gen(info.equation->rtol);
  if (info.equation->atol != nullptr) equation.atol = Gen(info.equation->atol);
  contract_.equations.push_back(std::move(equation));
}

ir::Contract GenerateExpectation(const sema::CheckedFunction& checked,
                                 const sema::ExpectInfo& expect, const ArgumentNumber& argument) {
  ir::Contract contract;
  contract.function = checked.InstanceName();
  ContractGen generator(checked, argument, contract);
  if (expect.condition) generator.AddRequirement(*expect.condition);
  if (expect.equation) generator.AddEquation(*expect.equation);
  return contract;
}

std::vector<ir::Contract> GenerateContracts(const sema::CheckedModule& checked) {
  std::vector<ir::Contract> contracts;
  for (const sema::CheckedFunction* function : checked.functions) {
    if (function->requirements.empty() && function->ensures.empty()) continue;
    contracts.emplace_back();
    contracts.back().function = function->InstanceName();
    ArgumentNumber argument = [](const sema::Entity* entity) { return entity->param; };
    ContractGen generator(*function, argument, contracts.back());
    for (const sema::RequirementInfo& info : function->requirements) generator.AddRequirement(info);
    for (const sema::EquationInfo& info : function->ensures) generator.AddEquation(info);
  }
  return contracts;
}

}  // namespace kdl::irgen
