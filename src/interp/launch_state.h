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

/// One way to update elements: what becomes of (element, value), both of `acc`.
struct UpdatePlan {
  Scalar element = Scalar::F32;
  Scalar acc = Scalar::F32;   ///< what it computes in: f32 for narrow floats
  ir::EvalFn eval = nullptr;  ///< null: the value replaces the element

  /// `element` with the value, which is of `value_scalar`.
  uint64_t Apply(uint64_t element_bits, Scalar value_scalar, uint64_t value) const;
};
UpdatePlan PlanUpdate(ir::UpdateKind how, Scalar element);

/// What the cores of a launch share besides the tensors that they are given.
class LaunchState {
 public:
  std::function<void(const std::string&)> print = {};  ///< none: prints are silent
  std::unique_ptr<Watch> watch = {};                   ///< null: nothing looks at what blocks touch

  /// The next number of a loop whose numbers are claimed.
  int64_t DynamicCounter(const ir::Op* loop) { return claimed_[loop]++; }

  /// The memory of a launch_tensor, unspecified at first; each run of the op gives the same.
  TensorValue MemoryOf(const ir::Op* tensor, const std::vector<int64_t>& sizes, size_t bytes);

  /// Groups of the run may update the tensor: it is folded even where none does.
  void BeginGroups(const TensorValue& tensor, ir::UpdateKind how, int64_t run) {
    parts_.try_emplace({run, tensor.data, how}, Parts{tensor, how, {}});
  }
  /// Folds a value into what group `group` of an spmd's run has for an element, `offset` elements after the tensor's first.
  /// `run` numbers the runs of spmds that are dealt in groups; every core comes to the same ones.
  void UpdateGroup(const TensorValue& tensor, ir::UpdateKind how, int64_t run, int64_t group,
                   uint64_t offset, uint64_t value);
  /// Folds what groups have left, in the order of runs and groups, onto all elements of the tensors.
  void LowerGroupReductions();

 private:
  /// Of one tensor in one run.
  struct Parts {
    TensorValue tensor;
    ir::UpdateKind how;
    std::map<int64_t, std::vector<uint64_t>> of_group;  ///< by offset
  };

  std::unordered_map<const ir::Op*, int64_t> claimed_;
  /// A tensor of the launch.
  struct Memory {
    std::vector<std::byte> bytes;
    Shadow* shadow = nullptr;
  };

  std::unordered_map<const ir::Op*, Memory> memories_;
  std::map<std::tuple<int64_t, const std::byte*, ir::UpdateKind>, Parts> parts_;
};

}  // namespace kdl::interp
