#include "cuda/cuda_device.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/view.h"
#include "cuda/cuda_api.h"
#include "cuda/cuda_maps.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_streams.h"
#include "host/host_device.h"
#include "team/kernel_clock.h"
#include "team/lost_device.h"
#include "team/memory_pool.h"
#include "team/region_runs.h"
#include "team/team_launch.h"

// The primary context of a device. An operation runs on a stream of its own when the runtime says that it may, and is waited for.

namespace kdl::runtime {

namespace {

struct CudaDevice {
  cu::Api api;
  cu::DeviceId id = 0;
  cu::ContextId context = nullptr;
  std::unique_ptr<CudaStreams> streams;
  std::unique_ptr<CudaMemory> memory;
  std::string name;
  std::string arch;  // of the code that it runs, the best first
  MemoryPool pool;   // of launches
  mutable LostDevice lost;
  KernelClock clock;

  ~CudaDevice() {
    if (context == nullptr) return;
    {
      const CurrentContext current(api, context);
      EmptyPool();
      memory.reset();
      streams.reset();
    }
    api.DevicePrimaryCtxRelease_v2(id);
  }

  // The context is the thread's. False: nothing was there.
  bool EmptyPool() {
    const std::vector<void*> pieces = pool.Empty();
    for (void* piece : pieces) memory->Release(reinterpret_cast<cu::Address>(piece));
    return !pieces.empty();
  }

  // Memory; where there is none left, what launches have given back goes first. The context is the thread's.
  cu::Status Take(std::int64_t bytes, void** taken) {
    cu::Address address = 0;
    cu::Status status = memory->Take(static_cast<std::size_t>(bytes), &address);
    if (status == cu::kOutOfMemory && EmptyPool()) {
      memory->Trim();
      status = memory->Take(static_cast<std::size_t>(bytes), &address);
    }
    *taken = status == cu::kSuccess ? reinterpret_cast<void*>(address) : nullptr;
    return status;
  }

