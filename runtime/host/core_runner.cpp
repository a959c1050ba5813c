#include "host/core_runner.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "core/trace.h"
#include "core/trap.h"

namespace kdl::runtime {

namespace {

// The alignment of the workers' slices in bytes. It is a whole page, so that neighbouring slices share no
// cache line and the hardware prefetcher does not cross from one slice into the next.
constexpr std::int64_t kSliceAlignment = 4096;
constexpr std::int64_t kBlockAlignment = KDL_SCRATCH_ALIGNMENT;

// `alignment` must be a power of two.
std::int64_t RoundUp(std::int64_t bytes, std::int64_t alignment) {
  return (bytes + alignment - 1) & -alignment;
}

}  // namespace

CoreRunner::CoreRunner(const kdl_launch_request& request, const kdl_args& args, void* workspace,
                       void* shared, CoreHooks* hooks)
    : request_(request),
      variant_(*request.variant),
      args_(args),
      workspace_(static_cast<char*>(workspace)),
      hooks_(hooks),
      launch_(*request.launch) {
  launch_.shared = shared;
  if (request.observer == nullptr) return;
  launch_.turn = NoteTurn;
  launch_.block = NoteBlock;
}

bool CoreRunner::stopped() {
  return std::atomic_ref(launch_.stop).load(std::memory_order_relaxed) != 0;
}

// Lays out a single block that contains all memory of the runner: the workers' shares of the cores, counters
// for dynamic scheduling, frames and scratch.
Error CoreRunner::MakePlan(const kdl_launch_request& request, int workers, Plan* plan) {
  const kdl_variant& variant = *request.variant;
  workers = static_cast<int>(std::min<std::int64_t>(
      {workers, request.busy_cores, std::max<std::int64_t>(request.instances, 1)}));
  plan->workers = workers;
  const bool has_barriers = (variant.flags & KDL_VARIANT_SYNC) != 0;
  const std::int64_t frames = has_barriers ? request.core_num : workers;
  const std::int64_t frame_bytes = RoundUp(variant.frame_bytes, kBlockAlignment);
  const std::int64_t scratch_bytes = RoundUp(variant.scratch_bytes, kSliceAlignment);
  plan->dynamic_counters_at =
      RoundUp(workers * static_cast<std::int64_t>(sizeof(Share)), kBlockAlignment);
  plan->states_at = plan->dynamic_counters_at +
                    RoundUp(variant.dynamic_counter_count * std::int64_t{8}, kBlockAlignment);
  const std::int64_t states = has_barriers ? request.core_num : 0;
  std::int64_t frames_at = 0;
  if (__builtin_add_overflow(plan->states_at, states, &frames_at) ||
      frames_at > INT64_MAX - kBlockAlignment ||
      __builtin_mul_overflow(frames, frame_bytes, &plan->scratch_at) ||
      __builtin_add_overflow(plan->scratch_at, RoundUp(frames_at, kBlockAlignment),
                             &plan->scratch_at) ||
      __builtin_mul_overflow(scratch_bytes, std::int64_t{workers}, &plan->bytes) ||
      __builtin_add_overflow(plan->bytes, plan->scratch_at, &plan->bytes)) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "launch of '", request.kernel->name, "' on ",
                request.core_num, " cores: their frames of ", frame_bytes,
                " bytes each are 2^63 bytes or more");
  }
  plan->frames_at = RoundUp(frames_at, kBlockAlignment);
  return nullptr;
}

Error CoreRunner::OutOfMemoryFor(const kdl_launch_request& request, const Plan& plan) {
  return Fail(KDL_ERROR_OUT_OF_MEMORY, "launch of '", request.kernel->name, "' on ",
              request.core_num, " cores: not enough memory for ", plan.bytes,
              " bytes of frames and scratch memory");
}

