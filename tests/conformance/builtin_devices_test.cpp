// Runs the suite on the devices that every context has, and on the sample of a plugin device.
#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {

const std::vector<DeviceUnderTest>& DevicesUnderTest() {
  const auto prepare = [](Context& context) { context.Register(kImages); };
  static const std::vector<DeviceUnderTest> kDevices = {
      {"host", "host?threads=2", prepare, {}},
      {"host?threads=1", "host", prepare, {}},
      {"host?pin=0&threads=4", "host?threads=3", prepare, {}},
      {"host?resident=cores&threads=2", "host", prepare, {}},
      {"debug", "debug[1]", prepare, {}},
      {"debug[4]?resident=cores", "debug[5]", prepare, {}},
      {"debug[2]?seed=7&threads=1", "debug[3]", prepare, {}},
      {"plugin:" KDL_SAMPLE_DEVICE, "plugin:" KDL_SAMPLE_DEVICE "[1]", prepare, {}},
  };
  return kDevices;
}

}  // namespace kdl::conformance