  int Attribute(int what) const {
    int value = 0;
    api.DeviceGetAttribute(&value, what, id);
    return value;
  }
};

CudaDevice& Of(void* device) { return *static_cast<CudaDevice*>(device); }

// What the driver says, too, of all that follows in its context: memory was touched that is not the kernel's, or the GPU is gone.
bool IsLost(cu::Status status) {
  constexpr cu::Status kLost[] = {
      46,                  // CUDA_ERROR_DEVICE_UNAVAILABLE
      214,                 // CUDA_ERROR_ECC_UNCORRECTABLE
      700, 702, 709, 710,  // of an address, of time, the context is destroyed, an assertion
      714, 715, 716, 717,
      718, 719};  // of the stack, an instruction, alignment, a space, a counter, others
  return std::find(std::begin(kLost), std::end(kLost), status) != std::end(kLost);
}

Error FailWith(const CudaDevice& cuda, std::string_view what, cu::Status status) {
  if (IsLost(status))
    return cuda.lost.Lose(Concat("CUDA: ", what, " failed: ", cuda.api.NameOf(status)));
  const kdl_code code = status == cu::kOutOfMemory ? KDL_ERROR_OUT_OF_MEMORY : KDL_ERROR_DEVICE;
  return Fail(code, "CUDA: ", what, " failed: ", cuda.api.NameOf(status));
}

// Code for a level of machines runs on later ones, too; what ends in `a` on that one alone.
std::string ArchOf(int level) {
  struct Row {
    const char* arch;
    int level;
    bool alone;
  };
  constexpr Row kRows[] = {{"sm_90a", 90, true}, {"sm_90", 90, false}, {"sm_80", 80, false}};
  std::string archs;
  for (const Row& row : kRows) {
    if (row.alone ? level != row.level : level < row.level) continue;
    archs += (archs.empty() ? "" : " ") + std::string(row.arch);
  }
  return archs;
}

Error OpenDevice(std::int64_t ordinal, std::unique_ptr<CudaDevice>* opened) {
  auto device = std::make_unique<CudaDevice>();
  KDL_RETURN_IF_ERROR(cu::Api::Load(&device->api));
  int count = 0;
  device->api.DeviceGetCount(&count);
  if (ordinal >= count) return NoSuchDevice("cuda", ordinal, count);
  cu::Status status = device->api.DeviceGet(&device->id, static_cast<int>(ordinal));
  if (status != cu::kSuccess) return FailWith(*device, "finding a device", status);
  char name[256] = {};
  device->api.DeviceGetName(name, sizeof name, device->id);
  device->name = name;
  const int level = 10 * device->Attribute(cu::kMajor) + device->Attribute(cu::kMinor);
  device->arch = ArchOf(level);
  if (device->arch.empty()) {
    return Fail(KDL_ERROR_NOT_FOUND, "cuda[", ordinal, "], ", device->name, ", is of level ",
                level / 10, ".", level % 10, "; code is made for 8.0 and later ones");
  }
  status = device->api.DevicePrimaryCtxRetain(&device->context, device->id);
  if (status != cu::kSuccess) return FailWith(*device, "making a context", status);
  device->streams = std::make_unique<CudaStreams>(device->api);
  device->memory = std::make_unique<CudaMemory>(device->api);
  const CurrentContext current(device->api, device->context);
  status = device->memory->Open(device->id);
  if (status != cu::kSuccess) return FailWith(*device, "taking a stream", status);
  *opened = std::move(device);
  return nullptr;
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (count > 0) return UnknownOption("cuda", options[0].key, {}).release();
  std::unique_ptr<CudaDevice> opened;
  if (Error error = OpenDevice(ordinal, &opened)) return error.release();
  *device = opened.release();
  return nullptr;
}

void Close(void* device) { delete static_cast<CudaDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const CudaDevice& cuda = Of(device);
  std::size_t bytes = 0;
  cuda.api.DeviceTotalMem_v2(&bytes, cuda.id);
  constexpr std::int64_t kCoresAtOnce =
      8;  // of a multiprocessor: while some wait for memory, others run
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = std::max(cuda.Attribute(cu::kMultiprocessors), 1) * kCoresAtOnce,
            .resident = 0,
            .memory_bytes = static_cast<std::int64_t>(bytes),
            .exact = 1,
            .host_visible = 0,
            .functional = 0,
            .checks_order = 0,
            .features = 0,
            .image_kind = "cuda",
            .arch = cuda.arch.c_str(),
            .capabilities = 0};
}

// What an operation works with: the context, and a stream, which has ended everything when this goes.
class Work {
 public:
  explicit Work(CudaDevice& cuda) : cuda_(cuda), current_(cuda.api, cuda.context) {
    status_ = current_.status();
    if (status_ == cu::kSuccess) status_ = cuda.streams->Take(&stream_);
  }
  ~Work() {
    if (stream_ == nullptr) return;
    cuda_.api.StreamSynchronize(stream_->id);
    stream_->staging.Forget();
    cuda_.streams->Release(std::move(stream_));
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  cu::Status status() const { return status_; }
  cu::StreamId stream() const { return stream_->id; }
  // One side, or none, is the host's, of which what is read from it has been taken when this returns.
  cu::Status Copy(const cu::Copy2D& copy) const {
    const bool is_inside = copy.from.kind == cu::kDeviceMemory && copy.to.kind == cu::kDeviceMemory;
    return is_inside ? CopyRectangle(cuda_.api, copy, stream()) : stream_->staging.Copy(copy);
  }
  // All has ended, and what has been read is there.
  cu::Status Wait() const { return stream_->staging.Finish(); }

 private:
  CudaDevice& cuda_;
  const CurrentContext current_;
  std::unique_ptr<CudaStream> stream_;
  cu::Status status_;
};

// -- memory -----------------------------------------------------------------------------------------

// Memory by its address, which is the handle, too.
cu::Address AddressOf(const void* memory) { return reinterpret_cast<cu::Address>(memory); }

kdl_error* Allocate(void* device, std::int64_t bytes, const char*, kdl_memory* memory) {
  CudaDevice& cuda = Of(device);
  if (Error lost = cuda.lost.Told()) return lost.release();
  const CurrentContext current(cuda.api, cuda.context);
  void* address = nullptr;
  const cu::Status status = cuda.Take(bytes, &address);
  if (status == cu::kOutOfMemory) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "the device has no ", bytes, " bytes of memory").release();
  }
  if (status != cu::kSuccess) return FailWith(cuda, "taking memory", status).release();
  *memory = {address, address};
  return nullptr;
}

