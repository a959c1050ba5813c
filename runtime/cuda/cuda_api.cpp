#include "cuda/cuda_api.h"

#include <string>

namespace kdl::runtime::cu {

Error Api::Load(Api* api) {
  constexpr const char* kDriver = "libcuda.so.1";
  api->library = LoadDriver(kDriver);
  if (api->library == nullptr) {
    return Fail(KDL_ERROR_NOT_FOUND, "CUDA is not available: ", kDriver,
                " cannot be loaded; install NVIDIA's driver");
  }
#define KDL_CU_FIND(name, params)                                                     \
  api->name = reinterpret_cast<Status(*) params>(SymbolOf(api->library, "cu" #name)); \
  if (api->name == nullptr)                                                           \
    return Fail(KDL_ERROR_NOT_FOUND, kDriver, " has no cu" #name,                     \
                "; install the driver of CUDA 12 or later");
  KDL_CU_FUNCTIONS(KDL_CU_FIND)
#undef KDL_CU_FIND
#define KDL_CU_FIND(name, params) \
  api->name = reinterpret_cast<Status(*) params>(SymbolOf(api->library, "cu" #name));
  KDL_CU_LATE_FUNCTIONS(KDL_CU_FIND)
#undef KDL_CU_FIND
  const Status status = api->Init(0);
  if (status == kSuccess) return nullptr;
  return Fail(KDL_ERROR_NOT_FOUND, "CUDA is not available: ", kDriver, " says ",
              api->StatusName(status));
}

std::string Api::StatusName(Status status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName(status, &name) != kSuccess || GetErrorString(status, &text) != kSuccess)
    return Concat("CUDA error ", status);
  return Concat(name, " (", status, "), ", text);
}

}  // namespace kdl::runtime::cu
