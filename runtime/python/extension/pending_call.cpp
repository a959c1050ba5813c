#include "extension/pending_call.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "extension/call.h"
#include "extension/context.h"
#include "extension/kernel.h"

namespace kdl::python {

namespace {

PyTypeObject* pending_type = nullptr;

/// A call that has been enqueued. Keeps its arrays open until it has ended.
struct QueuedCall {
  Given given;
  Arguments arguments;
  kdl_event* event = nullptr;
  ~QueuedCall() { kdl_event_free(event); }

  /// Lets go of the arrays of a call that has ended, except those that are its result.
  void ReleaseArguments() {
    arguments = Arguments();
    given.all.clear();
    given.owner = Ref();
  }
};

struct Pending {
  PyObject_HEAD QueuedCall* call;
};

/// All objects of this type; not owned.
std::vector<PyObject*> all_pending;

PyObject* Enqueue(PyObject* self, PyObject* args, PyObject* keywords, int64_t core_num,
                  int32_t queue) {
  auto call = std::make_unique<QueuedCall>();
  CallStream stream;
  CallRanks ranks;
  if (!stream.TakeStreamArgument(AnyVariant(*AsKernel(self)), &keywords) ||
      !ReadRanks(*AsKernel(self), keywords, &ranks) ||
      !CompleteArguments(self, args, keywords, &call->given) ||
      !OpenArguments(self, call->given, stream, &call->arguments) ||
      !Succeeded(FollowStreams(self, stream, call->arguments, queue)))
    return nullptr;
  if (!Succeeded(EnqueueCall(self, Passed(call->arguments, core_num, ranks), queue, &call->event)))
    return nullptr;
  PyObject* pending = PyType_GenericAlloc(pending_type, 0);
  if (pending == nullptr) return nullptr;
  reinterpret_cast<Pending*>(pending)->call = call.release();
  all_pending.push_back(pending);
  return pending;
}

/// Waits for the call without the interpreter's lock.
kdl_error* WaitFor(QueuedCall& call, int64_t timeout_ns) {
  kdl_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  error = kdl_event_wait(call.event, timeout_ns);
  Py_END_ALLOW_THREADS;
  return error;
}

PyObject* Result(PyObject* self, PyObject* args, PyObject* keywords) {
  double seconds = -1;
  char timeout_name[] = "timeout";
  char* names[] = {timeout_name, nullptr};
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|d", names, &seconds) == 0) return nullptr;
  QueuedCall& call = *reinterpret_cast<Pending*>(self)->call;
  constexpr double kLongest = 9e9;  // in seconds; fits in 64 bits of nanoseconds
  bool is_limited = seconds >= 0 && seconds <= kLongest;
  int64_t timeout = is_limited ? static_cast<int64_t>(seconds * 1e9) : -1;
  if (!Succeeded(WaitFor(call, timeout))) return nullptr;
  if (PyCallable_Check(call.given.result.get()) != 0) {
    Ref found(call.given.TakeResult());
    if (!found) return nullptr;
    call.given.result = std::move(found);
  }
  call.ReleaseArguments();
  return call.given.TakeResult();
}

PyObject* IsDone(PyObject* self, PyObject* /*none*/) {
  return PyBool_FromLong(kdl_event_is_done(reinterpret_cast<Pending*>(self)->call->event));
}

void FreePending(PyObject* self) {
  ExceptionAside aside;
  std::erase(all_pending, self);  // before other threads may run
  QueuedCall* call = reinterpret_cast<Pending*>(self)->call;
  if (call != nullptr) kdl_error_free(WaitFor(*call, -1));
  delete call;
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyMethodDef pending_methods[] = {
    {"result", AsMethod(Result), METH_VARARGS | METH_KEYWORDS,
     "Waits, at most the given number of seconds, and returns what the call would have returned."},
    {"done", AsMethod(IsDone), METH_NOARGS, "Whether the call has ended."},
    {}};
PyType_Slot pending_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(FreePending)}, {Py_tp_methods, pending_methods}, {}};
PyType_Spec pending_spec = {"kernelc._core.Pending", sizeof(Pending), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, pending_slots};

}  // namespace

PyObject* Submit(PyObject* self, PyObject* args, PyObject* keywords) {
  return Enqueue(self, args, keywords, KDL_CORES_AUTO, 0);
}

PyObject* EnqueueKernel(PyObject* self, PyObject* args) {
  long long core_num = 0;
  int queue = 0;
  PyObject* given = nullptr;
  PyObject* keywords = nullptr;
  if (PyArg_ParseTuple(args, "LiO!O!", &core_num, &queue, &PyTuple_Type, &given, &PyDict_Type,
                       &keywords) == 0)
    return nullptr;
  return Enqueue(self, given, keywords, core_num, queue);
}

PyObject* Finish(PyObject* /*module*/, PyObject* /*none*/) {
  std::vector<Ref> waited;  // so that none of them ends its life meanwhile
  while (waited.size() < all_pending.size()) {
    PyObject* next = all_pending[waited.size()];
    Py_INCREF(next);
    waited.emplace_back(next);
    kdl_error_free(WaitFor(*reinterpret_cast<Pending*>(next)->call, -1));
  }
  PrintWithoutPython();
  Py_RETURN_NONE;
}

bool AddPendingCalls(PyObject* module) {
  pending_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&pending_spec));
  return pending_type != nullptr &&
         PyModule_AddObjectRef(module, "Pending", reinterpret_cast<PyObject*>(pending_type)) == 0;
}

}  // namespace kdl::python
