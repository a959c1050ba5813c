// The operations that go into queues.
#pragma once

#include "core/binding.h"
#include "core/trap.h"

namespace kdl::runtime {

// What the cores of a launch work in; both are empty where it needs nothing.
struct LaunchMemory {
  Ref<Buffer>
      workspace;       // the slices of the cores, behind the shared tensors where `shared` is empty
  Ref<Buffer> shared;  // the shared tensors, where they do not lie in `workspace`
};

// Runs a kernel.
Error MakeLaunch(Queue& queue, Binding binding, LaunchMemory memory, Ref<Operation>* operation);

// Copies between arrays that have been checked, on any two devices.
Error MakeCopy(const kdl_array& to, const kdl_array& from, const char* cause,
               Ref<Operation>* operation);

Error MakeFill(const kdl_array& to, std::uint64_t bits, Ref<Operation>* operation);

Ref<Operation> MakeHostCall(kdl_host_fn call, void (*release)(void*), void* user);

}  // namespace kdl::runtime
