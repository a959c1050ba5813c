// The operations that go into queues.
#pragma once

#include "core/binding.h"
#include "core/trap.h"

namespace kdl::runtime {

// Runs a kernel. `workspace` may be empty: then memory is allocated for the launch where it needs
// any.
Error MakeLaunch(Queue& queue, Binding binding, Ref<Buffer> workspace, Ref<Operation>* operation);

// Copies between arrays that have been checked, on any two devices.
Error MakeCopy(const kdl_array& to, const kdl_array& from, const char* cause,
               Ref<Operation>* operation);

Error MakeFill(const kdl_array& to, std::uint64_t bits, Ref<Operation>* operation);

Ref<Operation> MakeHostCall(kdl_host_fn call, void (*release)(void*), void* user);

}  // namespace kdl::runtime