void Release(void* device, kdl_memory memory) {
  CudaDevice& cuda = Of(device);
  const CurrentContext current(cuda.api, cuda.context);
  cuda.memory->Release(AddressOf(memory.address));
}

// Runs `enqueue`, waits, and completes.
template <class Enqueue>
void Move(void* device, std::string_view what, kdl_completion done, const Enqueue& enqueue) {
  CudaDevice& cuda = Of(device);
  Error error = cuda.lost.Told();
  if (error == nullptr) {
    Work work(cuda);
    cu::Status status = work.status();
    if (status == cu::kSuccess) status = enqueue(cuda.api, work);
    if (status == cu::kSuccess) status = work.Wait();
    if (status != cu::kSuccess) error = FailWith(cuda, what, status);
  }
  done.call(done.context, error.release());
}

void MoveRectangles(void* device, std::string_view what, const cu::Side& to, const cu::Side& from,
                    const kdl_region& region, kdl_completion done) {
  Move(device, what, done, [&](const cu::Api&, const Work& work) {
    return ForEachRectangle(region, cu::kSuccess, [&](const Rectangle& part) {
      return work.Copy({Behind(from, part.from, part.from_pitch),
                        Behind(to, part.to, part.to_pitch), part.bytes, part.rows});
    });
  });
}

void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  MoveRectangles(device, "writing", DeviceSide(to.address), HostSide(from), *region, done);
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  MoveRectangles(device, "reading", HostSide(to), DeviceSide(from.address), *region, done);
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  MoveRectangles(device, "copying", DeviceSide(to.address), DeviceSide(from.address), *region,
                 done);
}

// Between two GPUs, by what lies between them; where that is only the host, the driver goes through its memory.
void CopyFrom(void* device, kdl_memory to, void* peer, kdl_memory from, const kdl_region* region,
              kdl_completion done) {
  const cu::ContextId own = Of(device).context;
  const cu::ContextId other = Of(peer).context;
  Move(device, "copying from another GPU", done, [&](const cu::Api& api, const Work& work) {
    return ForEachRectangle(*region, cu::kSuccess, [&](const Rectangle& part) {
      const cu::Address target = AddressOf(to.address) + part.to;
      const cu::Address source = AddressOf(from.address) + part.from;
      if (part.rows == 1)
        return api.MemcpyPeerAsync(target, own, source, other, part.bytes, work.stream());
      const cu::CopyPeer copy = {
          {.device = source, .context = other, .pitch = part.from_pitch, .height = part.rows},
          {.device = target, .context = own, .pitch = part.to_pitch, .height = part.rows},
          part.bytes,
          part.rows,
          1};
      return api.Memcpy3DPeerAsync(&copy, work.stream());
    });
  });
}

// `count` patterns of `bytes` from `to` on.
cu::Status FillRun(const cu::Api& api, cu::Address to, std::uint64_t pattern, std::int32_t bytes,
                   std::size_t count, cu::StreamId stream) {
  const auto low = static_cast<unsigned>(pattern);
  if (bytes == 1) return api.MemsetD8Async(to, static_cast<unsigned char>(low), count, stream);
  if (bytes == 2) return api.MemsetD16Async(to, static_cast<unsigned short>(low), count, stream);
  if (bytes == 4) return api.MemsetD32Async(to, low, count, stream);
  // Two columns of words.
  const auto high = static_cast<unsigned>(pattern >> 32);
  const cu::Status status = api.MemsetD2D32Async(to, 8, low, 1, count, stream);
  return status == cu::kSuccess ? api.MemsetD2D32Async(to + 4, 8, high, 1, count, stream) : status;
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  const auto count = static_cast<std::size_t>(region->run_bytes / pattern_bytes);
  Move(device, "filling", done, [&](const cu::Api& api, const Work& work) {
    return ForEachRun(*region, cu::kSuccess, [&](std::size_t to_offset, std::size_t) {
      return FillRun(api, AddressOf(to.address) + to_offset, pattern, pattern_bytes, count,
                     work.stream());
    });
  });
}

