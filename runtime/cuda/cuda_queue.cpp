#include "cuda/cuda_queue.h"

#include <algorithm>
#include <new>
#include <string>

#include "workgroup/workgroup_prints.h"

namespace kdl::runtime {

namespace {

// Whether something in the kernel can fail. The locations are those of prints, of traps and of checks before
// the launch.
bool MayTrap(const CudaKernel& kernel, const kdl_variant& variant) {
  return kernel.may_trap &&
         std::any_of(variant.locations, variant.locations + variant.location_count,
                     [](const kdl_location& location) { return location.code != 0; });
}

// Whether one call of the driver runs the launch, and nothing must be read before it ends.
bool IsOneCall(const CudaDevice& cuda, const kdl_launch_request& request) {
  constexpr std::int64_t kMostCores = std::int64_t{1} << 30;
  const kdl_variant& variant = *request.variant;
  const std::int64_t scratch = std::max<std::int64_t>(variant.scratch_bytes, 1);
  return (variant.flags & KDL_VARIANT_SYNC) == 0 && !Prints(variant) &&
         !cuda.clock.Wants(request) && request.busy_cores <= kMostCores &&
         request.busy_cores <= cuda.most_scratch / scratch;
}

CudaQueue& QueueOf(CudaDevice& cuda, std::int32_t index) {
  const std::lock_guard lock(cuda.queues_mutex);
  std::unique_ptr<CudaQueueState>& queue = cuda.queues[index];
  if (queue == nullptr) queue = std::make_unique<CudaQueue>(cuda);
  return static_cast<CudaQueue&>(*queue);
}

}  // namespace

CudaQueue::~CudaQueue() {
  FreeReplaced();
  if (scratch_ != nullptr) cuda_.memory->Release(AddressOf(scratch_));
  if (record_ != nullptr) cuda_.api.MemFreeHost(record_);
  if (lead_ != nullptr) cuda_.api.EventDestroy_v2(lead_);
  if (stream_ != nullptr) cuda_.api.StreamDestroy_v2(stream_);
}

cu::Status CudaQueue::MakeStream() {
  if (stream_ == nullptr) {
    const cu::Status status = cuda_.api.StreamCreate(&stream_, cu::kNonBlocking);
    if (status != cu::kSuccess) return status;
  }
  if (record_ != nullptr) return cu::kSuccess;
  void* memory = nullptr;
  constexpr std::size_t kBytes = kdl_workgroup_record * sizeof(std::int64_t);
  const cu::Status status = cuda_.api.MemHostAlloc(&memory, kBytes, cu::kMapped);
  if (status != cu::kSuccess) return status;
  record_ = static_cast<std::int64_t*>(memory);
  std::fill_n(record_, std::int64_t{kdl_workgroup_record}, 0);
  return cu::kSuccess;
}

cu::Status CudaQueue::Reserve(std::int64_t scratch_bytes) {
  const std::lock_guard lock(mutex_);
  if (record_ != nullptr && scratch_bytes <= scratch_bytes_) return cu::kSuccess;
  const CurrentContext current(cuda_.api, cuda_.context);
  const cu::Status made = MakeStream();
  if (made != cu::kSuccess || scratch_bytes <= scratch_bytes_) return made;
  replaced_.reserve(replaced_.size() + 1);
  void* larger = nullptr;
  const cu::Status status = cuda_.Take(scratch_bytes, &larger);
  if (status != cu::kSuccess) return status;
  if (scratch_ != nullptr) replaced_.push_back(scratch_);
  scratch_ = larger;
  scratch_bytes_ = scratch_bytes;
  return cu::kSuccess;
}

Error CudaQueue::Launch(Given* given) {
  const kdl_launch_request& request = *given->request;
  KDL_RETURN_IF_ERROR(cuda_.lost.Told());
  const CudaKernel* kernel = nullptr;
  KDL_RETURN_IF_ERROR(
      FindCudaKernel(cuda_, *static_cast<CudaModule*>(request.module), *request.variant, &kernel));
  given->may_trap = MayTrap(*kernel, *request.variant);
  const CurrentContext current(cuda_.api, cuda_.context);
  maps_.Make(cuda_.api, *kernel, *request.args);
  arguments_.Collect(request, {scratch_, record_, nullptr}, [](const void* address) {
    return WorkgroupPlace{const_cast<void*>(address), 0};
  });
  const cu::Status status =
      LaunchBlocks(cuda_.api, *kernel, arguments_.numbers, arguments_.memories, maps_,
                   request.busy_cores, stream_, &passed_);
  if (status == cu::kSuccess) return nullptr;
  return cuda_.Failed(Concat("launching ", request.kernel->name), status);
}

// The driver keeps the event for as long as the stream waits for it.
Error CudaQueue::Follow(cu::EventId event) {
  const CurrentContext current(cuda_.api, cuda_.context);
  cu::Status status = MakeStream();
  if (status == cu::kSuccess) status = cuda_.api.StreamWaitEvent(stream_, event, 0);
  cuda_.api.EventDestroy_v2(event);
  if (status == cu::kSuccess) return nullptr;
  return cuda_.Failed("waiting for a stream of the application", status);
}

cu::Status CudaQueue::Lead(cu::StreamId other) {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) return cu::kSuccess;  // nothing has been given to it
  const CurrentContext current(cuda_.api, cuda_.context);
  cu::Status status = cu::kSuccess;
  if (lead_ == nullptr) status = cuda_.api.EventCreate(&lead_, cu::kNoTiming);
  if (status == cu::kSuccess) status = cuda_.api.EventRecord(lead_, stream_);
  return status != cu::kSuccess ? status : cuda_.api.StreamWaitEvent(other, lead_, 0);
}

