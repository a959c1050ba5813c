// Runs the cores of one launch on a worker pool: for every device whose kernels are functions of
// this process.
#pragma once

#include <atomic>
#include <mutex>

#include "core/error.h"
#include "core/scratch_pool.h"
#include "host/worker_pool.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// What a device may add to the plain order of things.
class CoreHooks {
 public:
  virtual ~CoreHooks() = default;
  // The core that runs `position`-th of `count`: a permutation.
  virtual std::int64_t CoreAt(std::int64_t position, std::int64_t count) = 0;
  // Before each call of the kernel for this core; called from all workers at once.
  virtual void BeforeCall(const kdl_core& core) = 0;
};

class CoreRunner {
 public:
  // The addresses in `args`, `workspace` and `shared` are this process's; those of `request` are
  // not looked at. `hooks` may be null. All of them outlive the runner.
  CoreRunner(const kdl_launch_request& request, const kdl_args& args, void* workspace, void* shared,
             CoreHooks* hooks);
  CoreRunner(const CoreRunner&) = delete;
  CoreRunner& operator=(const CoreRunner&) = delete;

  // Runs all cores to their end, on at most `workers` workers. Gives the trap of the lowest core
  // that has trapped.
  Error Run(WorkerPool& pool, int workers, ScratchPool& scratch);

 private:
  enum class CoreState : std::uint8_t { kRunning, kDone };
  // The cores that one worker takes first: the same ones in every launch, so that their memory is
  // still in its cache. Others take from it once they have none left.
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
    std::int64_t
        left_ns;  // where somebody looks: when its worker had done what it could; 0: not yet
  };
  // A worker's core, and where somebody looks what its stages wait for.
  struct WorkerCore : kdl_core {
    const kdl_observer* observer;
    std::int32_t worker;
    std::int64_t turned_ns;  // the last turn's end
    struct Wait {
      std::int64_t since_ns;  // 0: it does not wait
      std::int32_t location;
    };
    Wait waits[KDL_MAX_WAITS];  // by stage
  };

  Error LayOut(int workers, ScratchPool& scratch, ScratchPool::Block* borrowed);
  void DealShares();
  void Work(int worker);
  void WorkUntilDone(int worker);
  // The first of the next cores to run of a share. A worker that is alone takes them without a bus lock.
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
  // A block for launches that need little else than shares.
  alignas(64) char small_[512];
  // In that or in the borrowed block.
  Share* shares_ = nullptr;  // one a worker
  char* scratch_ = nullptr;  // a slice a worker
  char* frames_ = nullptr;   // one a core where there are barriers, else one a worker
  std::int64_t scratch_bytes_ = 0;
  std::int64_t frame_bytes_ = 0;
  std::int64_t chunk_ = 1;
  CoreState* states_ = nullptr;  // by core, where there are barriers
  alignas(64) std::atomic<std::int64_t> at_barrier_{0};
  std::mutex error_mutex_;
  std::int64_t error_core_ = 0;
  Error error_;
};

}  // namespace kdl::runtime
