// Part of the libraries of --emit shared only. kernelc links them without the start files of a C++ compiler, which otherwise
// end the lives of a library's static objects when the library is unloaded. Without this, the process would do so at its
// exit, and call functions that do not exist any more.
extern "C" {
extern char __dso_handle;  // the linker defines it; its address stands for the library
void __cxa_finalize(void* library);
}

namespace {

[[gnu::destructor]] void EndStaticObjects() { __cxa_finalize(&__dso_handle); }

}  // namespace