// -- kernels ----------------------------------------------------------------------------------------

struct Kernel {
  cu::FunctionId function = nullptr;
  std::int64_t near_bytes = 0;  // that a launch brings
  int workers = 0;              // of a team
  std::vector<MapNeed> maps;
};

struct Module {
  cu::ModuleId id = nullptr;
  std::mutex mutex;  // guards the rest
  std::map<std::string, Kernel> kernels;
};

Error LoadModule(CudaDevice& cuda, const kdl_image& image, std::unique_ptr<Module>* loaded) {
  KDL_RETURN_IF_ERROR(cuda.lost.Told());
  const CurrentContext current(cuda.api, cuda.context);
  auto module = std::make_unique<Module>();
  const std::string text(static_cast<const char*>(image.payload),
                         static_cast<std::size_t>(image.payload_bytes));
  std::string log(8 << 10, '\0');
  int keys[] = {cu::kErrorLog, cu::kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const cu::Status status = cuda.api.ModuleLoadDataEx(&module->id, text.c_str(), 2, keys, values);
  if (IsLost(status)) return FailWith(cuda, Concat("loading module ", image.module), status);
  if (status != cu::kSuccess) {
    return Fail(KDL_ERROR_DEVICE, "the driver of ", cuda.name, " refuses the kernels of module '",
                image.module, "': ", cuda.api.NameOf(status), "\n", log.c_str());
  }
  *loaded = std::move(module);
  return nullptr;
}

kdl_error* Load(void* device, const kdl_image* image, void** module) {
  std::unique_ptr<Module> loaded;
  if (Error error = LoadModule(Of(device), *image, &loaded)) return error.release();
  *module = loaded.release();
  return nullptr;
}

void Unload(void* device, void* loaded) {
  CudaDevice& cuda = Of(device);
  const std::unique_ptr<Module> module(static_cast<Module*>(loaded));
  const CurrentContext current(cuda.api, cuda.context);
  cuda.api.ModuleUnload(module->id);
}

// What the text says of the kernel's launches (team_abi.h), where it does.
Error ReadNeeds(CudaDevice& cuda, const Work& work, cu::ModuleId module, const char* name,
                std::vector<std::int64_t>* needs) {
  cu::Address address = 0;
  std::size_t bytes = 0;
  cu::Status status =
      cuda.api.ModuleGetGlobal_v2(&address, &bytes, module, Concat(name, "_launch").c_str());
  if (status == cu::kNotFound) return nullptr;
  needs->resize(bytes / sizeof(std::int64_t));
  if (status == cu::kSuccess) {
    status = work.Copy(
        {DeviceSide(reinterpret_cast<const void*>(address)), HostSide(needs->data()), bytes, 1});
  }
  if (status == cu::kSuccess) status = work.Wait();
  return status == cu::kSuccess
             ? nullptr
             : FailWith(cuda, Concat("reading what kernel ", name, " needs"), status);
}

// Asks for more near memory than every kernel has.
Error TakeNear(CudaDevice& cuda, const char* name, const Kernel& kernel) {
  const int most = cuda.Attribute(cu::kMostNear);
  if (kernel.near_bytes > most) {
    return Fail(KDL_ERROR_DEVICE, "kernel ", name, " takes ", kernel.near_bytes,
                " bytes of shared memory; of ", cuda.name, " a block has ", most);
  }
  const cu::Status status = cuda.api.FuncSetAttribute(kernel.function, cu::kNearBytes,
                                                      static_cast<int>(kernel.near_bytes));
  return status == cu::kSuccess ? nullptr : FailWith(cuda, "asking for shared memory", status);
}

Error MakeKernel(CudaDevice& cuda, const Work& work, cu::ModuleId module, const char* name,
                 Kernel* kernel) {
  cu::Status status = cuda.api.ModuleGetFunction(&kernel->function, module, name);
  if (status != cu::kSuccess) return FailWith(cuda, Concat("finding kernel ", name), status);
  // A kernel says its team's size as the most threads that a block of it has.
  status = cuda.api.FuncGetAttribute(&kernel->workers, cu::kMostThreads, kernel->function);
  if (status != cu::kSuccess) return FailWith(cuda, "asking for a kernel's size", status);
  std::vector<std::int64_t> needs;
  KDL_RETURN_IF_ERROR(ReadNeeds(cuda, work, module, name, &needs));
  if (needs.empty()) return nullptr;
  kernel->near_bytes = needs[0];
  constexpr std::size_t kNumbers = 5;  // of a map
  for (std::size_t at = 2; at + kNumbers <= needs.size(); at += kNumbers)
    kernel->maps.push_back({needs[at], needs[at + 1], needs[at + 2], needs[at + 3], needs[at + 4]});
  return TakeNear(cuda, name, *kernel);
}

Error FindKernel(CudaDevice& cuda, const Work& work, Module& module, const char* name,
                 const Kernel** kernel) {
  const std::lock_guard lock(module.mutex);
  auto known = module.kernels.find(name);
  if (known == module.kernels.end()) {
    Kernel made;
    KDL_RETURN_IF_ERROR(MakeKernel(cuda, work, module.id, name, &made));
    known = module.kernels.emplace(name, made).first;
  }
  *kernel = &known->second;
  return nullptr;
}

// One launch.
class Launcher final : public TeamDriver {
 public:
  Launcher(CudaDevice& cuda, const kdl_launch_request& request)
      : cuda_(cuda), request_(request), work_(cuda) {}
  ~Launcher() override {
    for (cu::EventId event : {began_, ended_})
      if (event != nullptr) cuda_.api.EventDestroy_v2(event);
  }

  Error Open() {
    if (work_.status() != cu::kSuccess) return FailWith(cuda_, "taking a stream", work_.status());
    KDL_RETURN_IF_ERROR(FindKernel(cuda_, work_, *static_cast<Module*>(request_.module),
                                   request_.variant->symbol, &kernel_));
    MakeMaps();
    MakeEvents();
    return nullptr;
  }

  Error Take(std::int64_t bytes, void** memory) override {
    const std::int64_t rounded = MemoryPool::Rounded(bytes);
    *memory = cuda_.pool.Take(rounded);
    if (*memory != nullptr) return nullptr;
    const cu::Status status = cuda_.Take(rounded, memory);
    if (status != cu::kSuccess) return FailWith(cuda_, "taking memory for a launch", status);
    if (cuda_.pool.Add(*memory, rounded)) return nullptr;
    cuda_.memory->Release(AddressOf(*memory));
    *memory = nullptr;
    throw std::bad_alloc();
  }
  void Release(void* memory) override {
    if (is_running_) work_.Wait();
    is_running_ = false;
    if (!cuda_.pool.Keep(memory)) cuda_.memory->Release(AddressOf(memory));
  }
  Error Write(void* to, std::span<const std::int64_t> numbers) override {
    is_running_ = true;
    const cu::Status status =
        work_.Copy({HostSide(numbers.data()), DeviceSide(to), numbers.size_bytes(), 1});
    return status == cu::kSuccess ? nullptr : FailWith(cuda_, "writing a launch's numbers", status);
  }
  Error Read(std::span<std::int64_t> to, void* from) override {
    const bool is_timed =
        is_timing_ && cuda_.api.EventRecord(ended_, work_.stream()) == cu::kSuccess;
    is_timing_ = false;
    cu::Status status = work_.Copy({DeviceSide(from), HostSide(to.data()), to.size_bytes(), 1});
    if (status == cu::kSuccess) status = work_.Wait();
    is_running_ = status != cu::kSuccess;
    if (is_timed && !is_running_) NoteTime();
    return status == cu::kSuccess
               ? nullptr
               : FailWith(cuda_, Concat("running ", request_.kernel->name), status);
  }
  TeamPlace PlaceOf(const void* address) override { return {const_cast<void*>(address), 0}; }
  std::int64_t most_scratch() const override {
    std::size_t bytes = 0;
    cuda_.api.DeviceTotalMem_v2(&bytes, cuda_.id);
    return static_cast<std::int64_t>(bytes) / 8;
  }
  Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
             std::int64_t cores) override {
    is_running_ = true;
    if (ended_ != nullptr && !is_timing_)
      is_timing_ = cuda_.api.EventRecord(began_, work_.stream()) == cu::kSuccess;
    // The numbers go by value, and maps.
    std::vector<std::int64_t> all(numbers.begin(), numbers.end());
    all.insert(all.end(), made_.begin(), made_.end());
    std::vector<void*> given = {all.data()};
    for (void* const& memory : memories) given.push_back(const_cast<void**>(&memory));
    for (TensorMap& map : maps_) given.push_back(&map);
    const cu::Status status = cuda_.api.LaunchKernel(
        kernel_->function, static_cast<unsigned>(cores), 1, 1,
        static_cast<unsigned>(kernel_->workers), 1, 1, static_cast<unsigned>(kernel_->near_bytes),
        work_.stream(), given.data(), nullptr);
    return status == cu::kSuccess
               ? nullptr
               : FailWith(cuda_, Concat("launching ", request_.kernel->name), status);
  }

 private:
  // Both, or none.
  void MakeEvents() {
    if (cuda_.api.EventElapsedTime == nullptr || !cuda_.clock.Wants(request_)) return;
    constexpr unsigned kTimed = 0;
    if (cuda_.api.EventCreate(&began_, kTimed) != cu::kSuccess ||
        cuda_.api.EventCreate(&ended_, kTimed) != cu::kSuccess)
      ended_ = nullptr;
  }
  void NoteTime() {
    float ms = 0;
    if (cuda_.api.EventElapsedTime(&ms, began_, ended_) == cu::kSuccess)
      cuda_.clock.Add(request_, static_cast<std::int64_t>(double{ms} * 1e6));
  }
  void MakeMaps() {
    maps_.resize(kernel_->maps.size());
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      const MapNeed& need = kernel_->maps[i];
      const kdl_tensor& tensor = request_.args->tensors[need.tensor];
      const auto bytes = static_cast<std::int64_t>(ElementBytes(tensor));
      made_.push_back(MakeMap(cuda_.api, need, tensor, bytes, &maps_[i]) ? 1 : 0);
    }
  }

  CudaDevice& cuda_;
  const kdl_launch_request& request_;
  Work work_;
  const Kernel* kernel_ = nullptr;
  bool is_running_ = true;  // perhaps; false: all has ended
  std::vector<TensorMap> maps_;
  std::vector<std::int64_t> made_;  // of each whether it is a map
  cu::EventId began_ = nullptr;     // around the kernels of a part, where their time is wanted
  cu::EventId ended_ = nullptr;
  bool is_timing_ = false;
};

