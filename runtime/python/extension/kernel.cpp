#include "extension/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

#include "api/dynamic_call.h"
#include "extension/arguments.h"
#include "extension/call.h"
#include "extension/call_ranks.h"
#include "extension/call_stream.h"
#include "extension/context.h"
#include "extension/description.h"
#include "extension/interpret.h"
#include "extension/library.h"
#include "extension/pending_call.h"

namespace kdl::python {

namespace {

PyTypeObject* kernel_type = nullptr;

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
  if (!stream.TakeStreamArgument(AnyVariant(*AsKernel(self)), &keywords)) return nullptr;
  PyObject* result = nullptr;
  if (CallInInterpreter(self, core_num, args, keywords, &result)) return result;
  Given given;
  Arguments arguments;
  CallRanks ranks;
  if (!ReadRanks(*AsKernel(self), keywords, &ranks) ||
      !CompleteArguments(self, args, keywords, &given) ||
      !OpenArguments(self, given, stream, &arguments))
    return nullptr;
  if (stream.is_given() && PyCallable_Check(given.result.get()) != 0) {
    PyErr_SetString(
        PyExc_TypeError,
        "the size of an output is known only after the call; with stream=, pass an array for it");
    return nullptr;
  }
  kdl_error* error = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  error = CallFunction(self, stream, arguments, core_num, ranks);
  Py_END_ALLOW_THREADS;
  return Succeeded(error) ? given.TakeResult() : nullptr;
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
    choices.push_back(
        {nullptr, {nullptr, &named, functions[f].variant}, nullptr, false, {}, nullptr});
  runtime::Error error = runtime::CheckDynamic(choices, Passed(arguments, core_num, ranks));
  if (!Succeeded(error.release())) return nullptr;
  Py_RETURN_NONE;
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

PyMethodDef kernel_methods[] = {
    {"run", AsMethod(RunKernel), METH_VARARGS, "Calls the kernel on a given number of cores."},
    {"check", AsMethod(CheckCall), METH_VARARGS, "Checks the arguments of a call."},
    {"submit", AsMethod(Submit), METH_VARARGS | METH_KEYWORDS,
     "Like a call, but returns at once: a `Pending` whose `result()` waits.\n\n"
     "Until then, the arrays must not be used. If Python frees the object earlier, this waits for "
     "the "
     "kernel."},
    {"enqueue", AsMethod(EnqueueKernel), METH_VARARGS,
     "Submits a call to a queue of the device, on a number of cores."},
    {}};
PyGetSetDef kernel_properties[] = {
    {"name", Name, nullptr, "The name in the source.", nullptr},
    {"signatures", Signatures, nullptr, "The parameters.", nullptr},
    {"constants", FunctionConstants, nullptr, "The constants that distinguish them.", nullptr},
    {}};
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

/// Only `load` creates kernels.
constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Slot kernel_slots[] = {{Py_tp_call, reinterpret_cast<void*>(CallKernel)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(FreeKernel)},
                              {Py_tp_methods, kernel_methods},
                              {Py_tp_getset, kernel_properties},
                              {}};
PyType_Spec kernel_spec = {"kernelc._core.Kernel", sizeof(Kernel), 0, kFlags | Py_TPFLAGS_BASETYPE,
                           kernel_slots};

}  // namespace

bool AddKernels(PyObject* module) {
  kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kernel_spec));
  return kernel_type != nullptr &&
         PyModule_AddObjectRef(module, "Kernel", reinterpret_cast<PyObject*>(kernel_type)) == 0 &&
         PyModule_AddFunctions(module, kernel_functions) == 0;
}

}  // namespace kdl::python
