#include "extension/call.h"

#include <algorithm>
#include <iterator>

namespace kdl::python {

bool CompleteArguments(PyObject* self, PyObject* args, PyObject* keywords, Given* given) {
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

PyObject* Given::TakeResult() const {
  PyObject* found = result.get();
  if (PyCallable_Check(found) != 0) return PyObject_CallObject(found, nullptr);
  Py_INCREF(found);
  return found;
}

bool OpenArguments(PyObject* self, const Given& given, const CallStream& stream,
                   Arguments* arguments) {
  const Kernel& kernel = *AsKernel(self);
  if (!kernel.library->OpenKernels()) return false;
  ArrayPlace place = kernel.library->place();
  if (stream.is_given()) place.stream = stream.handle();
  return arguments->Open(given.all.data(), AnyVariant(kernel), &place);
}

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

bool ReadRanks(const Kernel& kernel, PyObject* keywords, CallRanks* ranks) {
  for (size_t f = kernel.begin; f < kernel.end; ++f)
    if (!ranks->Read(*kernel.library->functions()[f].variant, keywords)) return false;
  return true;
}

runtime::DynamicArguments Passed(const Arguments& arguments, int64_t core_num,
                                 const CallRanks& ranks) {
  return {{arguments.given(), static_cast<size_t>(arguments.count())}, core_num, ranks.ranks()};
}

kdl_error* EnqueueCall(PyObject* self, const runtime::DynamicArguments& arguments, int32_t queue,
                       kdl_event** done) {
  const Kernel& kernel = *AsKernel(self);
  return runtime::EnqueueDynamic(kernel.library->kernels(), static_cast<int32_t>(kernel.begin),
                                 static_cast<int32_t>(kernel.end - kernel.begin), arguments, queue,
                                 done);
}

}  // namespace kdl::python
