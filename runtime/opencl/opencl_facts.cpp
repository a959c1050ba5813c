#include "opencl/opencl_facts.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace kdl::runtime {

namespace {

struct NumberRow {
  const char* name;
  std::uint32_t what;
  std::size_t bytes;  // size of the value that the driver returns
};
constexpr NumberRow kNumberRows[] = {
    {"compute units", cl::kComputeUnits, 4},
    {"clock in MHz", cl::kClock, 4},
    {"work-items of a work-group", cl::kDeviceThreads, sizeof(std::size_t)},
    {"bytes of local memory of a work-group", cl::kDeviceWorkgroup, 8},
    {"bytes of the largest buffer", cl::kMaxAllocation, 8},
    {"bytes of constants of a kernel", cl::kConstantBytes, 8},
    {"bytes of cache", cl::kCacheBytes, 8},
    {"shares the host's memory", cl::kHostUnified, 4},
};

std::int64_t ReadNumber(const OpenclDevice& opencl, const NumberRow& row) {
  return row.bytes == 4 ? std::int64_t{opencl.Info<std::uint32_t>(row.what)}
                        : static_cast<std::int64_t>(opencl.Info<std::uint64_t>(row.what));
}

}  // namespace

void OpenclFacts(void* device, kdl_device_facts* facts) {
  const OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  const auto single = opencl.Info<std::uint64_t>(cl::kSingleConfig);
  const bool exact = (single & cl::kDenormals) != 0 && (single & cl::kRoundedDivision) != 0;
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = std::max<std::int64_t>(opencl.Info<std::uint32_t>(cl::kComputeUnits), 1),
            .resident = 0,
            .memory_bytes = static_cast<std::int64_t>(opencl.Info<std::uint64_t>(cl::kGlobalBytes)),
            .exact = exact ? 1 : 0,
            .host_visible = 0,
            .functional = 0,
            .checks_order = 0,
            .features = 0,
            .image_kind = "opencl",
            .arch = "",
            .capabilities = 0};
}

std::int64_t OpenclProperties(void* device, kdl_property* properties, std::int64_t capacity) {
  const OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  const OpenclNames& names = opencl.programs->names();
  std::vector<kdl_property> all = {{"name", names.device.c_str(), 0},
                                   {"vendor", names.vendor.c_str(), 0},
                                   {"platform", names.platform.c_str(), 0},
                                   {"OpenCL", names.version.c_str(), 0},
                                   {"driver", names.driver.c_str(), 0}};
  for (const NumberRow& row : kNumberRows)
    all.push_back({row.name, nullptr, ReadNumber(opencl, row)});
  if (!names.lacked.empty()) all.push_back({"lacks", names.lacked.c_str(), 0});
  std::copy_n(all.begin(), std::clamp<std::int64_t>(capacity, 0, std::ssize(all)), properties);
  return std::ssize(all);
}

}  // namespace kdl::runtime
