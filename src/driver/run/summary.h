#pragma once

#include <optional>
#include <string>

#include "driver/run/arguments.h"
#include "driver/run/host_tensor.h"

namespace kdl::driver {

/// Returns a line for each tensor that the program wrote, such as `y: f32[2, 2] = [[1, 2], [3,
/// 4]]`. For a tensor of more than 64 elements, the line has the first 8 in memory order: `c:
/// f32[300, 200] = [0.5, -1, …]`. If --out wrote a file, the line ends with ` -> y.npy`.
std::string Summary(const BoundProgram& program);

/// Returns the same as JSON: a list of objects with name, element type, shape, the values of tensors of at most 64
/// elements, and the file. Values that JSON cannot express, such as NaN, are strings.
std::string OutputsJson(const BoundProgram& program);

/// Returns the part of such a line after the `=`.
std::string ElementsText(const HostTensor& tensor);

/// Describes how two tensors of the same type differ: the number of differing elements, and the
/// largest difference with both values. Returns an empty string if all elements have the same bits
/// or are both NaN.
std::string Difference(const HostTensor& actual, const HostTensor& reference,
                       const std::string& name);

}  // namespace kdl::driver
