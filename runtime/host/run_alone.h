// Runs launches that one worker executes, in less time than the runner of many workers.
#pragma once

#include "host/core_runner.h"

namespace kdl::runtime {

// Whether one worker executes the launch, and nobody observes it. The cores of such a launch run one after another to
// their end, so they need neither shares nor states.
bool RunsAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan);

// Runs all cores of such a launch on the calling thread, with the same results as CoreRunner::RunCores.
Error RunAlone(const kdl_launch_request& request, const CoreRunner::Plan& plan,
               ScratchPool& scratch, char* memory);

}  // namespace kdl::runtime
