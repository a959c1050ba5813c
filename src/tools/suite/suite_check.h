#pragma once

#include <string>
#include <vector>

#include "driver/run/host_tensor.h"

namespace kdl::tools {

/// An output of a problem, and the results with which it is compared.
struct CheckedOutput {
  std::string name;
  driver::HostTensor ours;
  /// Computed by the peer in a wider type; by the peer in a wider type from inputs that differ by up to the
  /// distance of neighbouring numbers; and by the peer in the type of the problem. Floats are f64.
  driver::HostTensor wide;
  driver::HostTensor perturbed;
  driver::HostTensor same;
};

/// How far an output is from `wide`, divided by the bound.
struct SuiteError {
  double of_bound = 0;  ///< the output is right if this is at most 1
  std::string text;     ///< the worst element, such as `y[3] is 1.5, not 2.5`
};

/// The bound of an element is a multiple of the largest difference that `perturbed` and `same` have from `wide`,
/// plus a multiple of the rounding error of the element itself. A rounding error of the inputs or in the order
/// of operations is therefore allowed, but no other one. Integers must be equal to one of the three results.
SuiteError WorstError(const CheckedOutput& output);

/// Replaces the output by wrong ones, as a faulty kernel would: zeros, ones, one constant, a copy of an input, one
/// element that is wrong, a part that is not written, elements shifted by one, half of the digits. Each must be
/// rejected. Returns those that are not, such as `zeros`. Sets `constant` if all elements are equal.
std::vector<std::string> AcceptedControls(const CheckedOutput& output,
                                          const std::vector<driver::HostTensor>& inputs,
                                          bool& constant);

}  // namespace kdl::tools
