// What the files of the C interface share.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <new>
#include <span>

#include "core/context.h"
#include "core/handles.h"

namespace kdl::runtime {

// Calls what gives an Error for a C caller: no exception comes out.
template <class Call>
kdl_error* Guard(Call call) noexcept {
  try {
    return call().release();
  } catch (const std::bad_alloc&) {
    return OutOfMemory().release();
  }
}

// The same for what belongs to a context: in a child of its process, whose locks may be held for ever, it only
// gives an error.
template <class Call>
kdl_error* Guard(const Scheduler& scheduler, Call call) noexcept {
  return Guard([&]() -> Error {
    KDL_RETURN_IF_ERROR(scheduler.CheckProcess());
    return call();
  });
}

// An error for the first pointer that is NULL; `names` are theirs, in a list with commas.
inline bool HasNull(std::initializer_list<const void*> pointers) {
  return std::find(pointers.begin(), pointers.end(), nullptr) != pointers.end();
}
Error RefuseNull(const char* function, std::string_view names,
                 std::initializer_list<const void*> pointers);

// Events that an operation waits for, checked to be of the queue's context.
Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events);

// Puts an operation into the queue and stores its event where the caller wants one.
Error Submit(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
             kdl_event** done);

}  // namespace kdl::runtime

// Returns an error from a function of the C interface where one of these pointers is NULL.
#define KDL_RETURN_IF_NULL(...)                                                                    \
  do {                                                                                             \
    if (HasNull({__VA_ARGS__})) {                                                                  \
      return Guard(                                                                                \
          [&, kdl_name = __func__] { return RefuseNull(kdl_name, #__VA_ARGS__, {__VA_ARGS__}); }); \
    }                                                                                              \
  } while (false)
