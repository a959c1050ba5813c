#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "interp/bound_params.h"
#include "interp/locate/judge.h"
#include "interp/machine.h"
#include "interp/workgroup.h"

namespace kdl::interp {

/// A launch in one of the two runs.
struct LaunchHalf {
  const Image& image;
  const BoundParams& params;
  LaunchState& state;
};

/// One core of a launch in both runs, which execute the same ops in the same order.
class CorePair {
 public:
  CorePair(const LaunchHalf& own, const LaunchHalf& exact, CoreFacts facts, const Judge& judge);

  /// Runs to the next barrier of the launch, to the end, or to a trap. Ends early if `is_stopped` returns true.
  MachineState RunToBarrier(const std::function<bool()>& is_stopped);
  const Machine& machine() const { return own_; }
  /// Returns the trap of the kernel, or the first value that is to be reported.
  const std::optional<Trap>& trap() const { return trap_; }

 private:
  void ExecuteNextOps();
  void Finish(const Instruction& instruction, Activation& here,
              const Instruction& exact_instruction, Activation& exact);

  const Judge* judge_;
  std::unique_ptr<Workgroup> workgroups_[2];
  Machine own_;
  Machine exact_;
  std::optional<Trap> trap_;
};

}  // namespace kdl::interp
