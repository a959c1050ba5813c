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

/// A parameter of the program with its value before the run, and later its value after it.
struct BoundArgument {
  std::string name;
  ir::Direction direction = ir::Direction::In;
  HostTensor tensor;  ///< a scalar has no dimensions
  bool is_tensor = false;
  bool is_drawn = false;  ///< not given by --arg, and not an `out` parameter
  std::string out_path;   ///< the file given with --out, if any
};

/// A program and everything that it is called with.
struct BoundProgram {
  std::vector<int64_t> dims;  ///< in the order of Function::dims
  std::vector<BoundArgument> arguments;
};

/// Binds the sizes from the files' shapes and --set, then makes all arguments. Those without --arg
/// are random: parameter n, counted from 1, uses the seed n. Reports everything that does not fit.
std::optional<BoundProgram> BindProgram(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
