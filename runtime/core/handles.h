// Between the C interface's opaque handles and the objects behind them.
#pragma once

#include "kdl/runtime.h"

namespace kdl::runtime {

class Buffer;
class Caller;
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
  inline const handle* Wrap(const type* object) { return reinterpret_cast<const handle*>(object); }
KDL_HANDLE(kdl_buffer, Buffer)
KDL_HANDLE(kdl_context, Context)
KDL_HANDLE(kdl_device, Device)
KDL_HANDLE(kdl_event, Event)
KDL_HANDLE(kdl_function, Function)
KDL_HANDLE(kdl_queue, Caller)
KDL_HANDLE(kdl_timeline, Timeline)
#undef KDL_HANDLE

}  // namespace kdl::runtime
