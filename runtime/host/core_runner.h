// Runs the cores of one launch on a worker pool, for all devices whose kernels are functions of this process.
#pragma once

#include <atomic>
#include <mutex>

#include "core/error.h"
#include "core/scratch_pool.h"
#include "host/worker_pool.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Lets a device change the order of cores and act before each.
class CoreHooks {
 public:
  virtual ~CoreHooks() = default;
  // Returns the core that runs as number `position` of `count`; must be a permutation.
  virtual std::int64_t CoreAt(std::int64_t position, std::int64_t count) = 0;
  // Called before each call of the kernel for this core, concurrently from all workers.
  virtual void BeforeCall(const kdl_core& core) = 0;
};

class CoreRunner {
 public:
  // The addresses in `args`, `workspace` and `shared` must be valid in this process; those in `request` are
  // not used. `hooks` may be null. All arguments must outlive the runner.
  CoreRunner(const kdl_launch_request& request, const kdl_args& args, void* workspace, void* shared,
             CoreHooks* hooks);
  CoreRunner(const CoreRunner&) = delete;
  CoreRunner& operator=(const CoreRunner&) = delete;

  // Runs all cores to completion on at most `workers` workers. Returns the trap of the lowest-numbered core
  // that has trapped.
  Error RunCores(WorkerPool& pool, int workers, ScratchPool& scratch);

 private:
  enum class CoreState : std::uint8_t { kRunning, kDone };
  // The cores that one worker runs first. They are the same in every launch, so that their memory is still in
  // the worker's cache. Other workers take cores from this share when their own is empty.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
    std::int64_t left_ns;  // for observers: when its worker ran out of work; 0: not yet
  };
  // The core that a worker runs and, if it is observed, what its stages wait for.
  struct WorkerCore : kdl_core {
    const kdl_observer* observer;
    std::int32_t worker;
    std::int64_t turned_ns;  // end of the last run of a stage
    struct Wait {
      std::int64_t since_ns;  // 0: not waiting
      std::int32_t location;
    };
    Wait waits[KDL_MAX_WAITS];  // by stage
  };

  Error LayOut(int workers, ScratchPool& scratch, ScratchPool::Block* borrowed);
  void DistributeShares();
  void Work(int worker);
  void WorkUntilDone(int worker);
  // Takes the next cores to run from a share and returns the first. A single worker does this without a bus
  // lock.
  std::int64_t Claim(Share* share);
  void RunShare(Share* share, int worker, WorkerCore* core);
  void RunCore(WorkerCore* core, int worker, std::int64_t core_id);
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
  // Sufficient for launches that need little besides shares.
  alignas(64) char small_[512];
  // In `small_` or in the borrowed block.
  Share* shares_ = nullptr;  // one for each worker
  char* scratch_ = nullptr;  // a slice for each worker
  char* frames_ = nullptr;   // one for each core if there are barriers, else for each worker
  std::int64_t scratch_bytes_ = 0;
  std::int64_t frame_bytes_ = 0;
  std::int64_t chunk_ = 1;
  CoreState* states_ = nullptr;  // by core, if there are barriers
  alignas(64) std::atomic<std::int64_t> at_barrier_{0};
  std::mutex error_mutex_;
  std::int64_t error_core_ = 0;
  Error error_;
};

}  // namespace kdl::runtime
