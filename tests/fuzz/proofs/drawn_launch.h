#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "interp/run.h"
#include "ir/module.h"
#include "support/result.h"

namespace kdl::fuzz {

/// Maps the names of sizes to their values. If a counterexample gives values of scalar parameters, these are
/// included.
using Sizes = std::map<std::string, int64_t>;

/// Returns the values as text: `N = 5, M = 2`.
std::string ToText(const Sizes& sizes);

/// The arguments of one launch of a random kernel, and its run in the interpreter.
class DrawnLaunch {
 public:
  /// Generates all values that `sizes` does not give. `fits()` is false if a `static_assert` rejects the
  /// constants or a tensor is too large.
  DrawnLaunch(const ir::Function& kernel, const Sizes& sizes, uint64_t seed);

  bool fits() const { return fits_; }
  /// Returns the constants and scalars as text: `s = -1, u = 2, `.
  const std::string& said() const { return said_; }
  const interp::KernelArguments& arguments() const { return arguments_; }
  /// Returns whether the tensors of both launches have the same contents. Used to compare two runs of the
  /// same launch.
  bool HasElementsOf(const DrawnLaunch& other) const { return memory_ == other.memory_; }

  Result<std::optional<interp::Trap>> Interpret(const ir::Module& module,
                                                const ir::Function& kernel, int64_t cores,
                                                uint64_t order, bool watch) const;

 private:
  int64_t Number(std::string_view name);
  void AddConstant(const ir::Generic& generic, const Sizes& sizes);
  bool MeetsStatics(const ir::Function& kernel) const;
  void MakeTable();
  void MakeLengths();
  bool AddTensor(ir::Type type, const Sizes& sizes);

  std::mt19937_64 random_;
  interp::KernelArguments arguments_;
  std::vector<std::vector<std::byte>> memory_;
  std::string said_;
  size_t first_ = 0;  ///< the tensor with this name
  bool fits_ = false;
};

}  // namespace kdl::fuzz
