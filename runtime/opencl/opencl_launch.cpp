#include "opencl/opencl_launch.h"

#include <deque>
#include <new>
#include <span>
#include <vector>

#include "kdl/workgroup_abi.h"
#include "opencl/opencl_context.h"
#include "workgroup/workgroup_launch.h"

namespace kdl::runtime {

namespace {

// The state of one launch. The numbers that a kernel receives are passed in a buffer.
class Launcher final : public WorkgroupDriver {
 public:
  Launcher(OpenclDevice& opencl, const kdl_launch_request& request)
      : opencl_(opencl), request_(request) {}
  ~Launcher() override {
    // After a failure, the queue may still read the data that has been written.
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
    if (status != cl::kSuccess) return opencl_.Failed("allocating memory for a launch", status);
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
    return status == cl::kSuccess ? nullptr
                                  : opencl_.Failed("writing the arguments of a launch", status);
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
  WorkgroupPlace PlaceOf(const void* address) override {
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
  std::deque<std::vector<std::int64_t>> written_;  // numbers that the queue may still read
  std::vector<cl::EventId> kernels_;               // events of the kernels whose times are measured
};

// Adds to the device's clock the times of all kernels since the last call. If the driver does not know the
// time of one of them, adds nothing.
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

// Checks the limits of the device. Workgroup size and workgroup memory are fixed in the kernel's source, so a
// device with lower limits needs smaller blocks.
Error Launcher::CheckFits() const {
  const auto ask = [&](std::uint32_t what, auto* value) {
    opencl_.api.GetKernelWorkGroupInfo(kernel_, opencl_.id, what, sizeof *value, value, nullptr);
  };
  std::uint64_t workgroup_bytes = 0;
  std::size_t most_threads = 0;
  std::size_t workgroup[3] = {1, 1, 1};
  ask(cl::kKernelWorkgroup, &workgroup_bytes);
  ask(cl::kMostThreads, &most_threads);
  ask(cl::kCompiledWorkGroup, &workgroup);
  const auto has = opencl_.Info<std::uint64_t>(cl::kDeviceWorkgroup);
  if (has > 0 && workgroup_bytes > has) {
    return Fail(KDL_ERROR_UNSUPPORTED, "kernel ", request_.kernel->name, " needs ", workgroup_bytes,
                " bytes of local memory, but a work-group on ", opencl_.programs->names().device,
                " has ", has, ": blocks of 1/", (workgroup_bytes + has - 1) / has,
                " of the elements fit");
  }
  if (most_threads > 0 && workgroup[0] > most_threads) {
    return Fail(KDL_ERROR_UNSUPPORTED, "kernel ", request_.kernel->name, " needs ", workgroup[0],
                " work-items in a work-group, but ", opencl_.programs->names().device,
                " has registers for only ", most_threads, "; use smaller blocks");
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
    if (status != cl::kSuccess) return opencl_.Failed("setting the arguments of a kernel", status);
  }
  return Write(numbers_, numbers);
}

Error Launcher::Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
                     std::int64_t cores) {
  if (kernel_ == nullptr) {
    KDL_RETURN_IF_ERROR(Prepare(numbers, memories));
  } else {
    KDL_RETURN_IF_ERROR(Write(numbers_, numbers.first(kdl_workgroup_header)));
  }
  std::size_t workgroup[3] = {1, 1, 1};
  opencl_.api.GetKernelWorkGroupInfo(kernel_, opencl_.id, cl::kCompiledWorkGroup, sizeof workgroup,
                                     workgroup, nullptr);
  const std::size_t items = static_cast<std::size_t>(cores) * workgroup[0];
  if (opencl_.measures) kernels_.reserve(kernels_.size() + 1);
  cl::EventId event = nullptr;
  const std::int32_t status =
      opencl_.api.EnqueueNDRangeKernel(opencl_.queue, kernel_, 1, nullptr, &items, workgroup, 0,
                                       nullptr, opencl_.measures ? &event : nullptr);
  if (event != nullptr) kernels_.push_back(event);
  return status == cl::kSuccess
             ? nullptr
             : opencl_.Failed(Concat("launching ", request_.kernel->name), status);
}

Error RunLaunch(OpenclDevice& opencl, const kdl_launch_request& request) {
  const std::lock_guard lock(opencl.mutex);
  KDL_RETURN_IF_ERROR(opencl.lost.Told());
  if (!opencl.measures && opencl.clock.Wants(request))
    opencl.measures = opencl.MakeQueue(cl::kProfiling) == cl::kSuccess;
  Launcher launcher(opencl, request);
  return RunWorkgroupLaunch(launcher, request);
}

}  // namespace

void LaunchOpencl(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = RunLaunch(OpenclDevice::FromHandle(device), *request);
  done.call(done.context, error.release());
}

}  // namespace kdl::runtime
