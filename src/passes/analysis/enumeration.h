#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/analysis/terms.h"

namespace kdl::passes {

/// Values of size names and open int generics.
using Sizes = std::map<Name, int64_t>;

/// What runs in one go on one core: a block of `spmd for`, or, walk null, what a core does outside of them.
struct BlockId {
  const ir::Op* walk = nullptr;
  int64_t turn = 0;            ///< of the walk: 0 for all walks over one named domain
  std::vector<int64_t> first;  ///< of each binder; the core outside
  std::vector<int64_t> last;   ///< of each binder
  auto operator<=>(const BlockId&) const = default;
};

/// An element that a launch with concrete sizes touches.
struct Touched {
  const AccessView* view;
  const ir::Value* memory;  ///< of its tensor, which may be a view
  std::optional<std::vector<int64_t>>
      element;   ///< of the memory's Coordinates; nothing: not known which
  bool certain;  ///< it does, whatever the data
  BlockId block;
  int64_t phase;     ///< counts `sync`
  int64_t op_run;    ///< one number a run of the op
  std::string text;  ///< of the point: `i = 3, j = 0`
};

/// Runs the control flow of a kernel for concrete sizes, without data, and visits what it touches in the order of each
/// block. The cores' common code is visited for core 0 and core 1 of 2. False where that is too much to look at, in one
/// launch or in what is left to all.
bool Enumerate(Terms& terms, const Sizes& sizes, int64_t& steps_left,
               const std::function<void(const Touched&)>& visit);
/// For the launches that a search looks at.
inline constexpr int64_t kMostStepsOfSearch = 600'000;

/// The value of a size; nothing where it has none.
std::optional<int64_t> ValueOf(Size size, const Sizes& sizes);

/// Sizes to try, small ones first; each meets what the launch requires.
std::vector<Sizes> SmallSizes(const ir::Function& function);

/// `N = 5, BM = 2`.
std::string ToText(const Sizes& sizes, const ir::Function& function);
/// `block i = 0..63, j = 3`, or `core 1`.
std::string ToText(const BlockId& block);
/// `y[4, 0]`.
std::string ElementText(const ir::Value* tensor, const std::vector<int64_t>& element);
/// The tensor's sizes; nothing where they do not evaluate.
std::optional<std::vector<int64_t>> ShapeOf(const ir::Value* tensor, const Sizes& sizes);

}  // namespace kdl::passes
