#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "interp/machine.h"
#include "interp/sizes.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::interp {

/// The bound parameters of a function, which can be applied to any number of machines.
struct BoundParams {
  /// Each value is paired with the index of its parameter in the function's body.
  std::vector<std::pair<size_t, uint64_t>> scalars;
  std::vector<std::pair<size_t, TensorValue>> tensors;
  /// The index of the workspace parameter, and the size of the workspace in bytes.
  std::optional<std::pair<size_t, int64_t>> workspace;

  void ApplyTo(Machine& machine) const;
};

/// Binds the sizes, tensors and scalars to the parameters. Fails if they do not fit.
Result<BoundParams> BindParams(const ir::Function& function, const SizeValues& sizes,
                               std::vector<TensorValue> tensors,
                               const std::vector<uint64_t>& scalars);

}  // namespace kdl::interp
