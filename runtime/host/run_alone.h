// Runs launches that one worker executes, in less time than the runner of many workers.
#pragma once

#include "host/core_runner.h"

namespace kdl::runtime {

// Whether one worker executes the launch, and nobody observes it. The cores of such a launch run one after another to
// their end, so they need neither shares nor states.
bool RunsAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan);

// The core that runs all cores of such a launch, one after another, with the same results as CoreRunner::RunCores. It
// may run several launches of one request.
class LoneCore {
 public:
  // Prepares everything that is the same in all launches. `memory` has the plan's bytes, and outlives the core.
  LoneCore(const kdl_launch_request& request, const CoreRunner::Plan& plan, char* memory);
  LoneCore(const LoneCore&) = delete;
  LoneCore& operator=(const LoneCore&) = delete;

  Error RunCores(const kdl_launch_request& request);

 private:
  // Returns the error for a core that has not ended with KDL_DONE, and prepares for the next launch.
  Error Ended(const kdl_launch_request& request, std::int32_t result);

  kdl_core core_;
  std::size_t counter_bytes_ =
      0;             // of the counters for dynamic scheduling, which are zero at the start
  bool has_slices_;  // whether each core has its own slice of the workspace
};

// Runs all cores of such a launch on the calling thread, in memory that is borrowed from `scratch` unless the plan is small.
Error RunAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan,
               ScratchPool& scratch);

}  // namespace kdl::runtime
