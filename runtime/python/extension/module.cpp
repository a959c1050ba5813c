#include "core/processor.h"
#include "extension/context.h"
#include "extension/interpret.h"
#include "extension/kernel.h"
#include "extension/pending_call.h"
#include "kdl/queue.h"
#include "kdl/version.h"

// The module kernelc._core, or _core of a package that --emit python has written. It connects Python objects with the runtime;
// everything that need not be fast is written in Python.

namespace kdl::python {

namespace {

/// processor(): a number that is the same for processors that can run the same code.
PyObject* Processor(PyObject* /*module*/, PyObject* /*none*/) {
  return PyLong_FromUnsignedLongLong(runtime::UsualFeatures());
}

PyMethodDef module_functions[] = {
    {"after_fork", AfterFork, METH_NOARGS, "To be called in a forked child."},
    {"change_interpret_depth", ChangeInterpretDepth, METH_O,
     "Adds to the number of blocks of interpret() that threads are in."},
    {"processor", Processor, METH_NOARGS, "Which instructions the processor has."},
    {}};
/// Adds the version, and the number of cores of a call that states none. On failure, sets a Python exception and returns false.
bool AddConstants(PyObject* module) {
  Ref cores(PyLong_FromLongLong(KDL_CORES_AUTO));
  return cores && PyModule_AddObjectRef(module, "CORES_AUTO", cores.get()) == 0 &&
         PyModule_AddStringConstant(module, "version", KDL_VERSION) == 0;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_core",
                          nullptr,
                          -1,
                          module_functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

}  // namespace kdl::python

PyMODINIT_FUNC PyInit__core() {
  kdl::python::Ref module(PyModule_Create(&kdl::python::definition));
  if (!module || !kdl::python::SetPackage(module.get()) || !kdl::python::AddKernels(module.get()) ||
      !kdl::python::AddPendingCalls(module.get()) || !kdl::python::AddConstants(module.get()))
    return nullptr;
  return module.release();
}