void CoreRunner::TakeMemory(const Plan& plan, char* memory) {
  frame_bytes_ = RoundUp(variant_.frame_bytes, kBlockAlignment);
  scratch_bytes_ = RoundUp(variant_.scratch_bytes, kSliceAlignment);
  shares_ = reinterpret_cast<Share*>(memory);
  launch_.dynamic_counters = reinterpret_cast<std::int64_t*>(memory + plan.dynamic_counters_at);
  // The memory is zeroed, and 0 means running.
  states_ = reinterpret_cast<CoreState*>(memory + plan.states_at);
  frames_ = memory + plan.frames_at;
  scratch_ = memory + plan.scratch_at;
  std::memset(memory, 0, static_cast<std::size_t>(plan.scratch_at));
}

Error CoreRunner::RunCores(WorkerPool& pool, const Plan& plan, ScratchPool& scratch, char* memory) {
  workers_ = plan.workers;
  ScratchPool::Block borrowed;
  if (plan.is_small()) {
    memory = small_;
  } else if (memory == nullptr) {
    borrowed = scratch.Acquire(plan.bytes);
    memory = borrowed.data;
    if (memory == nullptr) return OutOfMemoryFor(request_, plan);
  }
  TakeMemory(plan, memory);
  try {
    RunPhases(pool);
  } catch (const std::bad_alloc&) {
    // The pool has no memory for its threads, so no core has begun.
    Stop(0, OutOfMemory());
  }
  if (borrowed.data != nullptr) scratch.GiveBack(borrowed);
  return std::move(error_);
}

// Runs all cores up to their next `sync`, again and again, until they have ended.
void CoreRunner::RunPhases(WorkerPool& pool) {
  // Divide the work into eight chunks for each worker, so that no worker waits long for another.
  if (workers_ > 1)
    chunk_ = std::max<std::int64_t>(1, request_.busy_cores / (std::int64_t{workers_} * 8));
  do {
    at_barrier_.store(0, std::memory_order_relaxed);
    if (workers_ == 1) {
      Work(0);
    } else {
      DistributeShares();
      if (!pool.RunJob(workers_, [this](int worker) { Work(worker); }))
        Stop(0, Invalid("kdl_hooks.run must call `work` once for each n from 0 to ", workers_ - 1,
                        " before it returns"));
    }
  } while (at_barrier_ > 0 && !stopped());
}

// Distributes the cores so that each worker gets consecutive cores.
void CoreRunner::DistributeShares() {
  const std::int64_t least = request_.busy_cores / workers_;
  const std::int64_t longer = request_.busy_cores % workers_;
  std::int64_t begin = 0;
  for (std::int64_t w = 0; w < workers_; ++w) {
    const std::int64_t end = begin + least + (w < longer ? 1 : 0);
    new (&shares_[w]) Share{begin, end, shares_[w].left_ns};
    begin = end;
  }
}

void CoreRunner::Work(int worker) {
  const kdl_observer* observer = request_.observer;
  const std::int64_t begin = observer == nullptr ? 0 : TraceNow();
  std::int64_t& left_ns = shares_[worker].left_ns;
  if (observer != nullptr && left_ns != 0)
    observer->waited(observer->context, worker, -1, -1, left_ns, begin);
  try {
    WorkUntilDone(worker);
  } catch (const std::bad_alloc&) {
    Stop(0, OutOfMemory());
  }
  if (observer == nullptr) return;
  left_ns = TraceNow();
  observer->busy(observer->context, worker, begin, left_ns);
}

// The stages of a core run one after another, so this run of a stage began when the previous stage's run
// ended.
void CoreRunner::NoteTurn(kdl_core* core, std::int32_t stage, std::int32_t state) {
  auto& self = *static_cast<WorkerCore*>(core);
  const std::int64_t now = TraceNow();
  if (stage < KDL_MAX_WAITS) {
    WorkerCore::Wait& wait = self.waits[stage];
    if (wait.since_ns != 0) {
      self.observer->waited(self.observer->context, self.worker, stage, wait.location,
                            wait.since_ns, self.turned_ns);
    }
    wait = state > 0 ? WorkerCore::Wait{now, state - 1} : WorkerCore::Wait{0, -1};
  }
  self.turned_ns = now;
}

