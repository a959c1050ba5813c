// Tests the selection of devices. Each row of the table has a request and the exact answer.
#include <doctest/doctest.h>

#include "kdl/runtime.hpp"

namespace kdl {
namespace {

struct Row {
  const char* what;
  const char* specs;
  const char* uri;    // the selected device, or null
  const char* error;  // the message if there is no device
};

#define KDL_READS "; write kind[ordinal]?key=value, such as host, debug[1] or host?threads=4"

constexpr Row kRows[] = {
    {"a kind", "host", "host", nullptr},
    {"the first ordinal is the kind alone", "debug[0]", "debug", nullptr},
    {"options in an order of their own", "debug[1]?threads=2&seed=9", "debug[1]?seed=9&threads=2",
     nullptr},
    {"the first of a list that is there", "cuda, host?threads=2 ,host", "host?threads=2", nullptr},
    {"an ordinal beyond the matches", "debug[64]", nullptr,
     "there is no debug[64]: it would be the 65th, 64 match"},
    {"an ordinal of one device", "host[1]", nullptr,
     "there is no host[1]: it would be the 2nd, 1 matches"},
    {"no number", "debug[x]", nullptr,
     "device spec 'debug[x]': '[x]' is not an ordinal such as [0]" KDL_READS},
    {"a negative number", "debug[-1]", nullptr,
     "device spec 'debug[-1]': '[-1]' is not an ordinal such as [0]" KDL_READS},
    {"something after it", "debug[0]junk", nullptr,
     "device spec 'debug[0]junk': '[0]junk' is not an ordinal such as [0]" KDL_READS},
    {"a number that does not fit", "debug[99999999999999999999]", nullptr,
     "device spec 'debug[99999999999999999999]': '[99999999999999999999]' is not an ordinal such "
     "as [0]" KDL_READS},
    {"no number at all", "debug[]", nullptr,
     "device spec 'debug[]': '[]' is not an ordinal such as [0]" KDL_READS},
    {"an unknown kind", "vulkan", nullptr,
     "unknown kind of device 'vulkan'; the kinds are cluster, cluster-riscv64, cuda, debug, host "
     "and opencl"},
    {"an unknown kind that is nearly one", "hosts", nullptr,
     "unknown kind of device 'hosts'; the kinds are cluster, cluster-riscv64, cuda, debug, host "
     "and opencl; did you mean "
     "'host'?"},
    {"an unknown key", "host?thread=3", nullptr,
     "host has no option 'thread'; did you mean 'threads'?"},
    {"a bad value", "host?threads=0", nullptr, "threads=0 is not an integer from 1 to 1024"},
    {"a key twice", "host?pin=0&pin=1", nullptr,
     "device spec 'host?pin=0&pin=1': 'pin' is given twice" KDL_READS},
    {"no value", "host?pin", nullptr, "device spec 'host?pin': 'pin' is not key=value" KDL_READS},
    {"an empty element at the end", "host,", nullptr,
     "device list 'host,' has an empty element; write spec,spec, such as opencl,host"},
    {"an empty element at the start", ",host", nullptr,
     "device list ',host' has an empty element; write spec,spec, such as opencl,host"},
    {"an empty element between", "vulkan,,host", nullptr,
     "device list 'vulkan,,host' has an empty element; write spec,spec, such as opencl,host"},
    {"nothing", "", nullptr,
     "the device spec is empty; write kind[ordinal]?key=value, such as host"},
    {"no kind", "[1]", nullptr, "device spec '[1]': '' is not a kind of device" KDL_READS},
    {"all candidates rejected", "vulkan,host[7]", nullptr,
     "none of the devices 'vulkan,host[7]' is available:\n"
     "  vulkan: unknown kind of device 'vulkan'; the kinds are cluster, cluster-riscv64, cuda, "
     "debug, host and opencl\n"
     "  host[7]: there is no host[7]: it would be the 8th, 1 matches"},
};

TEST_CASE("select: every row of the table") {
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const Context context;
    try {
      const Device device = context.Select(row.specs);
      CHECK(device.uri() == std::string(row.uri == nullptr ? "an error" : row.uri));
    } catch (const Error& error) {
      CHECK(std::string(error.what()) == (row.error == nullptr ? "no error" : row.error));
    }
  }
}

TEST_CASE("select: two spellings of a device give the same device") {
  const Context context;
  CHECK(context.Select("debug?seed=7&threads=2") ==
        context.Select("cuda,debug[0]?threads=2&seed=7"));
  CHECK_FALSE(context.Select("debug") == context.Select("debug[1]"));
  // A refused spec has no lasting effect.
  CHECK_THROWS_AS(context.Select("host?threads=0"), Error);
  CHECK(context.Select("host").uri() == "host");
}

TEST_CASE("select: each context has its own devices, also at the second call") {
  const Context one;
  const Context other;
  const Device first = one.Select("host?threads=2");
  CHECK(one.Select("host?threads=2") == first);
  CHECK(one.Select("host?threads=3") != first);
  CHECK(other.Select("host?threads=2") != first);
  CHECK(other.Select("host?threads=2") == other.Select("host?threads=2"));
}

TEST_CASE("select: any number of spellings is allowed") {
  const Context context;
  const Device host = context.Select("host?threads=1");
  for (int zeros = 0; zeros < 200; ++zeros) {
    const std::string spec = "host?threads=" + std::string(zeros, '0') + "1";
    CHECK(context.Select(spec.c_str()) == context.Select(spec.c_str()));
  }
  CHECK(context.Select("host?threads=1") == host);
}

TEST_CASE("select: queues have numbers from 0 to 63") {
  const Context context;
  const Device device = context.Select("host");
  CHECK(device.queue(63).get() == device.queue(63).get());
  CHECK(device.queue(63).get() != device.queue(0).get());
  for (const std::int32_t index : {-1, 64}) {
    kdl_queue* queue = nullptr;
    kdl_error* error = kdl_device_queue(device.get(), index, &queue);
    CHECK(std::string(kdl_error_message(error)) ==
          "queue " + std::to_string(index) + " of host does not exist; queues go from 0 to 63");
    kdl_error_free(error);
  }
}

}  // namespace
}  // namespace kdl
