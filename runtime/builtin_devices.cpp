#include "builtin_devices.h"

#include "debug/debug_device.h"
#include "host/host_device.h"

namespace kdl::runtime {

Error AddBuiltinDevices(Context& context) {
  KDL_RETURN_IF_ERROR(context.AddDeviceKind(&HostDeviceOps(), nullptr));
  return context.AddDeviceKind(&DebugDeviceOps(), nullptr);
}

}  // namespace kdl::runtime
