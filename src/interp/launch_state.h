#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "interp/core_facts.h"
#include "interp/fallback_reads.h"
#include "interp/watch.h"
#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::interp {

/// How an update changes an element: `eval` computes the new element from (element, value). Both have type
/// `acc`.
struct UpdatePlan {
  Scalar element = Scalar::F32;
  Scalar acc = Scalar::F32;   ///< the type in which the update computes: f32 for narrow floats
  ir::EvalFn eval = nullptr;  ///< if null, the value replaces the element

  /// Combines the element `element_bits` with `value`, whose type is `value_scalar`, and returns the result.
  uint64_t Apply(uint64_t element_bits, Scalar value_scalar, uint64_t value) const;
};
UpdatePlan PlanUpdate(ir::UpdateKind how, Scalar element);

/// What the cores of a launch share in addition to its tensor arguments.
class LaunchState {
 public:
  std::function<void(const std::string&)> print = {};  ///< if empty, prints are ignored
  /// Checks which elements blocks access; null if no check was requested.
  std::unique_ptr<Watch> watch = {};
  std::unique_ptr<FallbackReads> fallbacks = {};  ///< only if the watch records reads

  /// Draws the next number of a loop with dynamic scheduling.
  int64_t DynamicCounter(const ir::Op* loop) { return claimed_[loop]++; }

  /// Returns the memory of a launch_tensor, whose contents are unspecified at first. Each execution of the
  /// op returns the same memory.
  TensorValue LaunchTensorMemory(const ir::Op* tensor, const std::vector<int64_t>& sizes,
                                 size_t bytes);

  /// Registers a tensor that blocks of this number of segments may reduce into (ir/groups.h). At the end, its
  /// elements are combined with the values of the segments even if no block does.
  void BeginGroups(const TensorValue& tensor, ir::UpdateKind how, int64_t run, int64_t segments) {
    parts_.try_emplace({run, tensor.data, how}, Parts{tensor, how, segments, {}});
  }
  /// Combines a value with the value of a segment for one element. `offset` is the distance of the element from
  /// the tensor's first element. `run` numbers the executions of spmds that are distributed in groups; it is the
  /// same on all cores.
  void UpdateSegment(const TensorValue& tensor, ir::UpdateKind how, int64_t run, int64_t segment,
                     uint64_t offset, uint64_t value);
  /// Combines the values of all segments with the elements of their tensors, in the order of executions.
  void LowerGroupReductions();

 private:
  /// The values of segments for one tensor in one execution of an spmd.
  struct Parts {
    TensorValue tensor;
    ir::UpdateKind how;
    int64_t segments;
    std::map<int64_t, std::vector<uint64_t>>
        of_segment;  ///< for some segments, the values by offset
    uint64_t Combined(size_t offset) const;
  };

  std::unordered_map<const ir::Op*, int64_t> claimed_;
  /// The memory of a launch_tensor.
  struct Memory {
    std::vector<std::byte> bytes;
    Shadow* shadow = nullptr;
  };

  std::unordered_map<const ir::Op*, Memory> memories_;
  std::map<std::tuple<int64_t, const std::byte*, ir::UpdateKind>, Parts> parts_;
};

}  // namespace kdl::interp
