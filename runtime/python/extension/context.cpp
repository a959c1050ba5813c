#include "extension/context.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace kdl::python {

namespace {

kdl_context* context = nullptr;
long fork_count = 0;
/// The package whose exceptions are raised. A package of users' kernels has a copy of this module, too.
std::string package = "kernelc";

std::atomic<bool> is_ending = false;
std::atomic<int> writers = 0;  ///< threads in WriteToPython

/// Writes a line that a kernel has printed to `sys.stdout`. There is no caller that could handle an exception.
void WriteLine(const char* text, size_t bytes) {
  ExceptionAside aside;
  PyObject* out = PySys_GetObject("stdout");  // a borrowed reference
  Ref line(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(bytes), "replace"));
  if (out != nullptr && out != Py_None && line)
    Ref written(PyObject_CallMethod(out, "write", "O", line.get()));
}

/// While the interpreter ends, threads that wait for its lock would wait forever.
void WriteToPython(void* /*user*/, const char* text, size_t bytes) {
  ++writers;  // before `is_ending` is read, since PrintWithoutPython sets that first
  if (is_ending) {
    std::fwrite(text, 1, bytes, stdout);
  } else {
    PyGILState_STATE state = PyGILState_Ensure();
    WriteLine(text, bytes);
    PyGILState_Release(state);
  }
  --writers;
}

}  // namespace

kdl_context* Context() {
  if (context != nullptr) return context;
  if (!Succeeded(kdl_context_create(&context))) return nullptr;
  kdl_context_on_print(context, WriteToPython, nullptr);
  return context;
}

long ForkCount() { return fork_count; }

PyObject* AfterFork(PyObject* /*module*/, PyObject* /*none*/) {
  context = nullptr;  // the parent's, which a child cannot use
  writers = 0;        // other threads, which do not exist here
  ++fork_count;
  Py_RETURN_NONE;
}

bool SetPackage(PyObject* module) {
  const char* name = PyModule_GetName(module);
  if (name == nullptr) return false;
  package = name;
  package.erase(std::min(package.find("._core"), package.size()));
  return true;
}

void PrintWithoutPython() {
  is_ending = true;
  // A thread that Python ends while it is in the runtime would end the process.
  constexpr std::chrono::milliseconds kStep{1};
  // `sys.stdout` may wait for something that does not happen any more.
  constexpr int kMostSteps = 1000;
  Py_BEGIN_ALLOW_THREADS;
  for (int step = 0; writers > 0 && step < kMostSteps; ++step) std::this_thread::sleep_for(kStep);
  Py_END_ALLOW_THREADS;
}

bool Succeeded(kdl_error* error) {
  if (error == nullptr) return true;
  Ref errors(PyImport_ImportModule((package + ".errors").c_str()));
  const char* message = kdl_error_message(error);  // paths in it need not be UTF-8
  Ref text(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)), "replace"));
  Ref exception(errors && text
                    ? PyObject_CallMethod(errors.get(), "of_runtime", "iO",
                                          static_cast<int>(kdl_error_code(error)), text.get())
                    : nullptr);
  kdl_error_free(error);
  if (exception)
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  return false;
}

}  // namespace kdl::python
