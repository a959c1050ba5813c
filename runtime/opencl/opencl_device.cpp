#include "opencl/opencl_device.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "host/host_device.h"
#include "kdl/team_abi.h"
#include "opencl/cl_api.h"
#include "opencl/opencl_memory.h"
#include "opencl/opencl_programs.h"
#include "system/fork_mark.h"
#include "team/kernel_clock.h"
#include "team/lost_device.h"
#include "team/memory_pool.h"
#include "team/region_runs.h"
#include "team/team_launch.h"

// One context and one queue a device, on which an operation runs when the runtime says that it may, and is waited for.

namespace kdl::runtime {

namespace {

struct OpenclDevice {
  cl::Api api;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;
  bool measures = false;  // the queue notes when its kernels begin and end
  std::unique_ptr<OpenclMemory> memory;
  std::unique_ptr<OpenclPrograms> programs;
  MemoryPool pool;  // of launches
  KernelClock clock;
  std::mutex mutex;  // one operation at a time
  LostDevice lost;

  ~OpenclDevice() {
    memory.reset();
    EmptyPool();
    if (queue != nullptr) api.ReleaseCommandQueue(queue);
    if (context != nullptr) api.ReleaseContext(context);
  }

  // False: nothing was there.
  bool EmptyPool() {
    const std::vector<void*> pieces = pool.Empty();
    for (void* piece : pieces) api.ReleaseMemObject(static_cast<cl::MemoryId>(piece));
    return !pieces.empty();
  }

  // In the place of the one that was there, which has nothing to do.
  std::int32_t MakeQueue(std::uint64_t properties) {
    std::int32_t status = cl::kSuccess;
    cl::QueueId made = api.CreateCommandQueue(context, id, properties, &status);
    if (status != cl::kSuccess) return status;
    if (queue != nullptr) api.ReleaseCommandQueue(queue);
    queue = made;
    return status;
  }

  // The error of a call that gave `status`; of one that has waited, what ran before may be at fault.
  Error Failed(std::string_view what, std::int32_t status, bool has_waited = false) {
    Error error = OpenclFailure(what, status);
    return IsLost(status, has_waited) ? lost.Lose(kdl_error_message(error.get()))
                                      : std::move(error);
  }

  // Drivers whose context has ended say so of all that follows: where a kernel ran out of its memory, out of resources.
  bool IsLost(std::int32_t status, bool has_waited) const {
    if (status == cl::kNotAvailable || status == cl::kInvalidContext || status == cl::kInvalidQueue)
      return true;
    return status == cl::kOutOfResources && has_waited && api.Finish(queue) != cl::kSuccess;
  }

