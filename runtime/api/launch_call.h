// A launch as its caller states it.
#pragma once

#include "core/binding.h"
#include "core/operations.h"
#include "kdl/runtime.h"

namespace kdl::runtime {

// The arguments of kdl_launch_kernel and kdl_run_kernel.
struct LaunchCall {
  Caller& caller;
  const kdl_function* function;
  std::int64_t core_num;
  const kdl_arg* args;
  std::int32_t arg_count;
  kdl_buffer* workspace;
  kdl_event* const* after;
  std::int32_t after_count;
  Shapes shapes = Shapes::kGiven;
};

// Binds the launch, after all checks.
Error Prepare(const LaunchCall& call, LaunchOperation* operation);
// Enqueues the launch. Stores its event in `done` unless that is null.
Error Launch(const LaunchCall& call, kdl_event** done);
// Runs the launch, and waits for it.
Error RunLaunch(const LaunchCall& call);

}  // namespace kdl::runtime
