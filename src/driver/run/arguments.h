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

/// A parameter of the program with its value: what it holds before the run, later what it holds after it.
struct BoundArgument {
  std::string name;
  ir::Direction direction = ir::Direction::In;
  HostTensor tensor;  ///< without dimensions: a scalar
  bool is_tensor = false;
  bool is_drawn = false;  ///< no --arg gives it, and it is no `out`
  std::string out_path;   ///< where --out wants it
};

/// A program and everything that it is called with.
struct BoundProgram {
  std::vector<int64_t> dims;  ///< in the order of Function::dims
  std::vector<BoundArgument> arguments;
};

/// Binds sizes by the files' shapes and --set, then makes every argument: those without --arg are drawn, parameter n
/// (from 1) with seed n. Reports whatever does not fit.
std::optional<BoundProgram> BindProgram(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics);

}  // namespace kdl::driver
