#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kdl::ir {
struct Function;
}

namespace kdl::passes {

struct PassContext;

/// A property that a module has after a pass has established it, until another pass withdraws it. Facts are
/// compared by address, so a family of targets can define its own facts.
struct Fact {
  std::string_view name;
};

/// A list of at most eight items that can be built at compile time.
template <class T>
class Few {
 public:
  constexpr Few() = default;
  constexpr Few(std::initializer_list<T> items) : count_(items.size()) {
    std::copy(items.begin(), items.end(), items_.begin());
  }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + count_; }

 private:
  std::array<T, 8> items_{};
  size_t count_ = 0;
};

/// A fact that a pass relies on, and the reason.
struct Need {
  const Fact* fact = nullptr;
  std::string_view why;
};

/// A number that changes how a pass works, but not the results of kernels. Compared by address, like facts.
struct PassOption {
  std::string_view name;
  int64_t least = 0;
  int64_t most = 0;
  int64_t value = 0;  ///< unless a pipeline file sets another one
  std::string_view summary;
  /// Whether it is a number of cores, so that values above the number of cores of a launch are all the same.
  bool counts_cores = false;
};

/// A pass. It runs once for a module, where it may add and remove functions, or once for each kernel or
/// program.
struct Pass {
  void (*on_module)(PassContext&) = nullptr;
  void (*on_kernel)(PassContext&, ir::Function&) = nullptr;
  void (*on_program)(PassContext&, ir::Function&) = nullptr;
  std::string_view name;
  std::string_view summary;
  Few<Need> needs = {};
  Few<const Fact*> gives = {};
  Few<const Fact*> withdraws = {};
  Few<const PassOption*> options = {};
  /// Whether the pass rejects well-formed modules that it cannot prove safe to run.
  bool proves = false;
};

// KDL_KERNEL_PASS(DistributeBlocks, .name = "distribute-blocks", …) declares the function RunDistributeBlocks
// and defines the pass kDistributeBlocks.
#define KDL_MODULE_PASS(id, ...)      \
  void Run##id(PassContext& context); \
  inline constexpr Pass k##id { .on_module = Run##id, __VA_ARGS__ }
#define KDL_KERNEL_PASS(id, ...)                            \
  void Run##id(PassContext& context, ir::Function& kernel); \
  inline constexpr Pass k##id { .on_kernel = Run##id, __VA_ARGS__ }
#define KDL_PROGRAM_PASS(id, ...)                            \
  void Run##id(PassContext& context, ir::Function& program); \
  inline constexpr Pass k##id { .on_program = Run##id, __VA_ARGS__ }

using Pipeline = std::span<const Pass* const>;

/// A pass and a fact that the pass needs but that does not hold when it runs.
struct Unmet {
  const Pass* pass = nullptr;
  Need need;
};

/// Returns the first unmet need if the pipelines run one after another, or nothing if all needs are met.
constexpr std::optional<Unmet> FindUnmet(std::span<const Pipeline> pipelines) {
  std::vector<const Fact*> hold;
  for (Pipeline pipeline : pipelines) {
    for (const Pass* pass : pipeline) {
      for (const Need& need : pass->needs) {
        if (std::find(hold.begin(), hold.end(), need.fact) == hold.end()) return Unmet{pass, need};
      }
      for (const Fact* fact : pass->withdraws) std::erase(hold, fact);
      for (const Fact* fact : pass->gives) hold.push_back(fact);
    }
  }
  return std::nullopt;
}
/// Returns whether a fact holds after the pipelines have run one after another.
constexpr bool Establishes(std::span<const Pipeline> pipelines, const Fact* fact) {
  bool holds = false;
  for (Pipeline pipeline : pipelines) {
    for (const Pass* pass : pipeline) {
      holds = holds && std::find(pass->withdraws.begin(), pass->withdraws.end(), fact) ==
                           pass->withdraws.end();
      holds = holds || std::find(pass->gives.begin(), pass->gives.end(), fact) != pass->gives.end();
    }
  }
  return holds;
}
constexpr std::optional<Unmet> FindUnmet(std::initializer_list<Pipeline> pipelines) {
  return FindUnmet(std::span<const Pipeline>(pipelines.begin(), pipelines.size()));
}

}  // namespace kdl::passes
