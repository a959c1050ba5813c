#pragma once

#include <functional>
#include <vector>

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

// Loops and branches at a builder's place. The builder stands after them when they are made.

using Values = std::vector<ir::Value*>;

/// What an op takes for a value that may be missing, null.
inline Values OneOrNone(ir::Value* value) { return value ? Values{value} : Values(); }

struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  int64_t step = 1;
  int64_t unroll = 1;  ///< ir::AttrKey::Unroll
};

/// `body(index, carried)` gives the next carried values; the results are the last ones.
Values MakeLoop(ir::Builder& b, const LoopBounds& bounds, const Values& inits,
                const std::function<Values(ir::Value*, const Values&)>& body);

/// Without carried values.
void MakeLoop(ir::Builder& b, const LoopBounds& bounds,
              const std::function<void(ir::Value*)>& body);

/// Loops from zero to each size, the first outermost; without carried values.
void MakeLoops(ir::Builder& b, const Values& sizes, const std::function<void(const Values&)>& body);

/// A loop whose turns are the workers' of the core.
void MakeWorkgroupLoop(ir::Builder& b, const LoopBounds& bounds,
                       const std::function<void(ir::Value*)>& body);
/// What the core's first worker alone does.
void OnFirstThread(ir::Builder& b, const std::function<void()>& effect);

/// `if condition`, with a result for each value that `then` and `otherwise` give, of these types.
Values MakeIf(ir::Builder& b, ir::Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise);
/// Without results.
void MakeIf(
    ir::Builder& b, ir::Value* condition, const std::function<void()>& then,
    const std::function<void()>& otherwise = [] {});

/// `if condition` whose regions do nothing yet.
ir::Op* MakeBranch(ir::Builder& b, ir::Value* condition);

/// Fills a region that `make` yields from.
void FillRegion(ir::Builder& b, ir::Region* region, const std::function<Values()>& make);

}  // namespace kdl::passes
