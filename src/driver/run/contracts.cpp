#include "driver/run/contracts.h"

#include <string_view>

#include "driver/diagnostics.h"
#include "ir/optional_params.h"

namespace kdl::driver {

namespace {

void Report(const interp::ContractFailure& failure, bool requirement, const SourceManager& sources,
            DiagnosticEngine& diagnostics) {
  if (failure.malformed) {
    diagnostics.Report(diag::ContractFault, FailureSpan(failure, sources), failure.text);
  } else if (requirement) {
    diagnostics.Report(diag::RequirementBroken, failure.span, failure.text);
  } else {
    diagnostics.Report(diag::EquationBroken, failure.span, failure.text);
  }
}

/// Whether the contract belongs to the function, or to the function of which it is a variant. For
/// example, `scale.f32.D64` is a variant of `scale.f32`.
bool IsContractOf(const ir::Contract& contract, const ir::Function& function) {
  std::string_view name = function.name.text();
  if (!name.starts_with(contract.function)) return false;
  name.remove_prefix(contract.function.size());
  return name.empty() || name.starts_with('.');
}

/// Whether the two instances of a kernel have the same optional parameters.
bool HaveSameParams(const ir::Function& a, const ir::Function& b) {
  if (a.params.size() != b.params.size()) return false;
  for (size_t p = 0; p < a.params.size(); ++p) {
    if (ir::Presence(a, a.params[p]) != ir::Presence(b, b.params[p])) return false;
  }
  return true;
}

}  // namespace

Span FailureSpan(const interp::ContractFailure& failure, const SourceManager& sources) {
  const ir::Loc& loc = failure.loc;
  if (loc.line == 0) return failure.span;
  Span found = sources.FindSpan(loc.file.text(), loc.line, loc.column, loc.length);
  return found.valid() ? found : failure.span;
}

std::optional<BoundContract> FindContract(const std::vector<ir::Contract>& contracts,
                                          const ir::Module& module, const ir::Function& function) {
  // `scale.no_bias` is another function than `scale`, so its own contract, which has the longer name, is used.
  const ir::Contract* found = nullptr;
  for (const ir::Contract& contract : contracts) {
    bool is_longer = found == nullptr || contract.function.size() > found->function.size();
    if (is_longer && IsContractOf(contract, function)) found = &contract;
  }
  if (found == nullptr) return std::nullopt;
  // All equations of an instance may be about tensors that are absent. Then it has no contract.
  for (const ir::Function* owner : module.functions()) {
    if (owner->name.text() == found->function && !HaveSameParams(*owner, function))
      return std::nullopt;
  }
  BoundContract bound{found, &module, function.dims, {}};
  for (const ir::Generic& generic : function.generics) {
    if (generic.values.size() == 1) bound.constants[generic.name] = generic.values[0];
  }
  return bound;
}

interp::ContractData EvaluatorData(const BoundContract& contract, const BoundProgram& before,
                                   const BoundProgram& after) {
  interp::ContractData data;
  for (const BoundArgument& argument : after.arguments) {
    const HostTensor& tensor = argument.tensor;
    void* memory = const_cast<std::byte*>(tensor.bytes.data());
    data.now.push_back(
        {memory, tensor.scalar, tensor.shape, interp::RowMajorStrides(tensor.shape)});
  }
  for (const BoundArgument& argument : before.arguments)
    data.old.push_back(argument.tensor.bytes.data());
  std::map<Name, int64_t> sizes = contract.constants;
  for (size_t i = 0; i < contract.dims.size(); ++i) sizes[contract.dims[i]] = after.dims[i];
  data.size = [sizes](Name name) -> std::optional<int64_t> {
    auto known = sizes.find(name);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  };
  return data;
}

bool CheckRequirements(const BoundContract& contract, const BoundProgram& before,
                       const SourceManager& sources, DiagnosticEngine& diagnostics) {
  interp::ContractData data = EvaluatorData(contract, before, before);
  auto broken = interp::BrokenRequirements(*contract.contract, data, 1);
  if (!broken.empty()) Report(broken[0], true, sources, diagnostics);
  return broken.empty();
}

bool CheckEquations(const BoundContract& contract, const BoundProgram& before,
                    const BoundProgram& after, const SourceManager& sources,
                    DiagnosticEngine& diagnostics) {
  interp::ContractData data = EvaluatorData(contract, before, after);
  auto broken = interp::BrokenEquation(*contract.contract, data);
  if (broken) Report(*broken, false, sources, diagnostics);
  return !broken;
}

}  // namespace kdl::driver
