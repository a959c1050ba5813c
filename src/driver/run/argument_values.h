#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "driver/ranks/transport.h"
#include "driver/run/argument_specs.h"
#include "driver/run/bound_program.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace kdl::driver {

/// The elements of a program's arguments: those in files, random numbers, or numbers on the command line.
class ArgumentValues {
 public:
  /// The module's passes must not have run. The program, the arguments and the diagnostics must outlive this object.
  ArgumentValues(const ir::Module& module, const ir::Function& program,
                 const std::vector<ArgumentSpec>& arguments, DiagnosticEngine& diagnostics);

  /// Stores elements of parameter `index` in `bound`, whose shape is set: all of them, or those in `bound.part`. Reports
  /// arguments that do not fit the parameter.
  void Store(size_t index, BoundArgument& bound) const;

  /// Stores the elements of distributed parameters. If other processes share the work, these are the ones that the rank of
  /// this process owns. Reports errors, and returns whether there are none.
  bool StoreDistributed(const LocalRanks& ranks, BoundProgram& bound) const;

  /// Returns the arguments with all elements of all parameters. Reports errors.
  BoundProgram Whole(const BoundProgram& bound) const;

  /// Says which values a parameter accepts.
  static std::string HelpFor(const ir::Param& param);

 private:
  using ElementOf = std::function<uint64_t(int64_t n)>;

  ElementOf Elements(const ir::Param& param, size_t index, const ArgumentSpec* argument) const;
  void StoreFile(const ir::Param& param, const ArgumentSpec& argument, BoundArgument& bound) const;
  bool FitsInMemory(const ir::Param& param, const BoundArgument& bound) const;

  const ir::Function& program_;
  const std::vector<ArgumentSpec>& arguments_;
  /// Indices of parameters that get small values, because they may determine how often a loop runs.
  std::set<size_t> loop_inputs_;
  DiagnosticEngine& diagnostics_;
};

}  // namespace kdl::driver
