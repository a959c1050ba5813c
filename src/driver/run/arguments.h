#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/run/argument_specs.h"
#include "driver/run/host_tensor.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// A parameter of the program with its value: before the run, the argument; afterwards, the result.
struct BoundArgument {
  std::string name;
  ir::Direction direction = ir::Direction::In;
  HostTensor tensor;  ///< a scalar has no dimensions
  bool is_tensor = false;
  bool is_absent =
      false;  ///< whether the parameter is optional and the program is called without it
  /// Whether the values are random: the parameter has no --arg and is not an `out` parameter.
  bool is_drawn = false;
  std::string out_path;  ///< the file given with --out, if any
};

/// A program's sizes and arguments for one call.
struct BoundProgram {
  std::vector<int64_t> dims;  ///< in the order of Function::dims
  std::vector<BoundArgument> arguments;
};

/// Binds the sizes from --set and from the shapes of the files, then creates all arguments. An
/// argument without --arg is random: parameter n, counted from 1, uses seed n. Reports all sizes
/// and arguments that do not match the parameters.
std::optional<BoundProgram> BindProgram(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

/// Like BindProgram, but the tensors have shapes without elements, so that they can be larger than memory.
std::optional<BoundProgram> BindNumbers(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