  template <class T>
  T Info(std::uint32_t what) const {
    T value{};
    api.GetDeviceInfo(id, what, sizeof value, &value, nullptr);
    return value;
  }
};

OpenclDevice& Of(void* device) { return *static_cast<OpenclDevice*>(device); }

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

// The threads of a driver that worked before a fork are not in the child, where it waits for them for ever.
Error RefuseAfterFork() {
  static const ForkMark kFirstUse;
  if (!kFirstUse.in_child()) return nullptr;
  return Fail(
      KDL_ERROR_UNSUPPORTED,
      "OpenCL was in use in the process that this one was forked from, which its drivers do "
      "not survive: fork before the first use, or start the child by exec");
}

Error OpenDevice(std::int64_t ordinal, std::unique_ptr<OpenclDevice>* opened) {
  KDL_RETURN_IF_ERROR(RefuseAfterFork());
  auto device = std::make_unique<OpenclDevice>();
  KDL_RETURN_IF_ERROR(cl::Api::Load(&device->api));
  const std::vector<cl::DeviceId> devices = DevicesOf(device->api);
  const auto count = static_cast<std::int64_t>(devices.size());
  if (count == 0)
    return Fail(KDL_ERROR_NOT_FOUND,
                "there is no OpenCL here: no driver has a device; install one, such as Debian's "
                "pocl-opencl-icd");
  if (ordinal >= count) return NoSuchDevice("opencl", ordinal, count);
  device->id = devices[static_cast<std::size_t>(ordinal)];
  std::int32_t status = cl::kSuccess;
  device->context = device->api.CreateContext(nullptr, 1, &device->id, nullptr, nullptr, &status);
  if (status != cl::kSuccess) return OpenclFailure("making a context", status);
  status = device->MakeQueue(0);
  if (status != cl::kSuccess) return OpenclFailure("making a queue", status);
  device->memory = std::make_unique<OpenclMemory>(device->api, device->context);
  device->programs = std::make_unique<OpenclPrograms>(device->api, device->context, device->id);
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

// Where there is no memory left, what launches have given back goes first.
kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  OpenclDevice& opencl = Of(device);
  if (Error lost = opencl.lost.Told()) return lost.release();
  Error error = opencl.memory->Allocate(bytes, memory);
  if (error != nullptr && opencl.EmptyPool()) error = opencl.memory->Allocate(bytes, memory);
  return error.release();
}

void Release(void* device, kdl_memory memory) { Of(device).memory->Release(memory); }

OpenclAllocation& AllocationOf(kdl_memory memory) {
  return *static_cast<OpenclAllocation*>(memory.handle);
}

// Runs `enqueue`, waits, and completes.
template <class Enqueue>
void Move(OpenclDevice& opencl, std::string_view what, kdl_completion done,
          const Enqueue& enqueue) {
  Error error = opencl.lost.Told();
  if (error == nullptr) {
    const std::lock_guard lock(opencl.mutex);
    std::int32_t status = enqueue();
    // Whatever one part of a copy fails with, those in front of it still touch the host's memory.
    const std::int32_t ended = opencl.api.Finish(opencl.queue);
    if (status == cl::kSuccess) status = ended;
    if (status != cl::kSuccess) error = opencl.Failed(what, status, /*has_waited=*/true);
  }
  done.call(done.context, error.release());
}

// What the driver's functions take of a rectangle: how far in its memories it begins, and its bytes, rows and planes.
struct Extent {
  explicit Extent(const Rectangle& part)
      : to{part.to, 0, 0}, from{part.from, 0, 0}, size{part.bytes, part.rows, 1} {}
  std::size_t to[3];
  std::size_t from[3];
  std::size_t size[3];
};

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  cl::MemoryId buffer = AllocationOf(to).buffer;
  Move(opencl, "writing", done, [&] {
    return ForEachRectangle(*region, cl::kSuccess, [&](const Rectangle& part) {
      const Extent extent(part);
      return part.rows > 1
                 ? opencl.api.EnqueueWriteBufferRect(opencl.queue, buffer, 0, extent.to,
                                                     extent.from, extent.size, part.to_pitch, 0,
                                                     part.from_pitch, 0, from, 0, nullptr, nullptr)
                 : opencl.api.EnqueueWriteBuffer(opencl.queue, buffer, 0, part.to, part.bytes,
                                                 static_cast<const char*>(from) + part.from, 0,
                                                 nullptr, nullptr);
    });
  });
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  cl::MemoryId buffer = AllocationOf(from).buffer;
  Move(opencl, "reading", done, [&] {
    return ForEachRectangle(*region, cl::kSuccess, [&](const Rectangle& part) {
      const Extent extent(part);
      return part.rows > 1
                 ? opencl.api.EnqueueReadBufferRect(opencl.queue, buffer, 0, extent.from, extent.to,
                                                    extent.size, part.from_pitch, 0, part.to_pitch,
                                                    0, to, 0, nullptr, nullptr)
                 : opencl.api.EnqueueReadBuffer(opencl.queue, buffer, 0, part.from, part.bytes,
                                                static_cast<char*>(to) + part.to, 0, nullptr,
                                                nullptr);
    });
  });
}

// Within a buffer drivers take no rectangles of two pitches.
void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  cl::MemoryId target = AllocationOf(to).buffer;
  cl::MemoryId source = AllocationOf(from).buffer;
  auto run = [&](std::size_t to_offset, std::size_t from_offset) {
    return opencl.api.EnqueueCopyBuffer(opencl.queue, source, target, from_offset, to_offset,
                                        static_cast<std::size_t>(region->run_bytes), 0, nullptr,
                                        nullptr);
  };
  auto rectangle = [&](const Rectangle& part) {
    if (part.rows == 1) return run(part.to, part.from);
    const Extent extent(part);
    return opencl.api.EnqueueCopyBufferRect(opencl.queue, source, target, extent.from, extent.to,
                                            extent.size, part.from_pitch, 0, part.to_pitch, 0, 0,
                                            nullptr, nullptr);
  };
  Move(opencl, "copying", done, [&] {
    return source == target ? ForEachRun(*region, cl::kSuccess, run)
                            : ForEachRectangle(*region, cl::kSuccess, rectangle);
  });
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  OpenclDevice& opencl = Of(device);
  const auto bytes = static_cast<std::size_t>(region->run_bytes);
  Move(opencl, "filling", done, [&] {
    return ForEachRun(*region, cl::kSuccess, [&](std::size_t to_offset, std::size_t) {
      return opencl.api.EnqueueFillBuffer(opencl.queue, AllocationOf(to).buffer, &pattern,
                                          static_cast<std::size_t>(pattern_bytes), to_offset, bytes,
                                          0, nullptr, nullptr);
    });
  });
}

