// A device that is implemented as a plugin. It has its own memory, events and thread. The thread runs the
// operations that the runtime submits, as soon as the operations that they depend on have ended. To keep the
// sample simple, the device runs host code; a real device would load `image->payload`.
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "kernel.h"
#include "memory.h"
#include "order.h"

namespace sample {

namespace {

const kdl_plugin_host* g_host = nullptr;  // set when the runtime loads this library

// Places where a failure can be injected, to test how the runtime handles it.
enum Site { kNowhere, kAllocate, kWrite, kRead, kCopy, kFill, kLoad, kLaunch };
constexpr const char* kSites[] = {"nowhere", "allocate", "write", "read",
                                  "copy",    "fill",     "load",  "launch"};

kdl_error* Refusal(kdl_code code, const std::string& message) {
  return g_host->error_create(code, message.c_str());
}

struct Device {
  explicit Device(std::int64_t core_count, Site site)
      : cores(core_count),
        fails_at(site),
        order(*g_host, [this](const kdl_submission& s) { return Execute(s); }) {}

  kdl_error* Execute(const kdl_submission& s) const;
  kdl_error* Fails(Site site) const {
    if (site != fails_at) return nullptr;
    return Refusal(KDL_ERROR_DEVICE, std::string("the device failed in ") + kSites[site]);
  }

  std::int64_t cores;
  Site fails_at;
  Order order;  // declared last, because its thread uses the other members
};

kdl_error* Device::Execute(const kdl_submission& s) const {
  constexpr Site kSiteOf[] = {kNowhere, kLaunch, kWrite, kRead, kCopy, kFill};
  if (kdl_error* error = Fails(kSiteOf[s.kind])) return error;
  switch (s.kind) {
    case KDL_SUBMIT_LAUNCH:
      return RunKernel(*g_host, *s.launch);
    case KDL_SUBMIT_WRITE:
      CopyRegion(s.to.handle, s.host_from, *s.region);
      return nullptr;
    case KDL_SUBMIT_READ:
      CopyRegion(s.host_to, s.from.handle, *s.region);
      return nullptr;
    case KDL_SUBMIT_COPY:
      CopyRegion(s.to.handle, s.from.handle, *s.region);
      return nullptr;
    case KDL_SUBMIT_FILL:
      FillRegion(s.to.handle, *s.region, s.pattern, s.pattern_bytes);
      return nullptr;
    default:
      return Refusal(KDL_ERROR_UNSUPPORTED, "a submission of a kind that this device has not");
  }
}

Device& DeviceFromHandle(void* device) { return *static_cast<Device*>(device); }

kdl_error* ParseOption(const kdl_option& option, std::int64_t* cores, Site* site) {
  const std::string_view key = option.key;
  const std::string_view value = option.value;
  if (key == "cores") {
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), *cores);
    if (problem == std::errc() && end == value.data() + value.size() && *cores > 0 && *cores <= 64)
      return nullptr;
    return Refusal(KDL_ERROR_INVALID_ARGUMENT,
                   "cores=" + std::string(value) + " is not an integer from 1 to 64");
  }
  if (key == "fail") {
    for (int s = kNowhere; s <= kLaunch; ++s) {
      if (value != kSites[s]) continue;
      *site = static_cast<Site>(s);
      return nullptr;
    }
    return Refusal(KDL_ERROR_INVALID_ARGUMENT,
                   "fail=" + std::string(value) +
                       " is none of allocate, write, read, copy, fill, load and launch");
  }
  return Refusal(KDL_ERROR_INVALID_ARGUMENT, "the sample device has no option '" +
                                                 std::string(key) + "'; it has cores and fail");
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  constexpr std::int64_t kDevices = 4;
  if (ordinal >= kDevices) {
    return Refusal(KDL_ERROR_NOT_FOUND, "there is no device " + std::to_string(ordinal) + ": " +
                                            std::to_string(kDevices) + " match");
  }
  std::int64_t cores = 2;
  Site site = kNowhere;
  for (const kdl_option* option = options; option != options + count; ++option) {
    if (kdl_error* error = ParseOption(*option, &cores, &site)) return error;
  }
  *device = new Device(cores, site);
  return nullptr;
}

void Close(void* device) { delete static_cast<Device*>(device); }

// The runtime sets `size` and `version`, and zeroes everything else, before it calls this function.
void Facts(void* device, kdl_device_facts* facts) {
  facts->cores = DeviceFromHandle(device).cores;
  facts->resident = 1;  // cores run one after another and share one slice of workspace
  facts->exact = 1;
  facts->functional = 1;
  facts->image_kind = "host";
  facts->arch = g_host->arch;
  facts->features = g_host->features;
}

kdl_error* Load(void* device, const kdl_image*, void**) {
  return DeviceFromHandle(device).Fails(kLoad);
}

void Submit(void* device, const kdl_submission* submission) {
  DeviceFromHandle(device).order.Submit(*submission);
}

kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  if (kdl_error* error = DeviceFromHandle(device).Fails(kAllocate)) return error;
  void* block = AllocateBlock(bytes);
  if (block == nullptr) return Refusal(KDL_ERROR_OUT_OF_MEMORY, "there is not enough memory left");
  *memory = {block, ToDevice(block)};
  return nullptr;
}

void Release(void*, kdl_memory memory) { std::free(memory.handle); }

// The operations below bypass the device's queues, since the runtime has already ordered them.
void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  kdl_error* error = DeviceFromHandle(device).Fails(kWrite);
  if (error == nullptr) CopyRegion(to.handle, from, *region);
  done.call(done.context, error);
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  kdl_error* error = DeviceFromHandle(device).Fails(kRead);
  if (error == nullptr) CopyRegion(to, from.handle, *region);
  done.call(done.context, error);
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  kdl_error* error = DeviceFromHandle(device).Fails(kCopy);
  if (error == nullptr) CopyRegion(to.handle, from.handle, *region);
  done.call(done.context, error);
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  kdl_error* error = DeviceFromHandle(device).Fails(kFill);
  if (error == nullptr) FillRegion(to.handle, *region, pattern, pattern_bytes);
  done.call(done.context, error);
}

constexpr kdl_memory_ops kMemoryOps = {.size = sizeof(kdl_memory_ops),
                                       .version = KDL_PLUGIN_VERSION,
                                       .allocate = Allocate,
                                       .release = Release,
                                       .write = Write,
                                       .read = Read,
                                       .copy = Copy,
                                       .fill = Fill,
                                       .copy_from = nullptr,
                                       .adopt = nullptr};

constexpr kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                 .version = KDL_PLUGIN_VERSION,
                                 .kind = "sample",
                                 .memory = &kMemoryOps,
                                 .open = Open,
                                 .close = Close,
                                 .facts = Facts,
                                 .load = Load,
                                 .unload = nullptr,
                                 .launch = nullptr,
                                 .submit = Submit,
                                 .image_kind = "host",
                                 .counts = nullptr,
                                 .properties = nullptr,
                                 .prepare = nullptr,
                                 .discard = nullptr,
                                 .cores = nullptr,
                                 .accepts = nullptr,
                                 .wait = nullptr,
                                 .mark = nullptr,
                                 .unmark = nullptr,
                                 .lead = nullptr};

}  // namespace

}  // namespace sample

extern "C" __attribute__((visibility("default"))) const kdl_device_ops* kdl_device_plugin(
    const kdl_plugin_host* host) {
  if (host->version < KDL_PLUGIN_VERSION) return nullptr;
  sample::g_host = host;
  return &sample::kOps;
}
