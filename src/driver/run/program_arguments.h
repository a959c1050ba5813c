#pragma once

#include <utility>

#include "driver/run/arguments.h"
#include "interp/run.h"

namespace kdl::driver {

/// Returns the arguments with which a ProgramHost runs the program. `add` gives a tensor argument to the host and returns its
/// id, as a Result.
template <class Bound, class Add>
Result<interp::ProgramArguments> MakeProgramArguments(const ir::Function& program, Bound& bound,
                                                      Add add) {
  interp::ProgramArguments arguments;
  for (size_t d = 0; d < bound.dims.size(); ++d)
    arguments.constants.emplace(program.dims[d].str(), bound.dims[d]);
  for (auto& argument : bound.arguments) {
    if (!argument.is_tensor) {
      arguments.scalars.push_back(ElementBits(argument.tensor, 0));
      continue;
    }
    Result<interp::TensorId> id = add(argument);
    if (!id.ok()) return id.failure();
    arguments.tensors.push_back({*id, argument.tensor.scalar, argument.tensor.shape});
  }
  return arguments;
}

}  // namespace kdl::driver
