#include "support/loaded_library.h"

#include <dlfcn.h>

namespace kdl {

Result<LoadedLibrary> LoadedLibrary::Load(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (handle == nullptr) return Failure{dlerror(), FailureKind::Environment};
  return LoadedLibrary(handle);
}

void* LoadedLibrary::AddressOf(const char* name) const { return dlsym(handle_, name); }

}  // namespace kdl
