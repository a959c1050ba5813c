#include "extension/kernel.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "api/dynamic_call.h"
#include "core/element.h"
#include "extension/arguments.h"
#include "extension/call_ranks.h"
#include "extension/call_stream.h"
#include "extension/context.h"
#include "extension/divert.h"
#include "extension/library.h"

// The Python types for kernels and for calls that have not ended yet. A library is never unloaded, so a kernel
// only points to it.

namespace kdl::python {

namespace {

PyTypeObject* kernel_type = nullptr;
PyTypeObject* pending_type = nullptr;

struct Kernel {
  PyObject_HEAD Library* library;
  size_t begin;  ///< its functions: those with the same name, for different element types
  size_t end;
};

Kernel* AsKernel(PyObject* object) { return reinterpret_cast<Kernel*>(object); }

const kdl_variant& AnyVariant(const Kernel& kernel) {
  return *kernel.library->functions()[kernel.begin].variant;
}

/// Reads how many dimensions packs have, if the call says so. On failure, sets a Python exception and returns false.
bool ReadRanks(const Kernel& kernel, PyObject* keywords, CallRanks* ranks) {
  for (size_t f = kernel.begin; f < kernel.end; ++f)
    if (!ranks->Read(*kernel.library->functions()[f].variant, keywords)) return false;
  return true;
}

/// The arguments of a call: either a complete tuple from the caller, or what `complete`, a method of a Python
/// subclass, makes of them. It returns all arguments and the outputs that it has allocated, or None.
struct Given {
  Ref owner;
  std::vector<PyObject*> all;
  Ref result;
};

bool Complete(PyObject* self, PyObject* args, PyObject* keywords, Given* given) {
  const Kernel& kernel = *AsKernel(self);
  Py_ssize_t count = PyTuple_Size(args);
  bool is_complete = count == AnyVariant(kernel).param_count &&
                     (keywords == nullptr || PyDict_Size(keywords) == 0);
  if (is_complete) {
    Py_INCREF(args);
    given->owner = Ref(args);
    Py_INCREF(Py_None);
    given->result = Ref(Py_None);
  } else {
    Ref none(keywords == nullptr ? PyDict_New() : nullptr);
    Ref both(PyObject_CallMethod(self, "complete", "OO", args,
                                 keywords == nullptr ? none.get() : keywords));
    PyObject* all = nullptr;
    PyObject* result = nullptr;
    if (!both || PyArg_ParseTuple(both.get(), "O!O", &PyTuple_Type, &all, &result) == 0)
      return false;
    Py_INCREF(all);
    given->owner = Ref(all);
    Py_INCREF(result);
    given->result = Ref(result);
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(given->owner.get()); ++i)
    given->all.push_back(PyTuple_GetItem(given->owner.get(), i));
  if (std::ssize(given->all) == AnyVariant(kernel).param_count) return true;
  PyErr_SetString(PyExc_TypeError, "`complete` must return an argument for each parameter");
  return false;
}

bool OpenArguments(PyObject* self, const Given& given, const CallStream& stream,
                   Arguments* arguments) {
  const Kernel& kernel = *AsKernel(self);
  if (!kernel.library->Open()) return false;
  ArrayPlace place = kernel.library->place();
  if (stream.is_given()) place.stream = stream.handle();
  return arguments->Open(given.all.data(), AnyVariant(kernel), &place);
}

/// Makes the operations that are enqueued later follow the streams of the arguments, and that of the caller.
kdl_error* FollowStreams(PyObject* self, const CallStream& stream, const Arguments& arguments,
                         int32_t number) {
  if (arguments.streams().empty() && !stream.is_given()) return nullptr;
  kdl_queue* queue = nullptr;
  kdl_device* device = kdl_kernels_device(AsKernel(self)->library->kernels());
  kdl_error* error = kdl_device_queue(device, number, &queue);
  const auto follow = [&](long long handle) {
    if (error == nullptr) error = kdl_queue_after_stream(queue, StreamOf(handle));
  };
  for (long long one : arguments.streams()) follow(one);
  if (stream.is_given() &&
      std::ranges::find(arguments.streams(), stream.handle()) == arguments.streams().end())
    follow(stream.handle());
  return error;
}

/// Enqueues a call of one of the kernel's functions.
kdl_error* EnqueueCall(PyObject* self, const runtime::DynamicArguments& arguments, int32_t queue,
                       kdl_event** done) {
  const Kernel& kernel = *AsKernel(self);
  return runtime::EnqueueDynamic(kernel.library->kernels(), static_cast<int32_t>(kernel.begin),
                                 static_cast<int32_t>(kernel.end - kernel.begin), arguments, queue,
                                 done);
}

runtime::DynamicArguments Passed(const Arguments& arguments, int64_t core_num,
                                 const CallRanks& ranks) {
  return {{arguments.given(), static_cast<size_t>(arguments.count())}, core_num, ranks.ranks()};
}

/// Calls one of the kernel's functions. If the caller has given a stream, later work of the stream starts after the call.
/// Otherwise, the call has ended when this returns.
kdl_error* CallFunction(PyObject* self, const CallStream& stream, const Arguments& arguments,
                        int64_t core_num, const CallRanks& ranks) {
  const int32_t queue = stream.queue();
  const runtime::DynamicArguments passed = Passed(arguments, core_num, ranks);
  if (kdl_error* error = FollowStreams(self, stream, arguments, queue)) return error;
  if (!stream.is_given()) return EnqueueCall(self, passed, queue, nullptr);
  kdl_event* done = nullptr;
  if (kdl_error* error = EnqueueCall(self, passed, queue, &done)) return error;
  kdl_error* error = kdl_stream_after_event(StreamOf(stream.handle()), done);
  kdl_event_free(done);
  return error;
}

PyObject* Call(PyObject* self, PyObject* args, PyObject* keywords, int64_t core_num) {
  CallStream stream;
  if (!stream.Take(AnyVariant(*AsKernel(self)), &keywords)) return nullptr;
  PyObject* diverted = nullptr;
  if (CallDiverted(self, core_num, args, keywords, &diverted)) return diverted;
  Given given;
  Arguments arguments;
  CallRanks ranks;
  if (!ReadRanks(*AsKernel(self), keywords, &ranks) || !Complete(self, args, keywords, &given) ||
      !OpenArguments(self, given, stream, &arguments))
    return nullptr;
  kdl_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  error = CallFunction(self, stream, arguments, core_num, ranks);
  Py_END_ALLOW_THREADS;
  return Succeeded(error) ? given.result.release() : nullptr;
}

PyObject* CallKernel(PyObject* self, PyObject* args, PyObject* keywords) {
  return Call(self, args, keywords, KDL_CORES_AUTO);
}

/// run(core_num, args, keywords): a call on a given number of cores.
PyObject* RunKernel(PyObject* self, PyObject* args) {
  long long core_num = 0;
  PyObject* given = nullptr;
  PyObject* keywords = nullptr;
  if (PyArg_ParseTuple(args, "LO!O!", &core_num, &PyTuple_Type, &given, &PyDict_Type, &keywords) ==
      0)
    return nullptr;
  if (core_num == KDL_CORES_AUTO) {  // only calls without a number pass this value
    kdl_error* error = kdl_error_create(
        KDL_ERROR_INVALID_ARGUMENT,
        ("core_num is " + std::to_string(core_num) + "; a launch runs on 1 core or more").c_str());
    Succeeded(error);
    return nullptr;
  }
  return Call(self, given, keywords, core_num);
}

/// check(core_num, args, keywords): raises the exception that a call on any device would raise before the kernel runs. Of the
/// keywords, only ranks of packs are used.
PyObject* CheckCall(PyObject* self, PyObject* args) {
  long long core_num = 0;
  PyObject* all = nullptr;
  PyObject* keywords = nullptr;
  CallRanks ranks;
  const Kernel& kernel = *AsKernel(self);
  if (PyArg_ParseTuple(args, "LO!|O!", &core_num, &PyTuple_Type, &all, &PyDict_Type, &keywords) ==
          0 ||
      !ReadRanks(kernel, keywords, &ranks))
    return nullptr;
  if (PyTuple_Size(all) != AnyVariant(kernel).param_count) {
    PyErr_Format(PyExc_TypeError, "%s has %d parameters, but is called with %zd arguments",
                 kernel.library->functions()[kernel.begin].name.c_str(),
                 AnyVariant(kernel).param_count, PyTuple_Size(all));
    return nullptr;
  }
  std::vector<PyObject*> objects;
  for (Py_ssize_t i = 0; i < PyTuple_Size(all); ++i) objects.push_back(PyTuple_GetItem(all, i));
  Arguments arguments;
  if (!arguments.Open(objects.data(), AnyVariant(kernel), nullptr)) return nullptr;
  const std::vector<Function>& functions = kernel.library->functions();
  const kdl_kernel named = {functions[kernel.begin].name.c_str(), nullptr, 0, 0};
  std::vector<runtime::CalledKernel> choices;
  for (size_t f = kernel.begin; f < kernel.end; ++f)
    choices.push_back({nullptr, {nullptr, &named, functions[f].variant}, nullptr, false, nullptr});
  runtime::Error error = runtime::CheckDynamic(choices, Passed(arguments, core_num, ranks));
  if (!Succeeded(error.release())) return nullptr;
  Py_RETURN_NONE;
}

/// A call that has been enqueued. Keeps its arrays open until it has ended.
struct QueuedCall {
  Given given;
  Arguments arguments;
  kdl_event* event = nullptr;
  ~QueuedCall() { kdl_event_free(event); }
};

struct Pending {
  PyObject_HEAD QueuedCall* call;
};

/// All objects of this type; not owned.
std::vector<PyObject*> all_pending;

PyObject* Enqueue(PyObject* self, PyObject* args, PyObject* keywords, int32_t queue) {
  auto call = std::make_unique<QueuedCall>();
  CallStream stream;
  CallRanks ranks;
  if (!stream.Take(AnyVariant(*AsKernel(self)), &keywords) ||
      !ReadRanks(*AsKernel(self), keywords, &ranks) ||
      !Complete(self, args, keywords, &call->given) ||
      !OpenArguments(self, call->given, stream, &call->arguments) ||
      !Succeeded(FollowStreams(self, stream, call->arguments, queue)))
    return nullptr;
  if (!Succeeded(
          EnqueueCall(self, Passed(call->arguments, KDL_CORES_AUTO, ranks), queue, &call->event)))
    return nullptr;
  PyObject* pending = PyType_GenericAlloc(pending_type, 0);
  if (pending == nullptr) return nullptr;
  reinterpret_cast<Pending*>(pending)->call = call.release();
  all_pending.push_back(pending);
  return pending;
}

PyObject* Submit(PyObject* self, PyObject* args, PyObject* keywords) {
  return Enqueue(self, args, keywords, 0);
}

/// enqueue(queue, args, keywords): a call on a queue of the device.
PyObject* EnqueueKernel(PyObject* self, PyObject* args) {
  int queue = 0;
  PyObject* given = nullptr;
  PyObject* keywords = nullptr;
  if (PyArg_ParseTuple(args, "iO!O!", &queue, &PyTuple_Type, &given, &PyDict_Type, &keywords) == 0)
    return nullptr;
  return Enqueue(self, given, keywords, queue);
}

/// Waits for the call without the interpreter's lock.
kdl_error* WaitFor(QueuedCall& call, int64_t timeout_ns) {
  kdl_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  error = kdl_event_wait(call.event, timeout_ns);
  Py_END_ALLOW_THREADS;
  return error;
}

PyObject* Result(PyObject* self, PyObject* args) {
  double seconds = -1;
  if (PyArg_ParseTuple(args, "|d", &seconds) == 0) return nullptr;
  QueuedCall& call = *reinterpret_cast<Pending*>(self)->call;
  constexpr double kLongest = 9e9;  // in seconds; fits in 64 bits of nanoseconds
  bool is_limited = seconds >= 0 && seconds <= kLongest;
  int64_t timeout = is_limited ? static_cast<int64_t>(seconds * 1e9) : -1;
  if (!Succeeded(WaitFor(call, timeout))) return nullptr;
  PyObject* result = call.given.result.get();
  Py_INCREF(result);
  return result;
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

/// finish(): waits for all calls, before the interpreter ends.
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

/// Returns a parameter as (name, direction, element type, shape, constant sizes and names of sizes).
PyObject* Describe(const kdl_variant& variant, const kdl_param_desc& param) {
  Ref sizes(PyTuple_New(param.rank));
  for (int32_t d = 0; d < param.rank && sizes; ++d) {
    int32_t symbol = param.dim_symbol[d];
    PyObject* size = nullptr;
    if (symbol >= 0) {
      size = PyUnicode_FromString(variant.dims[symbol]);
    } else if (symbol == KDL_DIM_CONST) {
      size = PyLong_FromLongLong(param.dim_const[d]);
    } else {
      Py_INCREF(Py_None);
      size = Py_None;
    }
    if (size == nullptr || PyTuple_SetItem(sizes.get(), d, size) != 0) return nullptr;
  }
  const char* direction = param.is_tensor == 0           ? ""
                          : param.direction == KDL_OUT   ? "out"
                          : param.direction == KDL_INOUT ? "inout"
                                                         : "in";
  PyObject* repeats = (param.flags & KDL_PARAM_BROADCAST) != 0 ? Py_True : Py_False;
  return sizes ? Py_BuildValue("(ssssOO)", param.name, direction,
                               runtime::ElementName(param.element).data(), param.shape, sizes.get(),
                               repeats)
               : nullptr;
}

/// Returns the parameters of each function of the kernel.
PyObject* Signatures(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  Ref all(PyList_New(0));
  for (size_t f = kernel.begin; f < kernel.end && all; ++f) {
    const kdl_variant& variant = *kernel.library->functions()[f].variant;
    Ref params(PyList_New(0));
    for (int32_t p = 0; p < variant.param_count && params; ++p) {
      Ref one(Describe(variant, variant.params[p]));
      if (!one || PyList_Append(params.get(), one.get()) != 0) return nullptr;
    }
    if (!params || PyList_Append(all.get(), params.get()) != 0) return nullptr;
  }
  return all.release();
}

/// Returns the constants that distinguish each function of the kernel from the others.
PyObject* FunctionConstants(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  Ref all(PyList_New(0));
  for (size_t f = kernel.begin; f < kernel.end && all; ++f) {
    Ref one(PyUnicode_FromString(kernel.library->functions()[f].constants.c_str()));
    if (!one || PyList_Append(all.get(), one.get()) != 0) return nullptr;
  }
  return all.release();
}

PyObject* Name(PyObject* self, void* /*closure*/) {
  const Kernel& kernel = *AsKernel(self);
  return PyUnicode_FromString(kernel.library->functions()[kernel.begin].name.c_str());
}

/// load(path, device, type): returns the kernels of a shared object as instances of `type`, a subclass of
/// Kernel.
PyObject* Load(PyObject* /*module*/, PyObject* args) {
  PyObject* encoded = nullptr;
  const char* device = nullptr;
  PyObject* type = nullptr;
  if (PyArg_ParseTuple(args, "O&sO!", PyUnicode_FSConverter, &encoded, &device, &PyType_Type,
                       &type) == 0)
    return nullptr;
  Ref path(encoded);
  if (PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), kernel_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "load needs a subclass of Kernel");
    return nullptr;
  }
  Library* library = Library::Load(PyBytes_AsString(path.get()), device);
  if (library == nullptr) return nullptr;
  Ref kernels(PyList_New(0));
  const std::vector<Function>& functions = library->functions();
  for (size_t begin = 0, end = 0; begin < functions.size() && kernels; begin = end) {
    while (end < functions.size() && functions[end].name == functions[begin].name) ++end;
    Ref kernel(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
    if (!kernel) return nullptr;
    AsKernel(kernel.get())->library = library;
    AsKernel(kernel.get())->begin = begin;
    AsKernel(kernel.get())->end = end;
    if (PyList_Append(kernels.get(), kernel.get()) != 0) return nullptr;
  }
  return kernels.release();
}

template <class Function>
PyCFunction AsMethod(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kernel_methods[] = {
    {"run", AsMethod(RunKernel), METH_VARARGS, "Calls the kernel on a given number of cores."},
    {"check", AsMethod(CheckCall), METH_VARARGS, "Checks the arguments of a call."},
    {"submit", AsMethod(Submit), METH_VARARGS | METH_KEYWORDS,
     "Like a call, but returns at once: a `Pending` whose `result()` waits.\n\n"
     "Until then, the arrays must not be used."},
    {"enqueue", AsMethod(EnqueueKernel), METH_VARARGS, "Submits a call to a queue of the device."},
    {}};
PyGetSetDef kernel_properties[] = {
    {"name", Name, nullptr, "The name in the source.", nullptr},
    {"signatures", Signatures, nullptr, "The parameters.", nullptr},
    {"constants", FunctionConstants, nullptr, "The constants that distinguish them.", nullptr},
    {}};
PyMethodDef pending_methods[] = {
    {"result", AsMethod(Result), METH_VARARGS,
     "Waits, at most the given number of seconds, and returns what the call would have returned."},
    {"done", AsMethod(IsDone), METH_NOARGS, "Whether the call has ended."},
    {}};
/// element(object, name): returns the element type of an array, such as "f32"; "" if the object is not an array.
/// Exceptions call it by its name.
PyObject* ElementOf(PyObject* /*module*/, PyObject* args) {
  PyObject* object = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTuple(args, "Os", &object, &name) == 0) return nullptr;
  if (!TensorArgument::IsArray(object)) return PyUnicode_FromString("");
  TensorArgument tensor;
  if (!tensor.Open(object, name, nullptr)) return nullptr;
  return PyUnicode_FromString(runtime::ElementName(tensor.view().element).data());
}

/// shape(object): returns the sizes of an array; () if the object is not an array.
PyObject* ShapeOf(PyObject* /*module*/, PyObject* object) {
  TensorArgument tensor;
  bool is_array = TensorArgument::IsArray(object);
  if (is_array && !tensor.Open(object, "argument", nullptr)) return nullptr;
  Ref sizes(PyTuple_New(tensor.view().rank));
  for (int32_t d = 0; d < tensor.view().rank && sizes; ++d) {
    PyObject* size = PyLong_FromLongLong(tensor.view().size[d]);
    if (size == nullptr || PyTuple_SetItem(sizes.get(), d, size) != 0) return nullptr;
  }
  return sizes.release();
}

PyMethodDef kernel_functions[] = {
    {"element", AsMethod(ElementOf), METH_VARARGS, "The element type of an array."},
    {"finish", AsMethod(Finish), METH_NOARGS, "Waits for all calls."},
    {"shape", AsMethod(ShapeOf), METH_O, "The sizes of an array."},
    {"load", AsMethod(Load), METH_VARARGS, "Loads a shared object."},
    {}};

void FreeKernel(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

/// Only this file creates objects of these types.
constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Slot kernel_slots[] = {{Py_tp_call, reinterpret_cast<void*>(CallKernel)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(FreeKernel)},
                              {Py_tp_methods, kernel_methods},
                              {Py_tp_getset, kernel_properties},
                              {}};
PyType_Spec kernel_spec = {"kernelc._core.Kernel", sizeof(Kernel), 0, kFlags | Py_TPFLAGS_BASETYPE,
                           kernel_slots};
PyType_Slot pending_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(FreePending)}, {Py_tp_methods, pending_methods}, {}};
PyType_Spec pending_spec = {"kernelc._core.Pending", sizeof(Pending), 0, kFlags, pending_slots};

}  // namespace

bool AddKernels(PyObject* module) {
  kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
  pending_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&pending_spec));
  return kernel_type != nullptr && pending_type != nullptr &&
         PyModule_AddObjectRef(module, "Kernel", reinterpret_cast<PyObject*>(kernel_type)) == 0 &&
         PyModule_AddObjectRef(module, "Pending", reinterpret_cast<PyObject*>(pending_type)) == 0 &&
         PyModule_AddFunctions(module, kernel_functions) == 0;
}

}  // namespace kdl::python
