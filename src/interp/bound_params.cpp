#include "interp/bound_params.h"

#include <fmt/format.h>

#include <utility>

#include "ir/ring.h"

namespace kdl::interp {

void BoundParams::ApplyTo(Machine& machine) const {
  for (const auto& [param, bits] : scalars) machine.BindScalar(param, bits);
  for (const auto& [param, tensor] : tensors) machine.BindTensor(param, tensor);
  if (workspace) machine.BindWorkspace(workspace->first, workspace->second);
}

Result<BoundParams> BindParams(const ir::Function& function, const SizeValues& sizes,
                               std::vector<TensorValue> tensors,
                               const std::vector<uint64_t>& scalars) {
  BoundParams bound;
  for (size_t i = 0; i < function.dims.size(); ++i) {
    bound.scalars.emplace_back(i, static_cast<uint64_t>(*sizes.Find(function.dims[i])));
  }
  size_t tensor = 0;
  size_t scalar = 0;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ir::Param& param = function.params[i];
    ir::Type type = param.value->type();
    size_t number = function.dims.size() + i;
    if (type->kind == ir::TypeKind::Tensor) {
      if (tensors[tensor].scalar != type->scalar) {
        return Failure{fmt::format("parameter {} of '{}' needs {}, but {} is given",
                                   SpellingOf(param), function.base_name(), Spelling(type->scalar),
                                   Spelling(tensors[tensor].scalar))};
      }
      bound.tensors.emplace_back(number, std::move(tensors[tensor++]));
    } else if (type->kind == ir::TypeKind::Workspace) {
      bound.workspace.emplace(number, ir::Footprint(function));
    } else {
      if (scalar == scalars.size())
        return Failure{
            fmt::format("'{}' needs a value for {}", function.base_name(), SpellingOf(param))};
      bound.scalars.emplace_back(number, scalars[scalar++]);
    }
  }
  if (scalar != scalars.size()) {
    return Failure{fmt::format("'{}' has {} scalars, but {} are given", function.base_name(),
                               scalar, scalars.size())};
  }
  return bound;
}

}  // namespace kdl::interp
