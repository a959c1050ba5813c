#pragma once

#include <cstdint>
#include <vector>

#include "api/dynamic_call.h"
#include "extension/arguments.h"
#include "extension/call_ranks.h"
#include "extension/call_stream.h"
#include "extension/kernel.h"
#include "extension/python.h"
#include "kdl/runtime.h"

// The steps of a call, which calls that wait and calls that are submitted have in common. `kernel` is an object of the type Kernel.

namespace kdl::python {

/// The arguments of a call: either a complete tuple from the caller, or what `complete`, a method of a Python
/// subclass, makes of them. It returns all arguments and the outputs that it has allocated, None, or a function that returns
/// the outputs after the call.
struct Given {
  Ref owner;
  std::vector<PyObject*> all;
  Ref result;

  /// Returns what the call returns. The kernel must have ended. On failure, sets a Python exception and returns null.
  PyObject* TakeResult() const;
};

/// Stores all arguments of a call. `keywords` may be null. On failure, sets a Python exception and returns false.
bool CompleteArguments(PyObject* kernel, PyObject* args, PyObject* keywords, Given* given);

/// Opens the arguments for the kernel's device. On failure, sets a Python exception and returns false.
bool OpenArguments(PyObject* kernel, const Given& given, const CallStream& stream,
                   Arguments* arguments);

/// Makes the operations that are enqueued later follow the streams of the arguments, and that of the caller.
kdl_error* FollowStreams(PyObject* kernel, const CallStream& stream, const Arguments& arguments,
                         int32_t queue);

/// Reads how many dimensions packs have, if the call says so. `keywords` may be null. On failure, sets a Python exception and returns
/// false.
bool ReadRanks(const Kernel& kernel, PyObject* keywords, CallRanks* ranks);

/// Returns the arguments as the runtime takes them. They are valid for as long as the parameters of this function.
runtime::DynamicArguments Passed(const Arguments& arguments, int64_t core_num,
                                 const CallRanks& ranks);

/// Enqueues a call of one of the kernel's functions. If `done` is null, waits for its end.
kdl_error* EnqueueCall(PyObject* kernel, const runtime::DynamicArguments& arguments, int32_t queue,
                       kdl_event** done);

}  // namespace kdl::python
