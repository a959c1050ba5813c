#include "opencl/opencl_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/trap.h"
#include "core/view.h"
#include "host/host_device.h"
#include "kdl/team_abi.h"
#include "opencl/cl_api.h"
#include "opencl/opencl_memory.h"
#include "opencl/opencl_prints.h"

// One context and one queue a device, on which an operation runs when the runtime says that it may, and is waited for.

namespace kdl::runtime {

namespace {

// Results are those of the language where division and roots round correctly, and nothing is fused behind its back.
constexpr const char* kBuildOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";

struct OpenclDevice {
  cl::Api api;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;
  std::unique_ptr<OpenclMemory> memory;
  std::string name;
  std::mutex mutex;  // one operation at a time

  ~OpenclDevice() {
    memory.reset();
    if (queue != nullptr) api.ReleaseCommandQueue(queue);
    if (context != nullptr) api.ReleaseContext(context);
  }

  template <class T>
  T Info(std::uint32_t what) const {
    T value{};
    api.GetDeviceInfo(id, what, sizeof value, &value, nullptr);
    return value;
  }
};

OpenclDevice& Of(void* device) { return *static_cast<OpenclDevice*>(device); }

Error FailWith(std::string_view what, std::int32_t status) {
  kdl_code code = status == cl::kOutOfDeviceMemory || status == cl::kOutOfHostMemory
                      ? KDL_ERROR_OUT_OF_MEMORY
                      : KDL_ERROR_DEVICE;
  return Fail(code, "OpenCL: ", what, " failed: ", cl::NameOf(status));
}

// Of all platforms, in the loader's order.
std::vector<cl::DeviceId> DevicesOf(const cl::Api& api) {
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

Error OpenDevice(std::int64_t ordinal, std::unique_ptr<OpenclDevice>* opened) {
  auto device = std::make_unique<OpenclDevice>();
  KDL_RETURN_IF_ERROR(cl::Api::Load(&device->api));
  const std::vector<cl::DeviceId> devices = DevicesOf(device->api);
  if (ordinal >= static_cast<std::int64_t>(devices.size())) {
    return Fail(KDL_ERROR_NOT_FOUND, "there is no opencl[", ordinal, "]; OpenCL has ",
                static_cast<std::int64_t>(devices.size()), " devices here");
  }
  device->id = devices[static_cast<std::size_t>(ordinal)];
  std::int32_t status = cl::kSuccess;
  device->context = device->api.CreateContext(nullptr, 1, &device->id, nullptr, nullptr, &status);
  if (status != cl::kSuccess) return FailWith("making a context", status);
  device->queue = device->api.CreateCommandQueue(device->context, device->id, 0, &status);
  if (status != cl::kSuccess) return FailWith("making a queue", status);
  char name[256] = {};
  device->api.GetDeviceInfo(device->id, cl::kDeviceName, sizeof name - 1, name, nullptr);
  device->name = name;
  device->memory = std::make_unique<OpenclMemory>(device->api, device->context);
  *opened = std::move(device);
  return nullptr;
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (count > 0) return UnknownOption("opencl", options[0].key, {}).release();
  std::unique_ptr<OpenclDevice> opened;
  if (Error error = OpenDevice(ordinal, &opened)) return error.release();
  *device = opened.release();
  return nullptr;
}

void Close(void* device) { delete static_cast<OpenclDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const OpenclDevice& opencl = Of(device);
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

// -- memory -----------------------------------------------------------------------------------------

kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  return Of(device).memory->Allocate(bytes, memory).release();
}

void Release(void* device, kdl_memory memory) { Of(device).memory->Release(memory); }

OpenclAllocation& AllocationOf(kdl_memory memory) {
  return *static_cast<OpenclAllocation*>(memory.handle);
}

// Calls `run(to_offset, from_offset)` for each contiguous run, until one fails.
template <class Run>
std::int32_t ForEachRun(const kdl_region& region, const Run& run) {
  std::int64_t index[8] = {};
  for (;;) {
    std::int64_t to = region.to_offset;
    std::int64_t from = region.from_offset;
    for (int d = 0; d < region.rank; ++d) {
      to += index[d] * region.to_step[d];
      from += index[d] * region.from_step[d];
    }
    const std::int32_t status = run(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
    if (status != cl::kSuccess) return status;
    int d = region.rank;
    while (d > 0 && ++index[d - 1] == region.count[d - 1]) index[--d] = 0;
    if (d == 0) return cl::kSuccess;
  }
}

// Runs `enqueue` for each run, waits, and completes.
template <class Enqueue>
void Move(OpenclDevice& opencl, std::string_view what, const kdl_region& region,
          kdl_completion done, const Enqueue& enqueue) {
  Error error;
  {
    const std::lock_guard lock(opencl.mutex);
    std::int32_t status = ForEachRun(region, enqueue);
    if (status == cl::kSuccess) status = opencl.api.Finish(opencl.queue);
    if (status != cl::kSuccess) error = FailWith(what, status);
  }
  done.call(done.context, error.release());
}

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "writing", *region, done, [&](std::size_t to_offset, std::size_t from_offset) {
    return opencl.api.EnqueueWriteBuffer(opencl.queue, AllocationOf(to).buffer, 0, to_offset, bytes,
                                         static_cast<const char*>(from) + from_offset, 0, nullptr,
                                         nullptr);
  });
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "reading", *region, done, [&](std::size_t to_offset, std::size_t from_offset) {
    return opencl.api.EnqueueReadBuffer(opencl.queue, AllocationOf(from).buffer, 0, from_offset,
                                        bytes, static_cast<char*>(to) + to_offset, 0, nullptr,
                                        nullptr);
  });
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "copying", *region, done, [&](std::size_t to_offset, std::size_t from_offset) {
    return opencl.api.EnqueueCopyBuffer(opencl.queue, AllocationOf(from).buffer,
                                        AllocationOf(to).buffer, from_offset, to_offset, bytes, 0,
                                        nullptr, nullptr);
  });
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "filling", *region, done, [&](std::size_t to_offset, std::size_t) {
    return opencl.api.EnqueueFillBuffer(opencl.queue, AllocationOf(to).buffer, &pattern,
                                        static_cast<std::size_t>(pattern_bytes), to_offset, bytes,
                                        0, nullptr, nullptr);
  });
}

