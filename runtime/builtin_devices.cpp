#include "builtin_devices.h"

#include "debug/debug_device.h"
#include "host/host_device.h"
#include "opencl/opencl_device.h"

namespace kdl::runtime {

Error AddBuiltinDevices(Context& context) {
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&HostDeviceOps(), context.hooks()));
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&DebugDeviceOps(), nullptr));
  return context.AddDeviceKind(&OpenclDeviceOps(), nullptr);
}

}  // namespace kdl::runtime
