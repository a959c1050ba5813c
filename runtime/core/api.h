// What the files of the C interface share.
#pragma once

#include <span>

#include "core/context.h"
#include "core/handles.h"

namespace kdl::runtime {

// Events that an operation waits for, checked to be of the queue's context.
Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events);

// Puts an operation into the queue and stores its event where the caller wants one.
void Submit(Queue& queue, Ref<Operation> operation, std::span<kdl_event* const> after,
            kdl_event** done);

}  // namespace kdl::runtime
