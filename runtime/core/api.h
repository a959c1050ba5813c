// What the files of the C interface share.
#pragma once

#include <initializer_list>
#include <span>

#include "core/context.h"
#include "core/handles.h"

namespace kdl::runtime {

// An error for the first pointer that is NULL; `names` are theirs, in a list with commas.
Error RefuseNull(const char* function, std::string_view names,
                 std::initializer_list<const void*> pointers);

// Events that an operation waits for, checked to be of the queue's context.
Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events);

// Puts an operation into the queue and stores its event where the caller wants one.
void Submit(Queue& queue, Ref<Operation> operation, std::span<kdl_event* const> after,
            kdl_event** done);

}  // namespace kdl::runtime

// Returns an error from a function of the C interface where one of these pointers is NULL.
#define KDL_RETURN_IF_NULL(...)                                                    \
  do {                                                                             \
    if (Error kdl_null_here = RefuseNull(__func__, #__VA_ARGS__, {__VA_ARGS__})) { \
      return kdl_null_here.release();                                              \
    }                                                                              \
  } while (false)
