#include "debug/debug_device.h"

#include <chrono>
#include <cstring>
#include <numeric>
#include <string_view>
#include <thread>
#include <utility>

#include "core/processor.h"
#include "core/view.h"
#include "debug/debug_memory.h"
#include "host/core_runner.h"
#include "host/host_device.h"
#include "kdl/device_keys.h"
#include "system/pages.h"

namespace kdl::runtime {

namespace {

constexpr std::int64_t kDevices = 64;
constexpr std::int64_t kMostThreads = 64;

struct DebugOptions {
  std::int64_t seed = 1;
  std::int64_t threads = 3;
  bool slice_per_core = false;
  std::uint64_t features = UsualFeatures();
  Guard guard = Guard::Bands;
};

struct DebugDevice {
  explicit DebugDevice(const DebugOptions& chosen)
      : options(chosen), pool(static_cast<int>(chosen.threads), {}), memory(chosen.guard) {}

  DebugOptions options;
  WorkerPool pool;
  ScratchPool scratch;
  std::mutex mutex;  // held during each operation, so that each of them sees only its own writes
  DebugMemory memory;
  std::uint64_t launches = 0;
};

// Mixes the bits of its argument (splitmix64).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Runs the cores in an order derived from the seed, with delays between them. Poisons the scratch memory
// before each core.
class DebugHooks final : public CoreHooks {
 public:
  DebugHooks(std::uint64_t seed, const kdl_launch_request& request)
      : seed_(seed),
        scratch_bytes_(request.variant->scratch_bytes),
        workspace_bytes_(request.variant->footprint_bytes) {
    const auto count = static_cast<std::uint64_t>(request.busy_cores);
    offset_ = Mix(seed) % count;
    factor_ = Mix(seed + 1) % count;
    while (std::gcd(factor_, count) != 1) factor_ = (factor_ + 1) % count;
  }

  std::int64_t CoreAt(std::int64_t position, std::int64_t count) override {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{factor_} * static_cast<std::uint64_t>(position) + offset_;
    return static_cast<std::int64_t>(product % static_cast<std::uint64_t>(count));
  }

  void BeforeCall(const kdl_core& core) override {
    const std::uint64_t draw = Mix(seed_ ^ Mix(static_cast<std::uint64_t>(core.core_id)));
    if (draw % 8 == 0 && delays_left_.fetch_sub(1) > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(draw / 8 % 64));
    }
    // Limits the amount of poisoning. Otherwise, a launch with many cores and large scratch would do little
    // else.
    if (poison_left_.fetch_sub(scratch_bytes_ + workspace_bytes_) <= 0) return;
    if (core.scratch != nullptr) Poison(core.scratch, scratch_bytes_);
    if (core.workspace != nullptr) Poison(core.workspace, workspace_bytes_);
  }

 private:
  static void Poison(void* memory, std::int64_t bytes) {
    std::memset(memory, kPoison, static_cast<std::size_t>(bytes));
  }

  std::uint64_t seed_;
  std::int64_t scratch_bytes_;
  std::int64_t workspace_bytes_;
  std::uint64_t factor_ = 1;
  std::uint64_t offset_ = 0;
  std::atomic<int> delays_left_{24};
  std::atomic<std::int64_t> poison_left_{std::int64_t{256} << 20};
};

Error ParseGuard(const kdl_option& option, Guard* guard) {
  constexpr std::pair<std::string_view, Guard> kGuards[] = {
      {"bands", Guard::Bands}, {"end", Guard::End}, {"start", Guard::Start}};
  for (const auto& [name, value] : kGuards) {
    if (name != option.value) continue;
    *guard = value;
    return nullptr;
  }
  return Invalid("guard=", option.value, " is not bands, end or start");
}

kdl_error* Open(void*, std::int64_t ordinal, const kdl_option* options, std::int32_t count,
                void** device) {
  if (ordinal >= kDevices) {
    return NoSuchDevice("debug", ordinal, kDevices).release();
  }
  DebugOptions parsed;
  for (const kdl_option* option = options; option != options + count; ++option) {
    const std::string_view key = option->key;
    Error error;
    if (key == "seed") {
      error = ParseOption(*option, 0, INT64_MAX, &parsed.seed);
    } else if (key == "threads") {
      error = ParseOption(*option, 1, kMostThreads, &parsed.threads);
    } else if (key == "resident") {
      error = ParseResident(*option, &parsed.slice_per_core);
    } else if (key == "isa") {
      error = FeaturesOfLevel(option->value, &parsed.features);
    } else if (key == "guard") {
      error = ParseGuard(*option, &parsed.guard);
    } else {
      error = UnknownOption("debug", key, KDL_DEBUG_KEYS);
    }
    if (error != nullptr) return error.release();
  }
  *device = new DebugDevice(parsed);
  return nullptr;
}

void Close(void* device) { delete static_cast<DebugDevice*>(device); }

void Facts(void* device, kdl_device_facts* facts) {
  const DebugOptions& options = static_cast<const DebugDevice*>(device)->options;
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = options.threads,
            .resident = options.slice_per_core ? 0 : options.threads,
            .memory_bytes = PhysicalMemoryBytes(),
            .exact = 1,
            .host_visible = 0,
            .functional = 1,
            .checks_order = 1,
            .features = options.features,
            .image_kind = "host",
            .arch = ProcessorArch(),
            .capabilities = 0};
}