// -- kernels ----------------------------------------------------------------------------------------

struct Module {
  cl::ProgramId program = nullptr;
  std::map<std::string, cl::KernelId> kernels;
};

Error Build(OpenclDevice& opencl, const kdl_image& image, std::unique_ptr<Module>* built) {
  auto module = std::make_unique<Module>();
  const char* text = static_cast<const char*>(image.payload);
  const auto length = static_cast<std::size_t>(image.payload_bytes);
  std::int32_t status = cl::kSuccess;
  module->program = opencl.api.CreateProgramWithSource(opencl.context, 1, &text, &length, &status);
  if (status != cl::kSuccess) return FailWith("taking the kernels' text", status);
  status = opencl.api.BuildProgram(module->program, 1, &opencl.id, kBuildOptions, nullptr, nullptr);
  if (status != cl::kSuccess) {
    std::size_t bytes = 0;
    opencl.api.GetProgramBuildInfo(module->program, opencl.id, cl::kBuildLog, 0, nullptr, &bytes);
    std::string log(bytes, '\0');
    opencl.api.GetProgramBuildInfo(module->program, opencl.id, cl::kBuildLog, bytes, log.data(),
                                   nullptr);
    opencl.api.ReleaseProgram(module->program);
    return Fail(KDL_ERROR_DEVICE, "the driver of ", opencl.name, " refuses the kernels of module '",
                image.module, "': ", cl::NameOf(status), "\n", log.c_str());
  }
  *built = std::move(module);
  return nullptr;
}

kdl_error* Load(void* device, const kdl_image* image, void** module) {
  OpenclDevice& opencl = Of(device);
  const std::lock_guard lock(opencl.mutex);
  std::unique_ptr<Module> built;
  if (Error error = Build(opencl, *image, &built)) return error.release();
  *module = built.release();
  return nullptr;
}

void Unload(void* device, void* loaded) {
  OpenclDevice& opencl = Of(device);
  const std::unique_ptr<Module> module(static_cast<Module*>(loaded));
  for (const auto& [name, kernel] : module->kernels) opencl.api.ReleaseKernel(kernel);
  opencl.api.ReleaseProgram(module->program);
}

Error FindKernel(OpenclDevice& opencl, Module& module, const char* name, cl::KernelId* kernel) {
  auto known = module.kernels.find(name);
  if (known == module.kernels.end()) {
    std::int32_t status = cl::kSuccess;
    cl::KernelId made = opencl.api.CreateKernel(module.program, name, &status);
    if (status != cl::kSuccess) return FailWith(Concat("finding kernel ", name), status);
    known = module.kernels.emplace(name, made).first;
  }
  *kernel = known->second;
  return nullptr;
}