// -- kernels ----------------------------------------------------------------------------------------

kdl_error* Load(void* device, const kdl_image* image, void** module) {
  OpenclDevice& opencl = Of(device);
  const std::lock_guard lock(opencl.mutex);
  if (Error lost = opencl.lost.Told()) return lost.release();
  std::unique_ptr<OpenclModule> made;
  if (Error error = opencl.programs->Make(*image, &made)) return error.release();
  *module = made.release();
  return nullptr;
}

void Unload(void* device, void* loaded) {
  const std::unique_ptr<OpenclModule> module(static_cast<OpenclModule*>(loaded));
  Of(device).programs->End(*module);
}

// One launch. The numbers are a buffer, too.
class Launcher final : public TeamDriver {
 public:
  Launcher(OpenclDevice& opencl, const kdl_launch_request& request)
      : opencl_(opencl), request_(request) {}
  ~Launcher() override {
    // Where the launch has failed, the queue may still take what has been written.
    if (!written_.empty() || !kernels_.empty()) opencl_.api.Finish(opencl_.queue);
    ForgetKernels();
    if (numbers_ != nullptr) Release(numbers_);
  }

  Error Take(std::int64_t bytes, void** memory) override {
    const std::int64_t rounded = MemoryPool::Rounded(bytes);
    *memory = opencl_.pool.Take(rounded);
    if (*memory != nullptr) return nullptr;
    std::int32_t status = Make(rounded, memory);
    if (status != cl::kSuccess && opencl_.EmptyPool()) status = Make(rounded, memory);
    if (status != cl::kSuccess) return opencl_.Failed("taking memory for a launch", status);
    if (opencl_.pool.Add(*memory, rounded)) return nullptr;
    opencl_.api.ReleaseMemObject(BufferOf(*memory));
    *memory = nullptr;
    throw std::bad_alloc();
  }
  void Release(void* memory) override {
    if (!opencl_.pool.Keep(memory)) opencl_.api.ReleaseMemObject(BufferOf(memory));
  }
  Error Write(void* to, std::span<const std::int64_t> numbers) override {
    const std::vector<std::int64_t>& kept = written_.emplace_back(numbers.begin(), numbers.end());
    const std::int32_t status = opencl_.api.EnqueueWriteBuffer(
        opencl_.queue, BufferOf(to), 0, 0, numbers.size_bytes(), kept.data(), 0, nullptr, nullptr);
    return status == cl::kSuccess ? nullptr : opencl_.Failed("writing a launch's numbers", status);
  }
  Error Read(std::span<std::int64_t> to, void* from) override {
    const std::int32_t status =
        opencl_.api.EnqueueReadBuffer(opencl_.queue, BufferOf(from), cl::kTrue, 0, to.size_bytes(),
                                      to.data(), 0, nullptr, nullptr);
    if (status != cl::kSuccess)
      return opencl_.Failed(Concat("running ", request_.kernel->name), status,
                            /*has_waited=*/true);
    written_.clear();
    NoteTime();
    return nullptr;
  }
  TeamPlace PlaceOf(const void* address) override {
    const OpenclPlace place = opencl_.memory->PlaceOf(address);
    return {place.buffer, place.offset};
  }
  std::int64_t most_scratch() const override {
    return static_cast<std::int64_t>(opencl_.Info<std::uint64_t>(cl::kMaxAllocation)) / 4;
  }
  Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
             std::int64_t cores) override;

 private:
  std::int32_t Make(std::int64_t bytes, void** memory) const {
    std::int32_t status = cl::kSuccess;
    *memory = opencl_.api.CreateBuffer(opencl_.context, cl::kReadWrite,
                                       static_cast<std::size_t>(bytes), nullptr, &status);
    return status;
  }
  static cl::MemoryId BufferOf(void* memory) { return static_cast<cl::MemoryId>(memory); }
  Error Prepare(std::span<const std::int64_t> numbers, std::span<void* const> memories);
  Error CheckFits() const;
  void NoteTime();
  void ForgetKernels();

  OpenclDevice& opencl_;
  const kdl_launch_request& request_;
  cl::KernelId kernel_ = nullptr;
  void* numbers_ = nullptr;
  std::deque<std::vector<std::int64_t>> written_;  // that the queue may not have taken yet
  std::vector<cl::EventId> kernels_;               // whose times are wanted
};

