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

/// A kernel instance, and values of its open `int` generics.
struct KernelChoice {
  std::string instance;  ///< `matmul.f32`
  std::vector<std::pair<std::string, int64_t>> constants;
};

/// A kernel that is compiled once for all targets of a test, and ready to run on each.
class LoadedKernel {
 public:
  /// Compiles the file of the options. Where that fails it is not `ok`, and `diagnostics` say why.
  LoadedKernel(driver::Options options, const targets::Registry& families, KernelChoice choice,
               std::vector<std::string> targets);
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  bool ok() const { return context_ != nullptr; }
  /// Whether nothing is wrong but that a static assertion does not hold of the constants.
  bool excludes_constants() const;
  const DiagnosticEngine& diagnostics() const { return session_.diagnostics; }
  const SourceManager& sources() const { return session_.sources; }

  /// The program that launches it once; its parameters are the kernel's.
  const ir::Function& program() const { return *auto_; }
  const driver::BoundContract& contract() const { return *contract_; }
  /// The parameters that may say how often something runs.
  const std::set<size_t>& loop_inputs() const { return loop_inputs_; }
  /// The extents of the tiles that walk each size.
  const std::map<Name, std::set<int64_t>>& tiles() const { return tiles_; }

  /// Runs it on so many cores of a target, or on as many as the device likes; `bound` then holds what it wrote.
  Status Run(const std::string& target, std::optional<int64_t> core_num,
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
  const ir::Function* counted_ = nullptr;  ///< with the number of cores as its last parameter
  std::optional<driver::BoundContract> contract_;
  std::set<size_t> loop_inputs_;
  std::map<Name, std::set<int64_t>> tiles_;
};

}  // namespace kdl::tools
