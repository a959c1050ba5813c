#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/run/contracts.h"
#include "driver/run/run_program.h"

namespace kdl::tools {

/// A kernel instance, with values for the `int` generics that the file leaves unset.
struct KernelChoice {
  std::string instance;  ///< such as `matmul.f32`
  std::vector<std::pair<std::string, int64_t>> constants;
};

/// A kernel that is compiled once for all targets of a test and can run on each of them.
class LoadedKernel {
 public:
  /// Compiles the file that the options name. If that fails, ok() is false and diagnostics()
  /// contains the reason.
  LoadedKernel(driver::Options options, const targets::Registry& families, KernelChoice choice,
               std::vector<std::string> targets);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  bool ok() const { return context_ != nullptr; }
  /// Whether the only error is that the constants violate a static assertion.
  bool excludes_constants() const;
  const DiagnosticEngine& diagnostics() const { return session_.diagnostics; }
  const SourceManager& sources() const { return session_.sources; }

  /// Returns the program that launches the kernel once, with the kernel's parameters.
  const ir::Function& program() const { return *auto_; }
  const driver::BoundContract& contract() const { return *contract_; }
  /// Returns the indices of the parameters that may determine how often a loop runs.
  const std::set<size_t>& loop_inputs() const { return loop_inputs_; }
  /// Returns, for each size, the extents of the tiles that divide it.
  const std::map<Name, std::set<int64_t>>& tiles() const { return tiles_; }

  /// Runs the kernel on a target with `core_num` cores. If `core_num` is not set, the device
  /// chooses the number of cores. Updates the arguments in `bound` that the kernel wrote.
  Status RunOnTarget(const std::string& target, std::optional<int64_t> core_num,
                     driver::BoundProgram& bound) const;

 private:
  void Compile();
  bool Prepare(driver::Compilation& made);
  void FindTiles();

  driver::Options options_;
  KernelChoice choice_;
  std::vector<std::string> targets_;
  driver::Session session_;
  driver::Compilation compilation_;
  driver::Context context_;
  const ir::Function* auto_ = nullptr;
  /// The program that launches the kernel with the number of cores given by the program's last
  /// parameter.
  const ir::Function* counted_ = nullptr;
  std::optional<driver::BoundContract> contract_;
  std::set<size_t> loop_inputs_;
  std::map<Name, std::set<int64_t>> tiles_;
};

}  // namespace kdl::tools