// A buffer for the time of a launch.
struct Temporary {
  OpenclDevice& opencl;
  cl::MemoryId buffer = nullptr;
  ~Temporary() {
    if (buffer != nullptr) opencl.api.ReleaseMemObject(buffer);
  }
  Error Make(std::int64_t bytes) {
    std::int32_t status = cl::kSuccess;
    buffer = opencl.api.CreateBuffer(opencl.context, cl::kReadWrite,
                                     static_cast<std::size_t>(std::max<std::int64_t>(bytes, 64)),
                                     nullptr, &status);
    return status == cl::kSuccess ? nullptr : FailWith("taking memory for a launch", status);
  }
  Error Make(const std::vector<std::int64_t>& numbers) {
    const std::size_t bytes = numbers.size() * sizeof(std::int64_t);
    KDL_RETURN_IF_ERROR(Make(static_cast<std::int64_t>(bytes)));
    const std::int32_t status = opencl.api.EnqueueWriteBuffer(
        opencl.queue, buffer, cl::kTrue, 0, bytes, numbers.data(), 0, nullptr, nullptr);
    return status == cl::kSuccess ? nullptr : FailWith("writing a launch's numbers", status);
  }
};

// team_abi.h; and the tensors' buffers.
std::vector<std::int64_t> NumbersOf(OpenclDevice& opencl, const kdl_launch_request& request,
                                    std::vector<cl::MemoryId>* buffers) {
  const kdl_variant& variant = *request.variant;
  std::vector<std::int64_t> numbers = {request.core_num, 0, 0, 0};
  numbers.insert(numbers.end(), request.args->dims, request.args->dims + variant.dim_count);
  std::int32_t tensor = 0;
  std::int32_t scalar = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (variant.params[p].is_tensor == 0) {
      numbers.push_back(static_cast<std::int64_t>(request.args->scalars[scalar++]));
      continue;
    }
    const kdl_tensor& view = request.args->tensors[tensor++];
    const OpenclPlace place = opencl.memory->PlaceOf(view.data);
    buffers->push_back(place.buffer);
    numbers.push_back(place.offset / static_cast<std::int64_t>(ElementBytes(view)));
    numbers.insert(numbers.end(), view.stride, view.stride + KDL_MAX_RANK);
  }
  return numbers;
}

constexpr std::size_t kRecordNumbers = 5;

// A launch as it is under way.
struct LaunchRun {
  OpenclDevice& opencl;
  const kdl_launch_request& request;
  cl::KernelId kernel = nullptr;
  std::vector<std::int64_t> numbers = {};
  Temporary arguments{opencl};
  Temporary scratch{opencl};
  Temporary record{opencl};
  Temporary prints{opencl};  // where the kernel prints
  std::int64_t told[kRecordNumbers] = {};

  bool syncs() const { return (request.variant->flags & KDL_VARIANT_SYNC) != 0; }
  // Cores of a call: their scratch is no more than a buffer may have. Where it outlives a call all cores have theirs.
  std::int64_t CoresAtOnce() const {
    const std::int64_t bytes = std::max<std::int64_t>(request.variant->scratch_bytes, 1);
    if (syncs()) return request.busy_cores;
    const auto most = static_cast<std::int64_t>(opencl.Info<std::uint64_t>(cl::kMaxAllocation));
    return std::clamp<std::int64_t>(most / 4 / bytes, 1, request.busy_cores);
  }

  Error Prepare();
  // All cores, from barrier to barrier of the launch.
  Error Part(std::int64_t part);
  Error Call(std::int64_t first_core, std::int64_t cores);
  Error ReadNumbers(const Temporary& from, std::size_t count, std::int64_t* to);
  Error Show();
};

Error LaunchRun::Prepare() {
  KDL_RETURN_IF_ERROR(
      FindKernel(opencl, *static_cast<Module*>(request.module), request.variant->symbol, &kernel));
  std::vector<cl::MemoryId> tensors;
  numbers = NumbersOf(opencl, request, &tensors);
  KDL_RETURN_IF_ERROR(arguments.Make(numbers));
  KDL_RETURN_IF_ERROR(scratch.Make(request.variant->scratch_bytes * CoresAtOnce()));
  KDL_RETURN_IF_ERROR(record.Make(std::vector<std::int64_t>(kRecordNumbers, 0)));
  if (Prints(*request.variant)) {
    std::vector<std::int64_t> empty(kPrintNumbers, 0);
    empty[0] = kdl_team_first_print;
    empty[1] = kPrintNumbers;
    KDL_RETURN_IF_ERROR(prints.Make(empty));
  }
  const OpenclPlace shared = opencl.memory->PlaceOf(request.shared);
  numbers[3] = shared.offset;
  std::vector<cl::MemoryId> given = {arguments.buffer, scratch.buffer, shared.buffer, record.buffer,
                                     prints.buffer};
  given.insert(given.end(), tensors.begin(), tensors.end());
  for (std::size_t i = 0; i < given.size(); ++i) {
    // What has no bytes may have no memory: any will do.
    if (given[i] == nullptr) given[i] = record.buffer;
    const std::int32_t status = opencl.api.SetKernelArg(kernel, static_cast<std::uint32_t>(i),
                                                        sizeof(cl::MemoryId), &given[i]);
    if (status != cl::kSuccess) return FailWith("giving a kernel its arguments", status);
  }
  return nullptr;
}

