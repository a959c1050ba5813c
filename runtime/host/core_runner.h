// Runs the cores of a launch on a worker pool. Used by all devices whose kernels are functions in this
// process.
#pragma once

#include <atomic>
#include <mutex>

#include "core/error.h"
#include "core/scratch_pool.h"
#include "host/worker_pool.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Lets a device change the order of cores and act before each core.
class CoreHooks {
 public:
  virtual ~CoreHooks() = default;
  // Returns the core that runs at `position` among `count` cores. The mapping must be a permutation.
  virtual std::int64_t CoreAt(std::int64_t position, std::int64_t count) = 0;
  // Called before each call of the kernel for this core. Different workers may call it concurrently.
  virtual void BeforeCall(const kdl_core& core) = 0;
};

class CoreRunner {
 public:
  // The addresses in `args`, `workspace` and `shared` must be valid in this process. The addresses in
  // `request` are not used. `hooks` may be null. All arguments must outlive the runner.
  CoreRunner(const kdl_launch_request& request, const kdl_args& args, void* workspace, void* shared,
             CoreHooks* hooks);
  CoreRunner(const CoreRunner&) = delete;
  CoreRunner& operator=(const CoreRunner&) = delete;

  // The number of workers, and the memory that they need: where its parts start, and its size.
  struct Plan {
    int workers = 1;
    std::int64_t dynamic_counters_at = 0;
    std::int64_t states_at = 0;
    std::int64_t frames_at = 0;
    std::int64_t scratch_at = 0;
    std::int64_t bytes = 0;

    static constexpr std::int64_t kSmallBytes = 512;
    // Whether the runner itself has enough memory.
    bool is_small() const { return bytes <= kSmallBytes; }
  };

  // Plans launches of a request on at most `workers` workers.
  static Error MakePlan(const kdl_launch_request& request, int workers, Plan* plan);
  // Returns the error for a lack of the plan's memory.
  static Error OutOfMemoryFor(const kdl_launch_request& request, const Plan& plan);
  // Returns the error for a core that did not end with KDL_DONE.
  static Error ErrorOf(const kdl_launch_request& request, std::int32_t result,
                       const kdl_trap& trap);

  // Runs all cores to completion. If cores trap, returns the trap of the lowest-numbered of them. If the plan
  // is not small, uses `memory`, or borrows memory from `scratch` if it is null.
  Error RunCores(WorkerPool& pool, const Plan& plan, ScratchPool& scratch, char* memory = nullptr);

 private:
  enum class CoreState : std::uint8_t { kRunning, kDone };
  // The cores that one worker runs first. They are the same in every launch, so that their memory is still in
  // the worker's cache. Other workers take cores from this share after their own shares are empty.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
    // For observers: when the share's worker ran out of work; 0 if it still has work.
    std::int64_t left_ns;
  };
  // The core that a worker runs. If the launch is observed, it also records what the core's stages wait for.
  struct WorkerCore : kdl_core {
    const kdl_observer* observer;
    std::int32_t worker;
    std::int64_t turned_ns;  // when the last run of a stage ended
    struct Wait {
      std::int64_t since_ns;  // 0 if the stage is not waiting
      std::int32_t location;
    };
    Wait waits[KDL_MAX_WAITS];  // indexed by stage
    struct Block {
      std::int64_t number;
      std::int64_t since_ns;
    };
    Block blocks[KDL_MAX_WAITS + 1];  // what runs in each stage; the first one is outside of stages
  };

  void TakeMemory(const Plan& plan, char* memory);
  void RunPhases(WorkerPool& pool);
  void DistributeShares();
  void Work(int worker);
  void WorkUntilDone(int worker);
  void RunShare(Share* share, int worker, WorkerCore* core);
  void RunRange(std::int64_t begin, std::int64_t end, int worker, WorkerCore* core);
  void RunCore(WorkerCore* core, int worker, std::int64_t core_id);
  static void NoteBlock(kdl_core* core, std::int32_t stage, std::int64_t number);
  static void NoteTurn(kdl_core* core, std::int32_t stage, std::int32_t state);
  void Stop(std::int64_t core_id, Error error);
  bool has_barriers() const { return (variant_.flags & KDL_VARIANT_SYNC) != 0; }
  bool stopped();

  const kdl_launch_request& request_;
  const kdl_variant& variant_;
  const kdl_args& args_;
  char* workspace_;
  CoreHooks* hooks_;
  kdl_launch& launch_;
  int workers_ = 1;
  // Used if the launch needs little memory.
  alignas(64) char small_[Plan::kSmallBytes];
  // These point into `small_` or into other memory.
  Share* shares_ = nullptr;  // one for each worker
  char* scratch_ = nullptr;  // a slice for each worker
  char* frames_ = nullptr;   // one for each core if there are barriers, else one for each worker
  std::int64_t scratch_bytes_ = 0;
  std::int64_t frame_bytes_ = 0;
  std::int64_t chunk_ = 1;
  CoreState* states_ = nullptr;  // indexed by core; only used if there are barriers
  alignas(64) std::atomic<std::int64_t> at_barrier_{0};
  std::mutex error_mutex_;
  std::int64_t error_core_ = 0;
  Error error_;
};

}  // namespace kdl::runtime
