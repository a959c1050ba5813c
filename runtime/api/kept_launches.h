// The launches of a caller whose operations run at once (kdl_ranks_use_queue).
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "api/launch_call.h"
#include "core/operations.h"

namespace kdl::runtime {

// A launch that is bound once and may run many times. It has no references to the buffers of its arguments, so it only runs in
// calls with the same arguments, whose caller has them.
class KeptLaunch {
 public:
  explicit KeptLaunch(Queue& queue) : operation_(queue) {}

  LaunchOperation& operation() { return operation_; }
  // Keeps the arguments with which the operation was bound, and the memory that it needs.
  void Keep(const LaunchCall& call);
  // Whether the call has these arguments.
  bool Fits(const LaunchCall& call) const;
  // Prepares the operation for its next run. From the second one on, it has memory of its own.
  Error Rearm();

 private:
  // What is compared: a scalar, or a view of a buffer.
  struct Argument {
    kdl_arg arg;           // without the array
    std::uint64_t buffer;  // its number, or 0
    kdl_tensor view;
    bool is_tensor;

    explicit Argument(const kdl_arg& given);
    bool IsLike(const kdl_arg& given) const;
  };

  LaunchOperation operation_;
  LaunchMemory memory_;
  const kdl_function* function_ = nullptr;
  std::int64_t core_num_ = 0;
  std::uint64_t workspace_ = 0;  // the number of the buffer
  std::vector<Argument> arguments_;
  std::int64_t runs_ = 0;
};

// The launches that one caller has made last. In a loop, a program mostly makes the same launches again, and then nothing is
// checked, bound or allocated.
class KeptLaunches final : public CallerState {
 public:
  // Stores the launch for the call in `kept`, which is bound unless it is known. Stores null if the call needs so much memory that it
  // must not be kept.
  Error Find(const LaunchCall& call, KeptLaunch** kept);

  // Whether another thread uses the launches of this caller. If not, this one does until Leave.
  bool Enter() { return !is_taken_.exchange(true, std::memory_order_acquire); }
  void Leave() { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_ = false;
  std::vector<std::unique_ptr<KeptLaunch>> launches_;
  std::size_t oldest_ = 0;  // the launch that the next new one replaces, once there are enough
};

}  // namespace kdl::runtime
