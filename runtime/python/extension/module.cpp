#include "core/processor.h"
#include "extension/context.h"
#include "extension/divert.h"
#include "extension/kernel.h"
#include "kdl/version.h"

// The module kernelc._core, or _core of a package that --emit python has written. It connects Python objects with the runtime; everything that need not be fast is
// written in Python.

namespace kdl::python {

namespace {

/// processor(): a number that is the same for processors that can run the same code.
PyObject* Processor(PyObject* /*module*/, PyObject* /*none*/) {
  return PyLong_FromUnsignedLongLong(runtime::UsualFeatures());
}

PyMethodDef module_functions[] = {
    {"after_fork", AfterFork, METH_NOARGS, "To be called in a forked child."},
    {"divert", Divert, METH_O, "Whether calls go to Python first: adds 1 or -1."},
    {"processor", Processor, METH_NOARGS, "Which instructions the processor has."},
    {}};
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
      PyModule_AddStringConstant(module.get(), "version", KDL_VERSION) != 0)
    return nullptr;
  return module.release();
}
