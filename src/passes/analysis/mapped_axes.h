#pragma once

#include <functional>
#include <unordered_map>

#include "passes/names.h"

namespace kdl::passes {

/// The axes that the values of a fn get from a call that maps it: those of the arguments that they come from.
class MappedAxes {
 public:
  /// `outside`: those of values that are made before what is asked about.
  explicit MappedAxes(std::function<ir::AxisList(const ir::Value*)> outside)
      : outside_(std::move(outside)) {}

  /// Of what a `while` carries, in the region's parameters: the axes that a value has in any turn, and those of the
  /// condition, since elements end one by one. One that is used behind the loop has the axes of all. `condition`: what its
  /// first value has besides.
  void Study(const ir::Op* loop, const ir::AxisList& condition = {});
  const ir::AxisList& Of(const ir::Value* param) const { return known_.at(param); }

 private:
  ir::AxisList AxesOf(const ir::Value* value) const;
  void Flow(const ir::Block* region);

  std::function<ir::AxisList(const ir::Value*)> outside_;
  std::unordered_map<const ir::Value*, ir::AxisList> known_;
};

}  // namespace kdl::passes
