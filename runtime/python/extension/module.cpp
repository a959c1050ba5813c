#include "extension/context.h"
#include "extension/kernel.h"

// The module kernelc._core. It connects Python objects with the runtime; everything that need not be fast is
// written in Python.

namespace kdl::python {

namespace {

PyMethodDef module_functions[] = {
    {"after_fork", AfterFork, METH_NOARGS, "To be called in a forked child."}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "kernelc._core",
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
  if (!module || !kdl::python::AddKernels(module.get())) return nullptr;
  return module.release();
}