Error LaunchRun::Call(std::int64_t first_core, std::int64_t cores) {
  numbers[2] = first_core;
  std::int32_t status =
      opencl.api.EnqueueWriteBuffer(opencl.queue, arguments.buffer, cl::kTrue, 0,
                                    4 * sizeof(std::int64_t), numbers.data(), 0, nullptr, nullptr);
  if (status != cl::kSuccess) return FailWith("writing a launch's numbers", status);
  std::size_t team[3] = {1, 1, 1};
  opencl.api.GetKernelWorkGroupInfo(kernel, opencl.id, cl::kCompiledWorkGroup, sizeof team, team,
                                    nullptr);
  const std::size_t items = static_cast<std::size_t>(cores) * team[0];
  status = opencl.api.EnqueueNDRangeKernel(opencl.queue, kernel, 1, nullptr, &items, team, 0,
                                           nullptr, nullptr);
  if (status != cl::kSuccess) return FailWith(Concat("launching ", request.kernel->name), status);
  return nullptr;
}

Error LaunchRun::Part(std::int64_t part) {
  numbers[1] = part;
  const std::int64_t at_once = CoresAtOnce();
  for (std::int64_t core = 0; core < request.busy_cores; core += at_once)
    KDL_RETURN_IF_ERROR(Call(core, std::min(at_once, request.busy_cores - core)));
  return ReadNumbers(record, kRecordNumbers, told);
}

Error LaunchRun::ReadNumbers(const Temporary& from, std::size_t count, std::int64_t* to) {
  const std::int32_t status =
      opencl.api.EnqueueReadBuffer(opencl.queue, from.buffer, cl::kTrue, 0,
                                   count * sizeof(std::int64_t), to, 0, nullptr, nullptr);
  return status == cl::kSuccess ? nullptr
                                : FailWith(Concat("running ", request.kernel->name), status);
}

// What all parts have printed.
Error LaunchRun::Show() {
  if (prints.buffer == nullptr) return nullptr;
  std::int64_t taken = 0;
  KDL_RETURN_IF_ERROR(ReadNumbers(prints, 1, &taken));
  std::vector<std::int64_t> printed(static_cast<std::size_t>(std::min(taken, kPrintNumbers)));
  KDL_RETURN_IF_ERROR(ReadNumbers(prints, printed.size(), printed.data()));
  return ShowPrints(request, printed, taken);
}

Error Run(OpenclDevice& opencl, const kdl_launch_request& request) {
  const std::lock_guard lock(opencl.mutex);
  LaunchRun run{opencl, request};
  KDL_RETURN_IF_ERROR(run.Prepare());
  for (std::int64_t part = 0; part <= run.told[4]; ++part) {
    KDL_RETURN_IF_ERROR(run.Part(part));
    if (static_cast<std::int32_t>(run.told[0]) == 0) continue;
    KDL_RETURN_IF_ERROR(run.Show());
    kdl_trap trap = {};
    trap.code = static_cast<std::int32_t>(run.told[0]);
    trap.location = static_cast<std::int32_t>(run.told[1]);
    trap.index = run.told[2];
    trap.bound = run.told[3];
    return Error(kdl_error_from_trap(request.kernel, request.variant, &trap));
  }
  return run.Show();
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = Run(Of(device), *request);
  done.call(done.context, error.release());
}

constexpr kdl_memory_ops kMemoryOps = {.size = sizeof(kdl_memory_ops),
                                       .version = KDL_PLUGIN_VERSION,
                                       .allocate = Allocate,
                                       .release = Release,
                                       .write = Write,
                                       .read = Read,
                                       .copy = Copy,
                                       .fill = Fill};

}  // namespace

const kdl_device_ops& OpenclDeviceOps() {
  static constexpr kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .kind = "opencl",
                                          .memory = &kMemoryOps,
                                          .open = Open,
                                          .close = Close,
                                          .facts = Facts,
                                          .load = Load,
                                          .unload = Unload,
                                          .launch = Launch,
                                          .submit = nullptr,
                                          .image_kind = "opencl"};
  return kOps;
}

}  // namespace kdl::runtime
