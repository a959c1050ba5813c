// Runs the suite on the first OpenCL device of this machine. If there is none, nothing runs.
#include <stdlib.h>  // setenv
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "conformance/opencl_kernels.h"

namespace kdl::conformance {

namespace {

constexpr const char* kNoWorkspace = "pipes are buffers of a workgroup: kernels take no workspace";
constexpr const char* kNoStop = "OpenCL 1.2 stops nothing that runs";

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
    const auto prepare = [](Context& context) {
      context.Register(kImages);
      context.Register(OpenclImages());
    };
    std::vector<DeviceUnderTest> devices;
    setenv("POCL_DEVICES", "pthread basic", 0);  // makes the processor appear as two devices
    if (!IsThere("opencl")) return devices;
    const bool has_two = IsThere("opencl[1]");
    devices.push_back({"opencl",
                       has_two ? "opencl[1]" : "opencl",
                       prepare,
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

TEST_CASE("OpenCL: a child of a process that used OpenCL gets an error") {
  if (DevicesUnderTest().empty()) return;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const Context own;
    _exit(CodeOf([&] { own.Select("opencl"); }) == KDL_ERROR_UNSUPPORTED ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("OpenCL: a message says if there is no device") {
  if (DevicesUnderTest().empty()) MESSAGE("no OpenCL device");
}

}  // namespace kdl::conformance
