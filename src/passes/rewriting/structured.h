#pragma once

#include <functional>
#include <vector>

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

// Creates loops and branches at a builder's insertion point, which afterwards is after the new op.

using Values = std::vector<ir::Value*>;

/// Returns the operands for an optional value, which may be null.
inline Values OneOrNone(ir::Value* value) { return value ? Values{value} : Values(); }

struct LoopBounds {
  ir::Value* lo;
  ir::Value* hi;
  int64_t step = 1;
  int64_t unroll = 1;  ///< the loop's `ir::AttrKey::Unroll`
};

/// Makes a loop. `body(index, carried)` returns the values to carry into the next iteration. The loop's
/// results are the values that the last iteration returns.
Values MakeLoop(ir::Builder& b, const LoopBounds& bounds, const Values& inits,
                const std::function<Values(ir::Value*, const Values&)>& body);

/// Makes a loop without carried values.
void MakeLoop(ir::Builder& b, const LoopBounds& bounds,
              const std::function<void(ir::Value*)>& body);

/// Makes nested loops without carried values. Loop i runs from 0 to size i, and the first loop is the
/// outermost one.
void MakeLoops(ir::Builder& b, const Values& sizes, const std::function<void(const Values&)>& body);

/// Makes a loop whose iterations are distributed over the threads of the workgroup.
void MakeWorkgroupLoop(ir::Builder& b, const LoopBounds& bounds,
                       const std::function<void(ir::Value*)>& body);
/// Makes the ops that `effect` creates, in a workgroup loop with one iteration, which the first thread runs.
void OnFirstThread(ir::Builder& b, const std::function<void()>& effect);

/// Makes an `if` with results of these types: the values that `then` and `otherwise` return.
Values MakeIf(ir::Builder& b, ir::Value* condition, const std::vector<ir::Type>& types,
              const std::function<Values()>& then, const std::function<Values()>& otherwise);
/// Makes an `if` without results.
void MakeIf(
    ir::Builder& b, ir::Value* condition, const std::function<void()>& then,
    const std::function<void()>& otherwise = [] {});

/// Makes an `if` whose regions are empty.
ir::Op* MakeBranch(ir::Builder& b, ir::Value* condition);

/// Fills a region with the ops that `make` creates, and yields the values that it returns.
void FillRegion(ir::Builder& b, ir::Region* region, const std::function<Values()>& make);

}  // namespace kdl::passes
