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
#include "interp/watch.h"
#include "ir/attr.h"
#include "ir/op.h"

namespace kdl::interp {

/// How an update changes elements: the function of (element, value), both of type `acc`.
struct UpdatePlan {
  Scalar element = Scalar::F32;
  Scalar acc = Scalar::F32;   ///< the type in which it computes: f32 for narrow floats
  ir::EvalFn eval = nullptr;  ///< null: the value replaces the element

  /// Returns `element` combined with the value, which has type `value_scalar`.
  uint64_t Apply(uint64_t element_bits, Scalar value_scalar, uint64_t value) const;
};
UpdatePlan PlanUpdate(ir::UpdateKind how, Scalar element);

/// What the cores of a launch share besides its tensor arguments.
class LaunchState {
 public:
  std::function<void(const std::string&)> print = {};  ///< if empty, prints are ignored
  /// Null if nobody checks which elements blocks access.
  std::unique_ptr<Watch> watch = {};

  /// Draws the next number of a loop with dynamic scheduling.
  int64_t DynamicCounter(const ir::Op* loop) { return claimed_[loop]++; }

  /// Returns the memory of a launch_tensor, which is unspecified at first. Each execution of the op returns
  /// the same memory.
  TensorValue LaunchTensorMemory(const ir::Op* tensor, const std::vector<int64_t>& sizes,
                                 size_t bytes);

  /// Registers a tensor that groups may update: it is combined even if no group does.
  void BeginGroups(const TensorValue& tensor, ir::UpdateKind how, int64_t run) {
    parts_.try_emplace({run, tensor.data, how}, Parts{tensor, how, {}});
  }
  /// Combines a value with that of group `group` for the element at `offset` from the tensor's first. `run`
  /// numbers the executions of spmds that are distributed in groups; it is the same on all cores.
  void UpdateGroup(const TensorValue& tensor, ir::UpdateKind how, int64_t run, int64_t group,
                   uint64_t offset, uint64_t value);
  /// Combines the values of the groups, in the order of executions and groups, with all elements of their
  /// tensors.
  void LowerGroupReductions();

 private:
  /// The groups' values for one tensor in one execution.
  struct Parts {
    TensorValue tensor;
    ir::UpdateKind how;
    std::map<int64_t, std::vector<uint64_t>> of_group;  ///< the values of each group, by offset
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
