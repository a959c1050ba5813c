// Tests how an OpenCL device handles a driver that loses the device, and kernels that need too much memory.
#include <stdlib.h>  // setenv

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "conformance/opencl_kernels.h"
#include "drivers/fake_opencl.h"

namespace kdl::conformance {

// This executable does not run the suite, so its list of devices is empty.
const std::vector<DeviceUnderTest>& DevicesUnderTest() {
  static const std::vector<DeviceUnderTest> kNone;
  return kNone;
}

namespace {

constexpr std::int32_t kNotAvailable = -2;
constexpr std::int32_t kOutOfResources = -5;
constexpr std::int32_t kInvalidQueue = -36;

// A device, with tensors on the device and on the host.
struct Place {
  Place() {
    context.Register(kImages);
    context.Register(OpenclImages());
    device = context.Select("opencl");
    host = context.Select("host");
    y = context.Allocate(device, ElementOf<std::int64_t>(), {8}, "y");
    here = context.Allocate(host, ElementOf<std::int64_t>(), {8}, "here");
  }
  void Launch() const { device.queue().Launch("mark", 8, {y}).Wait(); }

  Context context;
  Device device;
  Device host;
  Tensor y;
  Tensor here;
};

bool IsThere() {
  setenv("POCL_DEVICES", "pthread", 0);
  const Context context;
  return CodeOf([&] { context.Select("opencl"); }) == KDL_OK;
}

bool Says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("OpenCL: a lost device is reported, also by all later calls") {
  if (!IsThere()) return;
  struct Row {
    const char* function;
    std::int32_t status;
    int times;
    const char* says;
  };
  // If a wait reports that resources ran out, the runtime waits a second time.
  constexpr Row kRows[] = {
      {"clEnqueueReadBuffer", kNotAvailable, 1,
       "OpenCL: running mark failed: CL_DEVICE_NOT_AVAILABLE (-2)"},
      {"clEnqueueNDRangeKernel", kInvalidQueue, 1,
       "OpenCL: launching mark failed: CL_INVALID_COMMAND_QUEUE (-36)"},
      {"clFinish", kOutOfResources, 2, "OpenCL: reading failed: CL_OUT_OF_RESOURCES (-5)"}};
  for (const Row& row : kRows) {
    CAPTURE(row.function);
    const Place place;
    place.Launch();
    const auto all = [&] {
      place.Launch();
      place.device.queue().Copy(place.here, place.y).Wait();
    };
    const auto says_it = [&](const auto& call) {
      std::string text;
      CHECK(CodeOf(call, &text) == KDL_ERROR_DEVICE);
      CAPTURE(text);
      CHECK(Says(text, row.says));
      CHECK(Says(text, "this process cannot use the device any more: restart it"));
    };
    fake_opencl_fail(row.function, row.status, row.times);
    says_it(all);
    // The driver would work again, but the runtime must not call it.
    says_it([&] { place.Launch(); });
    says_it([&] { place.context.Allocate(place.device, ElementOf<std::int64_t>(), {8}, "z"); });
    says_it([&] { place.device.queue().Copy(place.here, place.y).Wait(); });
  }
}

TEST_CASE("OpenCL: after a launch fails for lack of resources, the next launch may work") {
  if (!IsThere()) return;
  const Place place;
  std::string text;
  fake_opencl_fail("clEnqueueNDRangeKernel", kOutOfResources, 1);
  CHECK(CodeOf([&] { place.Launch(); }, &text) == KDL_ERROR_DEVICE);
  CHECK(Says(text, "OpenCL: launching mark failed: CL_OUT_OF_RESOURCES (-5)"));
  CHECK_FALSE(Says(text, "lost"));
  place.Launch();
}

TEST_CASE(
    "OpenCL: a kernel that needs too much local memory is an error that says what would fit") {
  if (!IsThere()) return;
  const Place place;
  std::string text;
  fake_opencl_workgroup(std::uint64_t{1} << 40);
  CHECK(CodeOf([&] { place.Launch(); }, &text) == KDL_ERROR_UNSUPPORTED);
  fake_opencl_workgroup(0);
  CAPTURE(text);
  CHECK(Says(text, "kernel mark needs 1099511627776 bytes of local memory, but a work-group on "));
  CHECK(Says(text, " of the elements fit"));
  place.Launch();
}

TEST_CASE(
    "OpenCL: all copies between the host and a device with its own memory use pinned memory") {
  if (!IsThere()) return;
  constexpr std::int64_t kRows = 63;
  constexpr std::int64_t kColumns = 3001;
  constexpr int kPieces = 3;  // number of chunks of 512 KiB
  struct Row {
    std::int64_t columns;
    const char* writes;
    const char* reads;
  };
  constexpr Row kCopies[] = {{kColumns, "clEnqueueWriteBuffer", "clEnqueueReadBuffer"},
                             {kColumns - 1, "clEnqueueWriteBufferRect", "clEnqueueReadBufferRect"}};
  for (const bool is_apart : {false, true}) {
    CAPTURE(is_apart);
    if (is_apart) setenv("FAKE_OPENCL_APART", "1", 1);
    const Place place;
    unsetenv("FAKE_OPENCL_APART");
    auto allocate = [&](const Device& device) {
      return place.context.Allocate(device, ElementOf<std::int64_t>(), {kRows, kColumns}, "x");
    };
    for (const Row& row : kCopies) {
      CAPTURE(row.columns);
      const Tensor there = allocate(place.device);
      const Tensor from = allocate(place.host);
      const Tensor to = allocate(place.host);
      for (std::int64_t i = 0; std::int64_t& number : from.Map<std::int64_t>()) number = 7 + i++;
      for (std::int64_t& number : to.Map<std::int64_t>()) number = 0;
      auto part = [&](const Tensor& tensor) { return tensor.Part(1, 0, row.columns, "", ""); };
      const int writes = fake_opencl_calls(row.writes);
      const int reads = fake_opencl_calls(row.reads);
      place.device.queue().Copy(part(there), part(from)).Wait();
      place.device.queue().Copy(part(to), part(there)).Wait();
      CHECK(fake_opencl_calls(row.writes) - writes == (is_apart ? kPieces : 1));
      CHECK(fake_opencl_calls(row.reads) - reads == (is_apart ? kPieces : 1));
      std::int64_t wrong = 0;
      const Mapping<std::int64_t> arrived = to.Map<std::int64_t>();
      for (std::int64_t i = 0; i < kRows * kColumns; ++i)
        wrong += arrived[i] != (i % kColumns < row.columns ? i + 7 : 0) ? 1 : 0;
      CHECK(wrong == 0);
    }
  }
}

}  // namespace kdl::conformance
