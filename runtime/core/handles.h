// Converts between the opaque handles of the C interface and the runtime's objects.
#pragma once

#include "kdl/runtime.h"

namespace kdl::runtime {

// The base of every object that has a handle. A process may contain several copies of this library, each
// linked into another library. Each copy refuses the handles of other copies, because their objects may have
// a different layout. Only the mark that identifies the copy is at the same position in all versions.
class Handle {
 public:
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  virtual ~Handle() = default;

  bool is_ours() const { return runtime_ == &kOwn; }

 protected:
  Handle() = default;

 private:
  // Not visible outside this copy of the library, so that its address identifies the copy.
  static constexpr char kOwn = 0;

  const void* const runtime_ = &kOwn;
};

// The end of the error message about a handle from another copy.
inline constexpr const char* kForeign =
    " belongs to another copy of the runtime in this process; a library with its own copy accepts "
    "only handles that it created";

class BoundCall;
class Buffer;
class Caller;
class Calls;
class Context;
class Device;
class Event;
class Function;
class Timeline;

#define KDL_HANDLE(handle, type)                                                  \
  inline type* Unwrap(handle* object) { return reinterpret_cast<type*>(object); } \
  inline const type* Unwrap(const handle* object) {                               \
    return reinterpret_cast<const type*>(object);                                 \
  }                                                                               \
  inline handle* Wrap(type* object) { return reinterpret_cast<handle*>(object); } \
  inline const handle* Wrap(const type* object) {                                 \
    return reinterpret_cast<const handle*>(object);                               \
  }                                                                               \
  inline bool IsOurs(const handle* object) {                                      \
    return reinterpret_cast<const Handle*>(object)->is_ours();                    \
  }
KDL_HANDLE(kdl_bound_call, BoundCall)
KDL_HANDLE(kdl_buffer, Buffer)
KDL_HANDLE(kdl_context, Context)
KDL_HANDLE(kdl_device, Device)
KDL_HANDLE(kdl_event, Event)
KDL_HANDLE(kdl_function, Function)
KDL_HANDLE(kdl_kernels, Calls)
KDL_HANDLE(kdl_queue, Caller)
KDL_HANDLE(kdl_timeline, Timeline)
#undef KDL_HANDLE

}  // namespace kdl::runtime
