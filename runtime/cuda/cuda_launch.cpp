#include "cuda/cuda_launch.h"

#include <new>
#include <span>
#include <string>
#include <vector>

#include "cuda/cuda_blocks.h"
#include "cuda/cuda_context.h"
#include "cuda/cuda_kernels.h"
#include "workgroup/workgroup_launch.h"

namespace kdl::runtime {

namespace {

// The state of one launch.
class Launcher final : public WorkgroupDriver {
 public:
  Launcher(CudaDevice& cuda, const kdl_launch_request& request)
      : cuda_(cuda), request_(request), work_(cuda) {}
  ~Launcher() override {
    for (cu::EventId event : {began_, ended_})
      if (event != nullptr) cuda_.api.EventDestroy_v2(event);
  }

  Error Open() {
    if (work_.status() != cu::kSuccess) return cuda_.Failed("creating a stream", work_.status());
    KDL_RETURN_IF_ERROR(FindCudaKernel(cuda_, *static_cast<CudaModule*>(request_.module),
                                       *request_.variant, &kernel_));
    maps_.Make(cuda_.api, *kernel_, *request_.args);
    MakeEvents();
    return nullptr;
  }

  Error Take(std::int64_t bytes, void** memory) override {
    const std::int64_t rounded = MemoryPool::Rounded(bytes);
    *memory = cuda_.pool.Take(rounded);
    if (*memory != nullptr) return nullptr;
    const cu::Status status = cuda_.Take(rounded, memory);
    if (status != cu::kSuccess) return cuda_.Failed("allocating memory for a launch", status);
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
    return status == cu::kSuccess ? nullptr
                                  : cuda_.Failed("writing the arguments of a launch", status);
  }
  Error Read(std::span<std::int64_t> to, void* from) override {
    const bool is_timed =
        is_timing_ && cuda_.api.EventRecord(ended_, work_.stream()) == cu::kSuccess;
    is_timing_ = false;
    cu::Status status = work_.Copy({DeviceSide(from), HostSide(to.data()), to.size_bytes(), 1});
    if (status == cu::kSuccess) status = work_.Wait();
    is_running_ = status != cu::kSuccess;
    if (is_timed && !is_running_) NoteTime();
    return status == cu::kSuccess ? nullptr
                                  : cuda_.Failed(Concat("running ", request_.kernel->name), status);
  }
  WorkgroupPlace PlaceOf(const void* address) override { return {const_cast<void*>(address), 0}; }
  std::int64_t most_scratch() const override { return cuda_.most_scratch; }
  Error Call(std::span<const std::int64_t> numbers, std::span<void* const> memories,
             std::int64_t cores) override {
    is_running_ = true;
    if (ended_ != nullptr && !is_timing_)
      is_timing_ = cuda_.api.EventRecord(began_, work_.stream()) == cu::kSuccess;
    const cu::Status status = LaunchBlocks(cuda_.api, *kernel_, numbers, memories, maps_, cores,
                                           work_.stream(), &passed_);
    return status == cu::kSuccess
               ? nullptr
               : cuda_.Failed(Concat("launching ", request_.kernel->name), status);
  }

 private:
  // Creates both timing events, or none if that fails.
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
  CudaDevice& cuda_;
  const kdl_launch_request& request_;
  CudaWork work_;
  const CudaKernel* kernel_ = nullptr;
  bool is_running_ = true;  // false only if all work has certainly ended
  LaunchMaps maps_;
  PassedArguments passed_;
  // Events before and after the kernels of a part of the launch (see `WorkgroupLaunch::Part`), if their time
  // is measured.
  cu::EventId began_ = nullptr;
  cu::EventId ended_ = nullptr;
  bool is_timing_ = false;
};

Error RunLaunch(CudaDevice& cuda, const kdl_launch_request& request) {
  KDL_RETURN_IF_ERROR(cuda.lost.Told());
  Launcher launcher(cuda, request);
  KDL_RETURN_IF_ERROR(launcher.Open());
  return RunWorkgroupLaunch(launcher, request);
}

}  // namespace

void LaunchCuda(void* device, const kdl_launch_request* request, kdl_completion done) {
  Error error = RunLaunch(CudaDevice::FromHandle(device), *request);
  done.call(done.context, error.release());
}

}  // namespace kdl::runtime
