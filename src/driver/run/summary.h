#pragma once

#include <optional>
#include <string>

#include "driver/run/arguments.h"
#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// One line for each tensor that the program wrote: `y: f32[2, 2] = [[1, 2], [3, 4]]`. Tensors of more than 64 elements
/// show their first 8 in memory order: `c: f32[300, 200] = [0.5, -1, …]`. What --out wrote ends with ` -> y.npy`.
std::string Summary(const BoundProgram& program);

/// What stands after `=`.
std::string ElementsText(const HostTensor& tensor);

/// How two tensors of one type differ: how many elements, the worst of them and both values. Empty where every element
/// has the same bits, or both are NaN.
std::string Difference(const HostTensor& actual, const HostTensor& reference,
                       const std::string& name);

}  // namespace kdl::driver
