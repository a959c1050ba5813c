#include "api/builtin_devices.h"

#include "cluster/cluster_device.h"
#include "cuda/cuda_device.h"
#include "debug/debug_device.h"
#include "host/host_device.h"
#include "opencl/opencl_device.h"

namespace kdl::runtime {

Error AddBuiltinDevices(Context& context) {
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&HostDeviceOps(), context.hooks()));
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&DebugDeviceOps(), nullptr));
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&OpenclDeviceOps(), nullptr));
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&CudaDeviceOps(), nullptr));
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&OwnClusterDeviceOps(), nullptr));
  return context.AddDeviceKind(&ClusterDeviceOps(), nullptr);
}

}  // namespace kdl::runtime
