// Helpers shared by the files of the C interface.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>

#include "core/context.h"
#include "core/handles.h"
#include "system/float_state.h"

namespace kdl::runtime {

// Calls `call`, which returns an Error, for a function of the C interface. Converts exceptions to errors.
// During the call, the runtime's floating-point state replaces the caller's. If `call` preserves that state,
// `Floats` may be FloatEntry.
template <class Floats = FloatScope, class Call>
kdl_error* Guard(Call call) noexcept {
  const Floats floats;
  try {
    return call().release();
  } catch (const std::bad_alloc&) {
    return OutOfMemory().release();
  }
}

// Like Guard above, but for a call on an object that belongs to a context. In a forked child, where the
// context's locks may be held forever, it returns an error without running `call`.
template <class Call>
kdl_error* Guard(const Scheduler& scheduler, Call call) noexcept {
  return Guard([&]() -> Error {
    KDL_RETURN_IF_ERROR(scheduler.CheckProcess());
    return call();
  });
}

// Like Guard, for a function that does not report errors. If memory runs out, it returns 0.
template <class Call>
std::invoke_result_t<Call> GuardQuiet(Call call) noexcept {
  const FloatScope floats;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return std::invoke_result_t<Call>();
  }
}

// The reason why a pointer from the caller is invalid, if any.
enum class Fault { kNone, kNull, kForeign };

template <class T>
Fault FaultOf(const T* pointer) {
  if (pointer == nullptr) return Fault::kNull;
  if constexpr (requires { IsOurs(pointer); })
    return IsOurs(pointer) ? Fault::kNone : Fault::kForeign;
  return Fault::kNone;
}

// Returns an error for the first fault. `names` contains the names of the pointers to which the faults
// belong, separated by commas.
Error Refuse(const char* function, std::string_view names, std::span<const Fault> faults);

// Checks that the events in `after` belong to the queue's context, and stores them in `events`.
Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events);

// Enqueues an operation. Stores its event in `done` unless `done` is null.
Error Submit(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
             kdl_event** done);

}  // namespace kdl::runtime

// Makes the enclosing function of the C interface return an error if one of the pointers is NULL, or is a
// handle from another copy of the runtime.
#define KDL_RETURN_IF_UNUSABLE(...)                                                         \
  do {                                                                                      \
    const auto kdl_faults = [](const auto*... pointers) {                                   \
      return std::array{FaultOf(pointers)...};                                              \
    }(__VA_ARGS__);                                                                         \
    if (std::ranges::count(kdl_faults, Fault::kNone) != std::ssize(kdl_faults)) {           \
      return Guard(                                                                         \
          [&, kdl_name = __func__] { return Refuse(kdl_name, #__VA_ARGS__, kdl_faults); }); \
    }                                                                                       \
  } while (false)