void CoreRunner::NoteBlock(kdl_core* core, std::int32_t stage, std::int64_t number) {
  auto& self = *static_cast<WorkerCore*>(core);
  if (stage >= KDL_MAX_WAITS) return;
  WorkerCore::Block& block = self.blocks[stage + 1];
  if (number >= 0) {
    block = {number, TraceNow()};
    return;
  }
  self.observer->ran_block(self.observer->context, self.worker, stage, self.core_id, block.number,
                           block.since_ns, TraceNow());
}

void CoreRunner::WorkUntilDone(int worker) {
  WorkerCore core;
  core.observer = request_.observer;
  core.worker = worker;
  core.size = sizeof(kdl_core);
  core.version = KDL_ABI_VERSION;
  core.core_num = request_.core_num;
  core.scratch = variant_.scratch_bytes > 0 ? scratch_ + worker * scratch_bytes_ : nullptr;
  core.workspace = nullptr;
  core.frame = nullptr;
  ClearTrap(&core.trap);
  core.launch = &launch_;
  if (workers_ == 1) return RunRange(0, request_.busy_cores, worker, &core);
  for (int n = 0; n < workers_ && !stopped(); ++n) {
    const int other = worker + n;
    RunShare(&shares_[other < workers_ ? other : other - workers_], worker, &core);
  }
}

void CoreRunner::RunShare(Share* share, int worker, WorkerCore* core) {
  while (share->next.load(std::memory_order_relaxed) < share->end && !stopped()) {
    const std::int64_t begin = share->next.fetch_add(chunk_, std::memory_order_relaxed);
    RunRange(begin, std::min(begin + chunk_, share->end), worker, core);
  }
}

void CoreRunner::RunRange(std::int64_t begin, std::int64_t end, int worker, WorkerCore* core) {
  for (std::int64_t at = begin; at < end; ++at) {
    if (stopped()) return;
    RunCore(core, worker, hooks_ == nullptr ? at : hooks_->CoreAt(at, request_.busy_cores));
  }
}

void CoreRunner::RunCore(WorkerCore* core, int worker, std::int64_t core_id) {
  if (has_barriers() && states_[core_id] == CoreState::kDone) return;
  core->core_id = core_id;
  // If there are enough slices for all cores that run, each core uses its own slice. Otherwise it uses the
  // slice of its worker.
  core->slot = request_.instances >= request_.busy_cores ? core_id : worker;
  if (variant_.footprint_bytes > 0) {
    core->workspace = workspace_ + core->slot * request_.slice_bytes;
  }
  if (variant_.frame_bytes > 0) {
    core->frame = frames_ + (has_barriers() ? core_id : worker) * frame_bytes_;
    if (!has_barriers()) {
      std::memset(core->frame, 0, static_cast<std::size_t>(variant_.frame_bytes));
    }
  }
  if (hooks_ != nullptr) hooks_->BeforeCall(*core);
  if (core->observer != nullptr) {
    std::fill(std::begin(core->waits), std::end(core->waits), WorkerCore::Wait{0, -1});
    core->turned_ns = TraceNow();
  }
  const std::int32_t result = variant_.entry(&args_, core);
  if (result == KDL_DONE) {
    if (has_barriers()) states_[core_id] = CoreState::kDone;
  } else if (result == KDL_BARRIER && has_barriers()) {
    ++at_barrier_;
  } else {
    Stop(core_id, ErrorOf(request_, result, core->trap));
  }
}

Error CoreRunner::ErrorOf(const kdl_launch_request& request, std::int32_t result,
                          const kdl_trap& trap) {
  if (result < 0) return Error(kdl_error_from_trap(request.kernel, request.variant, &trap));
  return Fail(KDL_ERROR_INTERNAL, "kernel '", request.kernel->name, "' returned ", result,
              result == KDL_BARRIER ? " (a barrier), but declares none" : "");
}

void CoreRunner::Stop(std::int64_t core_id, Error error) {
  std::atomic_ref(launch_.stop).store(1, std::memory_order_relaxed);
  const std::lock_guard lock(error_mutex_);
  if (error_ != nullptr && error_core_ < core_id) return;
  error_core_ = core_id;
  error_ = std::move(error);
}

}  // namespace kdl::runtime
