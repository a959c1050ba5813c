#include "opencl/cl_api.h"

#include <string>

namespace kdl::runtime::cl {

Error Api::Load(Api* api) {
  constexpr const char* kLoader = "libOpenCL.so.1";
  api->library = LoadDriver(kLoader);
  if (api->library == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "OpenCL is not available: ", kLoader,
                " cannot be loaded; install an OpenCL driver and its ICD loader");
  }
#define KDL_CL_FIND(name, result, params)                                             \
  api->name = reinterpret_cast<result(*) params>(SymbolOf(api->library, "cl" #name)); \
  if (api->name == nullptr)                                                           \
    return Fail(KDL_ERROR_NOT_FOUND, kLoader, " has no cl" #name,                     \
                "; install a loader for OpenCL 1.2 or later");
  KDL_CL_FUNCTIONS(KDL_CL_FIND)
#undef KDL_CL_FIND
  return nullptr;
}

std::string ErrorName(std::int32_t status) {
  struct Row {
    std::int32_t status;
    const char* name;
  };
  constexpr Row kRows[] = {{-1, "CL_DEVICE_NOT_FOUND"},
                           {-2, "CL_DEVICE_NOT_AVAILABLE"},
                           {-3, "CL_COMPILER_NOT_AVAILABLE"},
                           {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                           {-5, "CL_OUT_OF_RESOURCES"},
                           {-6, "CL_OUT_OF_HOST_MEMORY"},
                           {kInvalidContext, "CL_INVALID_CONTEXT"},
                           {kInvalidQueue, "CL_INVALID_COMMAND_QUEUE"},
                           {-11, "CL_BUILD_PROGRAM_FAILURE"},
                           {-46, "CL_INVALID_KERNEL_NAME"},
                           {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                           {-61, "CL_INVALID_BUFFER_SIZE"}};
  for (const Row& row : kRows) {
    if (row.status == status) return Concat(row.name, " (", status, ")");
  }
  return Concat("OpenCL error ", status);
}

}  // namespace kdl::runtime::cl
