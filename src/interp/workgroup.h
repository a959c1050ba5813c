#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interp/async_copies.h"
#include "interp/core.h"
#include "interp/mbarriers.h"
#include "interp/race_detector.h"
#include "interp/watch.h"

namespace kdl::interp {

/// What the GPU threads of one core share: their memory, mbarriers and asynchronous copies. All accesses to memory are
/// reported to a race detector. If it finds a race, the core is stopped.
class Workgroup {
 public:
  explicit Workgroup(int64_t threads)
      : threads_(threads), races_(threads), mbarriers_(races_, threads), copies_(threads) {}

  /// Returns the memory of a workgroup's buffer. Each execution of its op returns the same memory.
  Buffer& Memory(const ir::Value* buffer, size_t elements);
  Buffer& Memory(const ir::Value* buffer) { return memories_.at(buffer).buffer; }

  /// Record an access. If the access is a race, these functions stop the core and return false.
  bool TouchBuffer(Core& core, const Instruction& instruction, const ir::Value* buffer,
                   int64_t offset, TouchKind kind);
  bool TouchTensor(Core& core, const Instruction& instruction, const std::byte* address,
                   TouchKind kind);

  const AsyncCopies& copies() const { return copies_; }
  /// Starts a copy of the thread, which waits for it.
  void BeginCopy(int64_t thread, AsyncCopy copy);
  /// Starts a copy that arrives at an mbarrier.
  void BeginCopyAt(AsyncCopies::MbarrierId mbarrier, AsyncCopy copy);
  void CommitCopies(int64_t thread) { copies_.CommitGroup(thread); }
  /// Ends copies that the core's thread has awaited: writes their elements.
  void EndCopies(Core& core, const Instruction& instruction, const AwaitedCopies& awaited);
  void EndCopiesAt(Core& core, const Instruction& instruction, AsyncCopies::MbarrierId mbarrier);

  RaceDetector& races() { return races_; }
  WorkgroupMbarriers& mbarriers() { return mbarriers_; }
  /// Records that no thread can continue. From then on, a thread that waits at an mbarrier reports an error
  /// instead of waiting again.
  void SetStuck() { stuck_ = true; }
  bool is_stuck() const { return stuck_; }
  /// Stops the core because its thread made an error, which `what` describes. Returns false.
  bool Stop(Core& core, const Instruction& instruction, std::string_view what) const;
  int64_t threads() const { return threads_; }

 private:
  struct Shared {
    Buffer buffer;
    std::vector<Mark> marks;
  };

  Mark& MarkOf(const AsyncCopy& copy, const AsyncCopy::Element& element);
  void BeginElements(const AsyncCopy& copy);
  void EndCopy(Core& core, const Instruction& instruction, const AsyncCopy& copy);

  int64_t threads_;
  RaceDetector races_;
  WorkgroupMbarriers mbarriers_;
  AsyncCopies copies_;
  bool stuck_ = false;
  std::unordered_map<const ir::Value*, Shared> memories_;
  std::unordered_map<const std::byte*, Mark> tensors_;
};

}  // namespace kdl::interp
