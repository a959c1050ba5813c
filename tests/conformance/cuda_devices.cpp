// Runs the suite on the CUDA devices of the machine, or of the fake driver.
#include "conformance/conformance.h"
#include "conformance/cuda_kernels.h"
#include "conformance/kernels.h"

namespace kdl::conformance {

namespace {

constexpr const char* kNoWorkspace = "pipes are buffers of a workgroup: kernels take no workspace";
constexpr const char* kNoStop = "nothing stops what runs";

void Prepare(Context& context) {
  context.Register(kImages);
  context.Register(CudaImages());
}

bool IsThere(const char* spec) {
  const Context context;
  return CodeOf([&] { context.Select(spec); }) == KDL_OK;
}

// These tests need two devices, so they cannot pass here.
constexpr const char* kOneDevice = "there is only one device";
constexpr const char* kOfTwo[] = {"TensorsMustLiveOnTheDevice", "TwoDevicesOfAKindAtOnce"};

}  // namespace

const std::vector<DeviceUnderTest>& DevicesUnderTest() {
  static const std::vector<DeviceUnderTest> kDevices = [] {
    std::vector<DeviceUnderTest> devices;
    if (!IsThere("cuda")) return devices;
    const bool has_two = IsThere("cuda[1]");
    devices.push_back({"cuda",
                       has_two ? "cuda[1]" : "cuda",
                       Prepare,
                       {{"WorkspaceIsAllocatedOrGiven", kNoWorkspace},
                        {"SlicesOfTheWorkspaceAreApart", kNoWorkspace},
                        {"SlicesOnlyForBusyCores", kNoWorkspace},
                        {"BoundCallsHaveTheirWorkspaces", kNoWorkspace},
                        {"CallsHaveTheirWorkspaces", kNoWorkspace},
                        {"CancelEndsWhatRuns", kNoStop}}});
    if (!has_two) {
      for (const char* test : kOfTwo) devices[0].unsupported.emplace_back(test, kOneDevice);
    }
    return devices;
  }();
  return kDevices;
}

TEST_CASE("CUDA: there is a device to test") { REQUIRE_FALSE(DevicesUnderTest().empty()); }

}  // namespace kdl::conformance
