#include "drivers/fake_opencl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "opencl/cl_api.h"

namespace kdl::conformance {

namespace {

using namespace runtime::cl;

struct Failure {
  std::int32_t status = 0;
  int times = 0;
};

std::mutex mutex;  // guards all variables below
std::map<std::string, Failure> failing;
std::map<std::string, int> counted;
std::uint64_t workgroup_bytes = 0;

void* Own(const char* name) {
  static void* const library = dlopen(KDL_OPENCL_LOADER, RTLD_NOW | RTLD_LOCAL);
  void* found = library != nullptr ? dlsym(library, name) : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "fake_opencl: no %s in %s\n", name, KDL_OPENCL_LOADER);
    std::abort();
  }
  return found;
}

void Count(const char* name) {
  const std::lock_guard lock(mutex);
  ++counted[name];
}

// Returns whether this call of the function must fail. If so, stores the status that it returns.
bool Fails(const char* name, std::int32_t* status) {
  const std::lock_guard lock(mutex);
  const auto found = failing.find(name);
  if (found == failing.end()) return false;
  *status = found->second.status;
  if (--found->second.times == 0) failing.erase(found);
  return true;
}

enum class Name : int {
#define KDL_CL_NAME(name, result, params) name,
  KDL_CL_FUNCTIONS(KDL_CL_NAME)
#undef KDL_CL_NAME
};
constexpr const char* kFunctionNames[] = {
#define KDL_CL_NAME(name, result, params) "cl" #name,
    KDL_CL_FUNCTIONS(KDL_CL_NAME)
#undef KDL_CL_NAME
};

template <Name name, class Function>
struct Stub;

// Functions that create an object return their status through their last argument. They cannot be made to
// fail.
template <Name name, class Result, class... Arguments>
struct Stub<name, Result(Arguments...)> {
  static Result Call(Arguments... arguments) {
    static auto* const own =
        reinterpret_cast<Result (*)(Arguments...)>(Own(kFunctionNames[static_cast<int>(name)]));
    std::int32_t status = kSuccess;
    Count(kFunctionNames[static_cast<int>(name)]);
    if constexpr (std::is_same_v<Result, std::int32_t>) {
      if (Fails(kFunctionNames[static_cast<int>(name)], &status)) {
        if constexpr (name == Name::Finish) own(arguments...);  // so that no work is still running
        return status;
      }
    }
    if constexpr (name == Name::BuildProgram) return Build(own, arguments...);
    const Result result = own(arguments...);
    if constexpr (name == Name::GetKernelWorkGroupInfo) TellWorkgroup(arguments...);
    if constexpr (name == Name::GetDeviceInfo) TellFacts(arguments...);
    return result;
  }

 private:
  // Builds a program with additional options, such as `-DKDL_WORKGROUPS`.
  template <class Own, class... Rest>
  static Result Build(Own own, ProgramId program, std::uint32_t count, const DeviceId* devices,
                      const char* options, Rest... rest) {
    std::string all = options != nullptr ? options : "";
    if (const char* defines = std::getenv("FAKE_OPENCL_DEFINES")) all += std::string(" ") + defines;
    return own(program, count, devices, all.c_str(), rest...);
  }
  static void TellWorkgroup(KernelId, DeviceId, std::uint32_t what, std::size_t, void* value,
                            std::size_t*) {
    const std::lock_guard lock(mutex);
    if (what == kKernelWorkgroup && workgroup_bytes > 0)
      *static_cast<std::uint64_t*>(value) = workgroup_bytes;
  }
  static void TellFacts(DeviceId, std::uint32_t what, std::size_t, void* value, std::size_t*) {
    const char* bytes = std::getenv("FAKE_OPENCL_CONSTANTS");
    if (what == kConstantBytes && bytes != nullptr)
      *static_cast<std::uint64_t*>(value) = std::strtoull(bytes, nullptr, 10);
    if (what == kHostUnified && std::getenv("FAKE_OPENCL_APART") != nullptr)
      *static_cast<std::uint32_t*>(value) = 0;
  }
};

}  // namespace

extern "C" {
#define KDL_CL_STUB(name, result, params)                                                   \
  static result(*Resolve##name()) params { return &Stub<Name::name, result params>::Call; } \
  __attribute__((ifunc("Resolve" #name))) result cl##name params;
KDL_CL_FUNCTIONS(KDL_CL_STUB)
#undef KDL_CL_STUB

void fake_opencl_fail(const char* function, std::int32_t status, int times) {
  const std::lock_guard lock(mutex);
  failing[function] = {status, times};
}

int fake_opencl_calls(const char* function) {
  const std::lock_guard lock(mutex);
  return counted[function];
}

void fake_opencl_workgroup(std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  workgroup_bytes = bytes;
}
}

}  // namespace kdl::conformance
