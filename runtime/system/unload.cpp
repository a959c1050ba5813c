// Part of the libraries of --emit shared only. kernelc links them without the start files of a C++ compiler, which otherwise
// end the lives of a library's static objects when the library is unloaded. Without this, the process would do so at its
// exit, and call functions that do not exist any more. The library also contains a C++ library of its own, whose memory for
// exceptions nobody else releases.
extern "C" {
extern char __dso_handle;  // the linker defines it; its address stands for the library
void __cxa_finalize(void* library);
}

namespace __gnu_cxx {
// Releases what the C++ library keeps until the process ends. Hidden, since that of the process must not be called.
[[gnu::weak, gnu::visibility("hidden")]] void __freeres();
}  // namespace __gnu_cxx

namespace {

[[gnu::destructor]] void EndStaticObjects() {
  __cxa_finalize(&__dso_handle);
  if (__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}

}  // namespace