DebugDevice& Locked(void* device, std::unique_lock<std::mutex>* lock) {
  auto& debug = *static_cast<DebugDevice*>(device);
  *lock = std::unique_lock(debug.mutex);
  return debug;
}

char* DataOf(kdl_memory memory) { return static_cast<DebugAllocation*>(memory.handle)->data; }

kdl_error* Allocate(void* device, std::int64_t bytes, const char* name, kdl_memory* memory) {
  std::unique_lock<std::mutex> lock;
  DebugAllocation* allocation = Locked(device, &lock).memory.Allocate(bytes, name);
  if (allocation == nullptr) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "not enough memory for ", bytes, " bytes").release();
  }
  *memory = {allocation, TagAddress(allocation->data)};
  return nullptr;
}

void Release(void* device, kdl_memory memory) {
  std::unique_lock<std::mutex> lock;
  Locked(device, &lock).memory.Release(static_cast<DebugAllocation*>(memory.handle));
}

// Releases the lock before it completes the operation, because the completion may start the next operation on
// this thread.
void Write(void* device, kdl_memory to, const void* from, const kdl_region* region,
           kdl_completion done) {
  {
    std::unique_lock<std::mutex> lock;
    Locked(device, &lock);
    CopyRegion(DataOf(to), from, *region);
  }
  done.call(done.context, nullptr);
}

void Read(void* device, void* to, kdl_memory from, const kdl_region* region, kdl_completion done) {
  {
    std::unique_lock<std::mutex> lock;
    Locked(device, &lock);
    CopyRegion(to, DataOf(from), *region);
  }
  done.call(done.context, nullptr);
}

void Copy(void* device, kdl_memory to, kdl_memory from, const kdl_region* region,
          kdl_completion done) {
  {
    std::unique_lock<std::mutex> lock;
    Locked(device, &lock);
    CopyRegion(DataOf(to), DataOf(from), *region);
  }
  done.call(done.context, nullptr);
}

void Fill(void* device, kdl_memory to, const kdl_region* region, std::uint64_t pattern,
          std::int32_t pattern_bytes, kdl_completion done) {
  {
    std::unique_lock<std::mutex> lock;
    Locked(device, &lock);
    FillRegion(DataOf(to), *region, pattern, pattern_bytes);
  }
  done.call(done.context, nullptr);
}

// Returns the tensors of the launch with their addresses in this process.
std::vector<kdl_tensor> UntagTensors(const kdl_launch_request& request) {
  std::vector<kdl_tensor> tensors(request.args->tensors,
                                  request.args->tensors + request.tensor_count);
  for (kdl_tensor& tensor : tensors) tensor.data = UntagAddress(tensor.data);
  return tensors;
}

// An `out` tensor is undefined at entry. Poison makes reads of undefined elements visible.
void PoisonOutputs(const kdl_variant& variant, const std::vector<kdl_tensor>& tensors) {
  std::size_t tensor = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (variant.params[p].is_tensor == 0) continue;
    const kdl_tensor& view = tensors[tensor++];
    if (variant.params[p].direction != KDL_OUT || IsEmpty(view)) continue;
    FillRegion(view.data, RegionOf(view, 0, view, 0), ~std::uint64_t{0},
               static_cast<std::int32_t>(ElementBytes(view)));
  }
}

Error RunLaunch(DebugDevice& debug, const kdl_launch_request& request) {
  std::unique_lock<std::mutex> lock;
  Locked(&debug, &lock);
  const std::vector<kdl_tensor> tensors = UntagTensors(request);
  kdl_args args = *request.args;
  args.tensors = tensors.data();
  Snapshot snapshot(request);
  PoisonOutputs(*request.variant, tensors);
  DebugHooks hooks(Mix(static_cast<std::uint64_t>(debug.options.seed)) + debug.launches++, request);
  CoreRunner runner(request, args, UntagAddress(request.workspace), UntagAddress(request.shared),
                    &hooks);
  CoreRunner::Plan plan;
  Error error = CoreRunner::MakePlan(request, debug.pool.workers(), &plan);
  if (error == nullptr) error = runner.RunCores(debug.pool, plan, debug.scratch);
  std::string stray = debug.memory.CheckGuards();
  if (stray.empty()) stray = snapshot.FindStrayWrite(request, tensors);
  if (error != nullptr || stray.empty()) return error;
  return Fail(KDL_ERROR_INTERNAL, "kernel '", request.kernel->name, "' wrote ", stray);
}

void Launch(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = RunLaunch(*static_cast<DebugDevice*>(device), *request);
  done.call(done.context, error.release());
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

}  // namespace

const kdl_device_ops& DebugDeviceOps() {
  static constexpr kdl_device_ops kOps = {.size = sizeof(kdl_device_ops),
                                          .version = KDL_PLUGIN_VERSION,
                                          .kind = "debug",
                                          .memory = &kMemoryOps,
                                          .open = Open,
                                          .close = Close,
                                          .facts = Facts,
                                          .load = nullptr,
                                          .unload = nullptr,
                                          .launch = Launch,
                                          .submit = nullptr,
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
  return kOps;
}

}  // namespace kdl::runtime
