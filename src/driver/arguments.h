#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/host_tensor.h"
#include "driver/options.h"
#include "ir/module.h"
#include "support/diagnostics.h"

namespace kdl::driver {

/// What `--arg NAME=VALUE` says.
struct ArgumentSpec {
  enum class Kind : uint8_t { File, Random, Special, Iota, Number };
  std::string name;
  std::string text;  ///< the value as written
  Kind kind = Kind::Number;
  std::string number;  ///< of Number: `zeros` is 0, `ones` is 1
  uint64_t seed = 0;   ///< of Random and Special
  std::string path;    ///< of File
  HostTensor file;     ///< of File: what it holds
};

/// Reads every --arg, its file with it.
std::optional<std::vector<ArgumentSpec>> ReadArguments(const Options& options,
                                                       DiagnosticEngine& diagnostics);

const ArgumentSpec* FindArgument(const std::vector<ArgumentSpec>& arguments, std::string_view name);

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

/// `H + 2*P`: a size as the source has it.
std::string SourceText(Size size);

/// `f32[M, K]`, `f32`: a parameter's type as the source has it.
std::string ParameterType(const ir::Param& param);

}  // namespace kdl::driver
