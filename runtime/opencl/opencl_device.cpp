#include "opencl/opencl_device.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "host/host_device.h"
#include "kdl/device_keys.h"
#include "opencl/opencl_context.h"
#include "opencl/opencl_copies.h"
#include "opencl/opencl_facts.h"
#include "opencl/opencl_launch.h"
#include "system/fork_mark.h"

namespace kdl::runtime {

namespace {

// Returns the devices of all platforms, in the order in which the loader lists them.
std::vector<cl::DeviceId> ListDevices(const cl::Api& api) {
  std::uint32_t count = 0;
  api.GetPlatformIDs(0, nullptr, &count);
  std::vector<cl::PlatformId> platforms(count);
  if (count > 0) api.GetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<cl::DeviceId> devices;
  for (cl::PlatformId platform : platforms) {
    std::uint32_t here = 0;
    if (api.GetDeviceIDs(platform, cl::kAllDevices, 0, nullptr, &here) != cl::kSuccess) continue;
    std::vector<cl::DeviceId> found(here);
    api.GetDeviceIDs(platform, cl::kAllDevices, here, found.data(), nullptr);
    devices.insert(devices.end(), found.begin(), found.end());
  }
  return devices;
}

// Returns an error in a forked child if a driver was used before the fork. The child would wait forever for
// the driver's threads, which exist only in the parent.
Error RefuseAfterFork() {
  // Never destroyed, because a destructor that runs during process exit may still open a device.
  static const ForkMark& kFirstUse = *new ForkMark;
  if (!kFirstUse.in_child()) return nullptr;
  return Fail(KDL_ERROR_UNSUPPORTED,
              "this process was forked from one that used OpenCL, whose drivers do not support "
              "that: fork before the first use, or start the child with exec");
}

Error OpenDevice(std::int64_t ordinal, std::unique_ptr<OpenclDevice>* opened) {
  KDL_RETURN_IF_ERROR(RefuseAfterFork());
  auto device = std::make_unique<OpenclDevice>();
  KDL_RETURN_IF_ERROR(cl::Api::Load(&device->api));
  const std::vector<cl::DeviceId> devices = ListDevices(device->api);
  const auto count = static_cast<std::int64_t>(devices.size());
  if (count == 0)
    return Fail(KDL_ERROR_NOT_FOUND,
                "OpenCL is not available: no driver has a device; install a driver, such as "
                "Debian's pocl-opencl-icd; if one is installed, ",
                kCacheHint);
  if (ordinal >= count) return NoSuchDevice("opencl", ordinal, count);
  device->id = devices[static_cast<std::size_t>(ordinal)];
  std::int32_t status = cl::kSuccess;
  device->context = device->api.CreateContext(nullptr, 1, &device->id, nullptr, nullptr, &status);
  if (status != cl::kSuccess) return OpenclFailure("creating a context", status);
  status = device->MakeQueue(0);
  if (status != cl::kSuccess) return OpenclFailure("creating a queue", status);
  device->memory = std::make_unique<OpenclMemory>(device->api, device->context);
  if (device->Info<std::uint32_t>(cl::kHostUnified) == 0)
    device->staging = std::make_unique<OpenclStaging>(device->api, device->context, device->queue);
  device->programs = std::make_unique<OpenclPrograms>(device->api, device->context, device->id);
  *opened = std::move(device);
  return nullptr;
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (count > 0) return UnknownOption("opencl", options[0].key, KDL_OPENCL_KEYS).release();
  std::unique_ptr<OpenclDevice> opened;
  if (Error error = OpenDevice(ordinal, &opened)) return error.release();
  *device = opened.release();
  return nullptr;
}

void Close(void* device) { delete static_cast<OpenclDevice*>(device); }

kdl_error* Load(void* device, const kdl_image* image, void** module) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  const std::lock_guard lock(opencl.mutex);
  if (Error lost = opencl.lost.Told()) return lost.release();
  std::unique_ptr<OpenclModule> made;
  if (Error error = opencl.programs->Make(*image, &made)) return error.release();
  *module = made.release();
  return nullptr;
}

void Unload(void* device, void* loaded) {
  const std::unique_ptr<OpenclModule> module(static_cast<OpenclModule*>(loaded));
  OpenclDevice::FromHandle(device).programs->End(*module);
}

std::int64_t Counts(void* device, kdl_count* counts, std::int64_t capacity) {
  OpenclDevice& opencl = OpenclDevice::FromHandle(device);
  const OpenclPrograms& programs = *opencl.programs;
  const kdl_count all[] = {{"programs compiled", programs.compiled()},
                           {"programs found on disk", programs.found()},
                           {KDL_COUNT_KERNEL_TIME, opencl.clock.Ask()}};
  std::copy_n(all, std::clamp<std::int64_t>(capacity, 0, std::ssize(all)), counts);
  return std::ssize(all);
}

}  // namespace

const kdl_device_ops& OpenclDeviceOps() {
  static const kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                      .version = KDL_PLUGIN_VERSION,
                                      .kind = "opencl",
                                      .memory = &OpenclMemoryOps(),
                                      .open = Open,
                                      .close = Close,
                                      .facts = OpenclFacts,
                                      .load = Load,
                                      .unload = Unload,
                                      .launch = LaunchOpencl,
                                      .submit = nullptr,
                                      .image_kind = "opencl",
                                      .counts = Counts,
                                      .properties = OpenclProperties,
                                      .prepare = nullptr,
                                      .discard = nullptr,
                                      .cores = nullptr,
                                      .accepts = nullptr,
                                      .wait = nullptr,
                                      .mark = nullptr,
                                      .unmark = nullptr,
                                      .lead = nullptr};
  return kOps;
}

}  // namespace kdl::runtime
