// Code shared by all tests of the suite, and the main function of each executable that links the suite.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "conformance/conformance.h"

#include <algorithm>
#include <cstdlib>

namespace kdl::conformance {

void ForEachDevice(const char* test_name, const std::function<void(Bench&)>& test) {
  for (const DeviceUnderTest& device : DevicesUnderTest()) {
    SUBCASE(device.spec.c_str()) {
      const auto excuse = std::find_if(device.unsupported.begin(), device.unsupported.end(),
                                       [&](const auto& entry) { return entry.first == test_name; });
      if (excuse != device.unsupported.end() && std::getenv(kRunsUnsupported) == nullptr) {
        MESSAGE(std::string(test_name), " is unsupported on ", device.spec, ": ", excuse->second);
        continue;
      }
      INFO("device ", device.spec);
      Bench bench(device);
      test(bench);
    }
  }
}

}  // namespace kdl::conformance