// Of all kernels that have run since the last time; what the driver does not know is not told.
void Launcher::NoteTime() {
  std::uint64_t sum = 0;
  bool knows = !kernels_.empty();
  for (cl::EventId kernel : kernels_) {
    std::uint64_t times[2] = {};
    knows = knows &&
            opencl_.api.GetEventProfilingInfo(kernel, cl::kStarted, sizeof times[0], &times[0],
                                              nullptr) == cl::kSuccess &&
            opencl_.api.GetEventProfilingInfo(kernel, cl::kEnded, sizeof times[1], &times[1],
                                              nullptr) == cl::kSuccess &&
            times[0] <= times[1];
    sum += times[1] - times[0];
  }
  ForgetKernels();
  if (knows) opencl_.clock.Add(request_, static_cast<std::int64_t>(sum));
}

void Launcher::ForgetKernels() {
  for (cl::EventId kernel : kernels_) opencl_.api.ReleaseEvent(kernel);
  kernels_.clear();
}

// A team's workers and its memory near them are the text's: a device that has less runs it with smaller blocks alone.
Error Launcher::CheckFits() const {
  const auto ask = [&](std::uint32_t what, auto* value) {
    opencl_.api.GetKernelWorkGroupInfo(kernel_, opencl_.id, what, sizeof *value, value, nullptr);
  };
  std::uint64_t near_bytes = 0;
  std::size_t most_workers = 0;
  std::size_t team[3] = {1, 1, 1};
  ask(cl::kKernelNear, &near_bytes);
  ask(cl::kMostWorkers, &most_workers);
  ask(cl::kCompiledWorkGroup, &team);
  const auto has = opencl_.Info<std::uint64_t>(cl::kDeviceNear);
  if (has > 0 && near_bytes > has) {
    return Fail(KDL_ERROR_UNSUPPORTED, "kernel ", request_.kernel->name, " takes ", near_bytes,
                " bytes of local memory; of ", opencl_.programs->device_name(),
                " a work-group has ", has, ": blocks of 1/", (near_bytes + has - 1) / has,
                " of the elements fit");
  }
  if (most_workers > 0 && team[0] > most_workers) {
    return Fail(KDL_ERROR_UNSUPPORTED, "kernel ", request_.kernel->name, " runs in teams of ",
                team[0], " workers; ", opencl_.programs->device_name(), " has registers for ",
                most_workers, " of them: smaller blocks take fewer");
  }
  return nullptr;
}