void CudaQueue::Submit(const kdl_submission& submission) {
  Error error;
  {
    const std::lock_guard lock(mutex_);
    const bool is_launch = submission.kind == KDL_SUBMIT_LAUNCH;
    try {
      given_.push_back({submission.number, submission.done, submission.launch, is_launch});
      error =
          is_launch ? Launch(&given_.back()) : Follow(static_cast<cu::EventId>(submission.mark));
      if (error == nullptr) return;
      given_.pop_back();
    } catch (const std::bad_alloc&) {
      if (!given_.empty() && given_.back().number == submission.number) given_.pop_back();
      error = OutOfMemory();
    }
  }
  submission.done.call(submission.done.context, error.release());
}

bool CudaQueue::TakeUpTo(std::uint64_t number, Given* given) {
  const std::lock_guard lock(mutex_);
  if (given_.empty() || given_.front().number > number) return false;
  *given = given_.front();
  given_.pop_front();
  return true;
}

// Only the last launch of a stream can have trapped, because nothing follows a launch that may.
Error CudaQueue::OutcomeOf(const Given& given, cu::Status status) {
  if (status != cu::kSuccess) {
    const bool is_launch = given.request != nullptr;
    return cuda_.Failed(is_launch ? Concat("running ", given.request->kernel->name)
                                  : "waiting for a stream of the application",
                        status);
  }
  if (!given.may_trap || static_cast<std::int32_t>(record_[0]) == 0) return nullptr;
  Error error = TrapOf(*given.request, {record_, kdl_workgroup_record}, "");
  std::fill_n(record_, std::int64_t{kdl_workgroup_record}, 0);
  return error;
}

void CudaQueue::Wait(std::uint64_t number) {
  const std::lock_guard waits(waits_);
  std::uint64_t last = 0;
  {
    const std::lock_guard lock(mutex_);
    if (given_.empty() || given_.front().number > number) return;
    last = given_.back().number;
  }
  cu::Status status = cu::kSuccess;
  {
    const CurrentContext current(cuda_.api, cuda_.context);
    status = cuda_.api.StreamSynchronize(stream_);
    const std::lock_guard lock(mutex_);
    if (given_.back().number == last) FreeReplaced();
  }
  Given given;
  while (TakeUpTo(last, &given)) {
    Error error;
    try {
      error = OutcomeOf(given, status);
    } catch (const std::bad_alloc&) {
      error = OutOfMemory();
    }
    given.done.call(given.done.context, error.release());
  }
}

// Called when nothing uses the memory any more, with the context current.
void CudaQueue::FreeReplaced() {
  for (void* memory : replaced_) cuda_.memory->Release(AddressOf(memory));
  replaced_.clear();
}

std::int32_t CudaAccepts(void* device, const kdl_launch_request* request) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  if (!IsOneCall(cuda, *request) || cuda.lost.Told() != nullptr) return KDL_REFUSES;
  const CudaKernel* kernel = nullptr;
  if (FindCudaKernel(cuda, *static_cast<CudaModule*>(request->module), *request->variant,
                     &kernel) != nullptr)
    return KDL_REFUSES;
  const std::int64_t scratch = request->variant->scratch_bytes * request->busy_cores;
  if (QueueOf(cuda, request->queue).Reserve(scratch) != cu::kSuccess) return KDL_REFUSES;
  return MayTrap(*kernel, *request->variant) ? KDL_ACCEPTS_LAST : KDL_ACCEPTS;
}

void SubmitCuda(void* device, const kdl_submission* submission) {
  QueueOf(CudaDevice::FromHandle(device), submission->queue).Submit(*submission);
}

void WaitCuda(void* device, std::int32_t queue, std::uint64_t number) {
  QueueOf(CudaDevice::FromHandle(device), queue).Wait(number);
}

kdl_error* LeadCudaStream(void* device, std::int32_t queue, void* stream) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  const cu::Status status = QueueOf(cuda, queue).Lead(static_cast<cu::StreamId>(stream));
  if (status == cu::kSuccess) return nullptr;
  return cuda.Failed("ordering a stream of the application", status).release();
}

}  // namespace kdl::runtime
