#include "cluster/cluster_device.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <locale>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster_memory.h"
#include "cluster/cluster_process.h"
#include "cluster/cluster_trace.h"
#include "host/host_device.h"
#include "kdl/cluster_description_reader.hpp"
#include "kdl/device_keys.h"
#include "system/files.h"
#include "workgroup/region_runs.h"
#include "workgroup/workgroup_launch.h"

// The clusters for an image are started at the image's first launch, and again after a failed launch. They
// run one launch at a time. Each cluster runs the cores that are assigned to it.

namespace kdl::runtime {

namespace {

constexpr std::string_view kOwnText =
#include "cluster_riscv64.inc"
    ;
constexpr const char* kOwnKind = "cluster-riscv64";
constexpr const char* kKind = "cluster";
constexpr const char* kImageKind = "cluster";
// The maximum number of events that are recorded for one cluster in one call.
constexpr std::int64_t kMostEvents = 1 << 16;
// Arbitrary limit, because an emulator can provide any number of devices.
constexpr std::int64_t kDevices = 64;

struct ClusterDevice {
  ClusterDescription description;
  std::unique_ptr<ClusterMemory> memory;
  std::string events;  // path of the file for events; empty if none are recorded
  std::mutex mutex;    // held during a launch; guards the members below
  ClusterCounts counts;
};

ClusterDevice& DeviceFromHandle(void* device) { return *static_cast<ClusterDevice*>(device); }

// -- opening ----------------------------------------------------------------------------------------

// Applies an option of the spec. If `file` is empty, the machine is the one that is shipped with kernelc.
Error SetOption(std::string_view file, const kdl_option& option, ClusterDevice* device) {
  const std::string_view key = option.key;
  ClusterDescription& description = device->description;
  if (key == "clusters") return ParseOption(option, 1, 256, &description.clusters);
  if (key == "deadline") return ParseOption(option, 1, 86400, &description.deadline_seconds);
  if (key != "events") {
    return file == kOwnKind ? UnknownOption(kOwnKind, key, KDL_OWN_CLUSTER_KEYS)
                            : UnknownOption(kKind, key, KDL_CLUSTER_KEYS);
  }
  device->events = option.value;
  return nullptr;
}

Error OpenDevice(std::string_view file, std::string_view text, std::span<const kdl_option> options,
                 void** opened) {
  ClusterDescriptionReader reader(file, text);
  if (!reader.error.empty()) return Invalid(reader.error);
  auto device = std::make_unique<ClusterDevice>();
  device->description = std::move(reader.description);
  for (const kdl_option& option : options) {
    if (option.key != std::string_view("description") || file == kOwnKind)
      KDL_RETURN_IF_ERROR(SetOption(file, option, device.get()));
  }
  KDL_RETURN_IF_ERROR(ClusterMemory::Make(device->description.memory_bytes,
                                          device->description.alignment, &device->memory));
  *opened = device.release();
  return nullptr;
}

kdl_error* OpenOwn(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                   void** device) {
  if (ordinal >= kDevices) return NoSuchDevice(kOwnKind, ordinal, kDevices).release();
  return OpenDevice(kOwnKind, kOwnText, {options, static_cast<std::size_t>(count)}, device)
      .release();
}

Error OpenFile(std::span<const kdl_option> options, void** device) {
  for (const kdl_option& option : options) {
    if (option.key != std::string_view("description")) continue;
    std::string text;
    std::string reason;
    if (!ReadFile(option.value, kMostOfDescription, &text, &reason))
      return Fail(KDL_ERROR_NOT_FOUND, "cannot read ", option.value, ": ", reason);
    return OpenDevice(option.value, text, options, device);
  }
  return Invalid("a machine with clusters needs a description: cluster?description=FILE");
}

kdl_error* OpenDescribed(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                         void** device) {
  if (ordinal >= kDevices) return NoSuchDevice(kKind, ordinal, kDevices).release();
  return OpenFile({options, static_cast<std::size_t>(count)}, device).release();
}

void Close(void* device) { delete static_cast<ClusterDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const ClusterDescription& description = DeviceFromHandle(device).description;
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = description.launch_cores(),
            .resident = 0,
            .memory_bytes = description.memory_bytes,
            .exact = 1,
            .host_visible = 0,
            .functional = description.times == ClusterTimes::Emulated ? 1 : 0,
            .checks_order = 0,
            .features = 0,
            .image_kind = kImageKind,
            .arch = description.name.c_str(),
            .capabilities = 0};
}

// -- memory -----------------------------------------------------------------------------------------

// A device pointer is an offset in global memory. It is also the handle of the memory that starts there.
std::int64_t OffsetOf(const void* address) { return reinterpret_cast<std::intptr_t>(address); }
void* AddressOf(std::int64_t offset) { return reinterpret_cast<void*>(offset); }
char* HostAddress(void* device, kdl_memory memory) {
  return DeviceFromHandle(device).memory->At(OffsetOf(memory.address));
}

kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  const std::int64_t offset = DeviceFromHandle(device).memory->Take(bytes);
  if (offset == 0)
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough device memory for ", bytes, " bytes")
        .release();
  *memory = {AddressOf(offset), AddressOf(offset)};
  return nullptr;
}