Error Run(CudaDevice& cuda, const kdl_launch_request& request) {
  KDL_RETURN_IF_ERROR(cuda.lost.Told());
  Launcher launcher(cuda, request);
  KDL_RETURN_IF_ERROR(launcher.Open());
  return RunTeamLaunch(launcher, request);
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = Run(Of(device), *request);
  done.call(done.context, error.release());
}

std::int64_t Counts(void* device, kdl_count* counts, std::int64_t capacity) {
  if (capacity > 0) *counts = {KDL_COUNT_KERNEL_TIME, Of(device).clock.Ask()};
  return 1;
}

constexpr kdl_memory_ops kMemoryOps = {.size = sizeof(kdl_memory_ops),
                                       .version = KDL_PLUGIN_VERSION,
                                       .allocate = Allocate,
                                       .release = Release,
                                       .write = Write,
                                       .read = Read,
                                       .copy = Copy,
                                       .fill = Fill,
                                       .copy_from = CopyFrom};

}  // namespace

const kdl_device_ops& CudaDeviceOps() {
  static constexpr kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .kind = "cuda",
                                          .memory = &kMemoryOps,
                                          .open = Open,
                                          .close = Close,
                                          .facts = Facts,
                                          .load = Load,
                                          .unload = Unload,
                                          .launch = Launch,
                                          .submit = nullptr,
                                          .image_kind = "cuda",
                                          .counts = Counts};
  return kOps;
}

}  // namespace kdl::runtime
