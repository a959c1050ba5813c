// Shared by the conformance tests: the devices under test, and the macro that defines a test.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "kdl/device_plugin.h"
#include "kdl/runtime.hpp"

namespace kdl::conformance {

// A device under test. Each executable that links the suite defines its own list of devices: built-in devices
// in this folder, others elsewhere.
struct DeviceUnderTest {
  std::string spec;
  // A second device of the same kind, for tests that need two devices.
  std::string sibling;
  // Registers the device's kind and the suite's kernels (kernels.h) with a new context.
  void (*prepare)(Context& context);
  // The tests that the device cannot pass, and the reasons: `{"Print", "has no host callbacks"}`. It is an
  // error if one of these tests passes.
  std::vector<std::pair<std::string, std::string>> unsupported;
};

const std::vector<DeviceUnderTest>& DevicesUnderTest();

// A new context with one device.
struct Bench {
  explicit Bench(const DeviceUnderTest& under_test)
      : spec(under_test.spec), sibling_spec(under_test.sibling), prepare(under_test.prepare) {
    prepare(context);
    device = context.Select(spec.c_str());
    host = context.Select("host");
    queue = device.queue();
  }

  Device sibling() const { return context.Select(sibling_spec.c_str()); }

  std::string spec;
  std::string sibling_spec;
  void (*prepare)(Context& context);
  Context context;
  Device device;
  Device host;  // equal to `device` if `device` is the host
  Queue queue;

  // Makes a tensor with these elements on the device.
  template <class T>
  Tensor Upload(const std::vector<T>& values, std::vector<std::int64_t> sizes,
                const char* name = "t") const {
    Tensor tensor = context.Allocate(device, ElementOf<T>(), sizes, name);
    if (!values.empty()) {
      Mapping<T> mapping = tensor.template Map<T>(KDL_MAP_WRITE);
      std::copy(values.begin(), values.end(), mapping.begin());
      mapping.Close();
    }
    return tensor;
  }
  template <class T>
  Tensor Upload(const std::vector<T>& values, const char* name = "t") const {
    return Upload(values, {static_cast<std::int64_t>(values.size())}, name);
  }

  // Returns all elements of a row-major tensor.
  template <class T>
  static std::vector<T> Download(const Tensor& tensor) {
    const Mapping<const T> mapping = tensor.template Map<const T>(KDL_MAP_READ);
    return std::vector<T>(mapping.begin(), mapping.end());
  }
};

// Returns the code of the error that `call` throws, and stores the error's message in `message`. Returns
// KDL_OK if `call` does not throw.
template <class Call>
kdl_code CodeOf(Call call, std::string* message = nullptr) {
  try {
    call();
    return KDL_OK;
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
}

// This environment variable is set while a test runs on a device that, according to its list, cannot pass it.
constexpr const char* kRunsUnsupported = "KDL_CONFORMANCE_UNSUPPORTED";

// Runs `test` for each device, each in its own subcase.
void ForEachDevice(const char* test_name, const std::function<void(Bench&)>& test);

}  // namespace kdl::conformance

// CONFORMANCE_TEST(CopiesRows) { … bench … } defines a test case that runs on every device.
#define CONFORMANCE_TEST(name)                                       \
  static void name(kdl::conformance::Bench& bench);                  \
  TEST_CASE(#name) { kdl::conformance::ForEachDevice(#name, name); } \
  static void name([[maybe_unused]] kdl::conformance::Bench& bench)