void Release(void* device, kdl_memory memory) {
  DeviceFromHandle(device).memory->Release(OffsetOf(memory.address));
}

void Move(char* to, const char* from, const kdl_region& region, kdl_completion done) {
  ForEachRun(region, true, [&](std::size_t to_offset, std::size_t from_offset) {
    std::memmove(to + to_offset, from + from_offset, static_cast<std::size_t>(region.run_bytes));
    return true;
  });
  done.call(done.context, nullptr);
}

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  Move(HostAddress(device, to), static_cast<const char*>(from), *region, done);
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  Move(static_cast<char*>(to), HostAddress(device, from), *region, done);
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  Move(HostAddress(device, to), HostAddress(device, from), *region, done);
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  char* memory = HostAddress(device, to);
  ForEachRun(*region, true, [&](std::size_t offset, std::size_t) {
    for (std::int64_t at = 0; at < region->run_bytes; at += pattern_bytes) {
      std::memcpy(memory + offset + static_cast<std::size_t>(at), &pattern,
                  static_cast<std::size_t>(pattern_bytes));
    }
    return true;
  });
  done.call(done.context, nullptr);
}

// -- kernels ----------------------------------------------------------------------------------------

// An image and the clusters that run it. `clusters` is empty before the first launch and after a failed one.
struct Module {
  int image = -1;
  std::vector<std::unique_ptr<ClusterProcess>> clusters;

  ~Module() {
    clusters.clear();
    if (image >= 0) CloseFile(image);
  }
};

kdl_error* Load(void*, const kdl_image* image, void** loaded) {
  auto module = std::make_unique<Module>();
  module->image = NamelessFile("kdl-cluster-image", 0);
  // Seals the image, so that a running cluster cannot modify the image of clusters that are started later.
  if (module->image < 0 || !WriteAtStart(module->image, image->payload, image->payload_bytes) ||
      !SealFile(module->image, true)) {
    return Fail(KDL_ERROR_DEVICE, "there is not enough memory for the image of module '",
                image->module, "'")
        .release();
  }
  *loaded = module.release();
  return nullptr;
}

void Unload(void*, void* module) { delete static_cast<Module*>(module); }

// The state of one launch.
class Launcher final : public WorkgroupDriver {
 public:
  Launcher(ClusterDevice& device, const kdl_launch_request& request)
      : device_(device), request_(request), module_(*static_cast<Module*>(request.module)) {}

  // Starts the clusters if they are not already running.
  Error Boot() {
    if (!module_.clusters.empty()) return nullptr;
    const ClusterDescription& description = device_.description;
    // Whether launches are observed does not change while the clusters run.
    const bool records = !device_.events.empty() || request_.observer != nullptr;
    for (std::int64_t number = 0; number < description.clusters; ++number) {
      KDL_RETURN_IF_ERROR(ClusterProcess::Start(description, *device_.memory, module_.image, number,
                                                records ? kMostEvents : 0,
                                                &module_.clusters.emplace_back()));
    }
    return WaitForAll("booted");
  }

