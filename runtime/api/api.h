// What the files of the C interface share.
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

// Calls what gives an Error for a C caller: no exception comes out, and the caller's floating-point state does not come in.
template <class Call>
kdl_error* Guard(Call call) noexcept {
  const FloatScope floats;
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

// The same for what reports no error: where memory runs out, the result is 0.
template <class Call>
std::invoke_result_t<Call> GuardQuiet(Call call) noexcept {
  const FloatScope floats;
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return std::invoke_result_t<Call>();
  }
}

// What is wrong with a pointer that a caller gives.
enum class Fault { kNone, kNull, kForeign };

template <class T>
Fault FaultOf(const T* pointer) {
  if (pointer == nullptr) return Fault::kNull;
  if constexpr (requires { IsOurs(pointer); })
    return IsOurs(pointer) ? Fault::kNone : Fault::kForeign;
  return Fault::kNone;
}

// An error for the first of them; `names` are those of the pointers, in a list with commas.
Error Refuse(const char* function, std::string_view names, std::span<const Fault> faults);

// Events that an operation waits for, checked to be of the queue's context.
Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events);

// Puts an operation into the queue and stores its event where the caller wants one.
Error Submit(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
             kdl_event** done);

}  // namespace kdl::runtime

// Returns an error from a function of the C interface where one of these pointers is NULL, or a handle that another copy
// of the runtime made.
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
