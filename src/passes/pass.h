#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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

/// What holds of a module once a pass has run, until one that withdraws it. Each is one object: its address is what counts,
/// so that a family of targets can have facts of its own.
struct Fact {
  std::string_view name;
};

/// A short list that is made at compile time.
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

/// A fact that a pass relies on, and what would go wrong without it.
struct Need {
  const Fact* fact = nullptr;
  std::string_view why;
};

/// A pass runs once a module, and may add and remove functions, or once for each kernel, or program.
struct Pass {
  void (*on_module)(PassContext&) = nullptr;
  void (*on_kernel)(PassContext&, ir::Function&) = nullptr;
  void (*on_program)(PassContext&, ir::Function&) = nullptr;
  std::string_view name;
  std::string_view summary;
  Few<Need> needs = {};
  Few<const Fact*> gives = {};
  Few<const Fact*> withdraws = {};
  /// Refuses modules with which nothing is wrong but what they may do when they run.
  bool proves = false;
};

// KDL_KERNEL_PASS(DistributeBlocks, .name = "distribute-blocks", …) declares what runs, RunDistributeBlocks, and is the pass kDistributeBlocks.
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

/// A pass that does not find what it needs.
struct Unmet {
  const Pass* pass = nullptr;
  Need need;
};

/// The first such pass, where the pipelines run one after the other; nothing: their order holds.
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
constexpr std::optional<Unmet> FindUnmet(std::initializer_list<Pipeline> pipelines) {
  return FindUnmet(std::span<const Pipeline>(pipelines.begin(), pipelines.size()));
}

}  // namespace kdl::passes