Error Launcher::Prepare(std::span<const std::int64_t> numbers, std::span<void* const> memories) {
  KDL_RETURN_IF_ERROR(opencl_.programs->FindKernel(*static_cast<OpenclModule*>(request_.module),
                                                   request_.variant->symbol, &kernel_));
  KDL_RETURN_IF_ERROR(CheckFits());
  KDL_RETURN_IF_ERROR(Take(static_cast<std::int64_t>(numbers.size_bytes()), &numbers_));
  std::vector<void*> given = {numbers_};
  given.insert(given.end(), memories.begin(), memories.end());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::int32_t status = opencl_.api.SetKernelArg(kernel_, static_cast<std::uint32_t>(i),
                                                         sizeof(cl::MemoryId), &given[i]);
    if (status != cl::kSuccess) return opencl_.Failed("giving a kernel its arguments", status);
  }
  return Write(numbers_, numbers);
}

Error Launcher::Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
                     std::int64_t cores) {
  if (kernel_ == nullptr) {
    KDL_RETURN_IF_ERROR(Prepare(numbers, memories));
  } else {
    KDL_RETURN_IF_ERROR(Write(numbers_, numbers.first(kdl_team_header)));
  }
  std::size_t team[3] = {1, 1, 1};
  opencl_.api.GetKernelWorkGroupInfo(kernel_, opencl_.id, cl::kCompiledWorkGroup, sizeof team, team,
                                     nullptr);
  const std::size_t items = static_cast<std::size_t>(cores) * team[0];
  if (opencl_.measures) kernels_.reserve(kernels_.size() + 1);
  cl::EventId event = nullptr;
  const std::int32_t status =
      opencl_.api.EnqueueNDRangeKernel(opencl_.queue, kernel_, 1, nullptr, &items, team, 0, nullptr,
                                       opencl_.measures ? &event : nullptr);
  if (event != nullptr) kernels_.push_back(event);
  return status == cl::kSuccess
             ? nullptr
             : opencl_.Failed(Concat("launching ", request_.kernel->name), status);
}

Error Run(OpenclDevice& opencl, const kdl_launch_request& request) {
  const std::lock_guard lock(opencl.mutex);
  KDL_RETURN_IF_ERROR(opencl.lost.Told());
  if (!opencl.measures && opencl.clock.Wants(request))
    opencl.measures = opencl.MakeQueue(cl::kProfiling) == cl::kSuccess;
  Launcher launcher(opencl, request);
  return RunTeamLaunch(launcher, request);
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = Run(Of(device), *request);
  done.call(done.context, error.release());
}

std::int64_t Counts(void* device, kdl_count* counts, std::int64_t capacity) {
  OpenclDevice& opencl = Of(device);
  const OpenclPrograms& programs = *opencl.programs;
  const kdl_count all[] = {{"programs compiled", programs.compiled()},
                           {"programs found on disk", programs.found()},
                           {KDL_COUNT_KERNEL_TIME, opencl.clock.Ask()}};
  std::copy_n(all, std::clamp<std::int64_t>(capacity, 0, std::ssize(all)), counts);
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
                                       .copy_from = nullptr};

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
                                          .image_kind = "opencl",
                                          .counts = Counts};
  return kOps;
}

}  // namespace kdl::runtime