  Error Take(std::int64_t bytes, void** memory) override {
    const std::int64_t offset = device_.memory->Take(bytes);
    *memory = AddressOf(offset);
    if (offset != 0) return nullptr;
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough device memory for ", bytes,
                " bytes for a launch of ", request_.kernel->name);
  }
  void Release(void* memory) override { device_.memory->Release(OffsetOf(memory)); }
  Error Write(void* to, std::span<const std::int64_t> numbers) override {
    std::memcpy(device_.memory->At(OffsetOf(to)), numbers.data(), numbers.size_bytes());
    return nullptr;
  }
  Error Read(std::span<std::int64_t> to, void* from) override {
    std::memcpy(to.data(), device_.memory->At(OffsetOf(from)), to.size_bytes());
    return nullptr;
  }
  WorkgroupPlace PlaceOf(const void* address) override { return {const_cast<void*>(address), 0}; }
  std::int64_t most_scratch() const override { return device_.memory->bytes() / 8; }

  Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
             std::int64_t cores) override {
    const std::string_view entry = request_.variant->symbol;
    void* call = nullptr;
    KDL_RETURN_IF_ERROR(
        Take(static_cast<std::int64_t>(sizeof(kdl_cluster_call) + numbers.size_bytes() +
                                       memories.size_bytes() + entry.size() + 1),
             &call));
    char* at = device_.memory->At(OffsetOf(call));
    const kdl_cluster_call header = {static_cast<std::uint64_t>(cores), numbers.size(),
                                     memories.size()};
    const auto append = [&at](const void* from, std::size_t bytes) {
      if (bytes > 0) std::memcpy(at, from, bytes);
      at += bytes;
    };
    append(&header, sizeof header);
    append(numbers.data(), numbers.size_bytes());
    append(memories.data(), memories.size_bytes());
    append(entry.data(), entry.size());
    *at = '\0';
    for (const auto& cluster : module_.clusters) cluster->Ring(OffsetOf(call));
    Error error = WaitForAll(Concat("ran kernel '", request_.kernel->name, "'"));
    Release(call);
    if (error) return error;
    for (const auto& cluster : module_.clusters) cluster->TakeCounts(&device_.counts);
    if (request_.observer != nullptr) {
      for (const auto& cluster : module_.clusters) ReportEvents(*cluster, request_);
    }
    return WriteEvents();
  }

  std::string WhoIs(std::int64_t core, std::int64_t place, std::int64_t worker) override {
    return Concat(" (cluster ", place % device_.description.clusters, ", thread ", worker,
                  " of core ", core, ")");
  }

  // Stops all clusters after a failure, so that none of them can write to memory any more.
  void Stop() { module_.clusters.clear(); }

 private:
  // Appends the events of the call to the file, grouped by cluster, because no common clock orders the events
  // of different clusters.
  Error WriteEvents() {
    if (device_.events.empty()) return nullptr;
    static constexpr const char* kWords[] = {
        "?", "core begins", "core ends", "copy begins", "copy ends", "copy awaited", "barrier"};
    std::ofstream file(device_.events, std::ios::app);
    file.imbue(std::locale::classic());  // without this, the application's locale may group digits
    for (const auto& cluster : module_.clusters) {
      for (const kdl_cluster_event& event : cluster->Events()) {
        const char* word = kWords[event.kind < std::size(kWords) ? event.kind : 0];
        file << request_.kernel->name << " cluster " << cluster->number() << " core " << event.core
             << ": " << word << ' ' << event.number << '\n';
      }
      if (const std::uint64_t lost = cluster->LostEvents(); lost > 0)
        file << request_.kernel->name << " cluster " << cluster->number()
             << ": events not recorded " << lost << '\n';
    }
    if (file.flush()) return nullptr;
    return Fail(KDL_ERROR_INVALID_ARGUMENT, "cannot write events to ", device_.events);
  }

  Error WaitForAll(const std::string& what) {
    Error error = ClusterProcess::WaitForAll(module_.clusters, what);
    if (error) Stop();
    return error;
  }

  ClusterDevice& device_;
  const kdl_launch_request& request_;
  Module& module_;
};

Error RunLaunch(ClusterDevice& device, const kdl_launch_request& request) {
  const std::lock_guard lock(device.mutex);
  Launcher launcher(device, request);
  if (Error error = launcher.Boot()) {
    launcher.Stop();
    return error;
  }
  return RunWorkgroupLaunch(launcher, request);
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = RunLaunch(DeviceFromHandle(device), *request);
  done.call(done.context, error.release());
}

std::int64_t Counts(void* device, kdl_count* counts, std::int64_t capacity) {
  ClusterDevice& of = DeviceFromHandle(device);
  const std::lock_guard lock(of.mutex);
  const std::pair<const char*, std::uint64_t> all[] = {
      {"block copies", of.counts.copies},
      {"bytes of block copies", of.counts.copied_bytes},
      {"barriers", of.counts.barriers},
      {"most scratchpad bytes", of.counts.scratchpad_peak}};
  for (std::int64_t i = 0; i < std::min<std::int64_t>(capacity, std::ssize(all)); ++i)
    counts[i] = {all[i].first, static_cast<std::int64_t>(all[i].second)};
  return std::ssize(all);
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

constexpr kdl_device_ops MakeDeviceOps(const char* kind, decltype(kdl_device_ops::open) open) {
  return {.size = sizeof(kdl_device_ops),
          .version = KDL_PLUGIN_VERSION,
          .kind = kind,
          .memory = &kMemoryOps,
          .open = open,
          .close = Close,
          .facts = Facts,
          .load = Load,
          .unload = Unload,
          .launch = Launch,
          .submit = nullptr,
          .image_kind = kImageKind,
          .counts = Counts,
          .properties = nullptr,
          .prepare = nullptr,
          .discard = nullptr,
          .cores = nullptr,
          .accepts = nullptr,
          .wait = nullptr,
          .mark = nullptr,
          .unmark = nullptr,
          .lead = nullptr};
}

}  // namespace

const kdl_device_ops& OwnClusterDeviceOps() {
  static constexpr kdl_device_ops kOps = MakeDeviceOps(kOwnKind, OpenOwn);
  return kOps;
}

const kdl_device_ops& ClusterDeviceOps() {
  static constexpr kdl_device_ops kOps = MakeDeviceOps(kKind, OpenDescribed);
  return kOps;
}

}  // namespace kdl::runtime
