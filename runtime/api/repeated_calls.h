// The calls of one kernel, most of which have the sizes of the call before.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "api/direct_call.h"
#include "api/last_arguments.h"
#include "system/threads.h"

namespace kdl::runtime {

// Runs the calls of one kernel on the calling thread. Keeps what the last call has bound: if the next one has the same
// sizes, only its pointers are checked, and if it has the same pointers and scalars, too, nothing is. The first thread that calls the
// kernel and all others together have a place each for what they keep; of several threads that use one place at once, one uses what is kept, and the
// others bind everything. A kernel that needs a workspace keeps nothing, and one that needs much memory on each core borrows this memory
// for each call.
class RepeatedCalls {
 public:
  // `workspaces` must outlive the object.
  RepeatedCalls(Device& device, ScratchPool& workspaces)
      : device_(device), workspaces_(workspaces) {}
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  Error Call(const CalledKernel& kernel, const DenseArguments& arguments);
  // Does so for arguments of the TVM FFI if they are those of the last call, on KDL_CORES_AUTO cores. Returns false, without any effect, if
  // they are not, or if another call uses what is kept.
  bool CallAgain(const kdl_ffi_any* arguments, std::int32_t count, Error* error);

 private:
  // What the last call has bound.
  struct Kept {
    Kept(Device& used, const kdl_variant& variant)
        : device(used.shared_from_this()), counter(used.counters()), last(variant) {}

    // Gives the call the arguments of this one. Returns false if it has to be bound anew.
    bool Fits(const DenseArguments& arguments);

    // Shared, because kernels may be closed after their context is destroyed.
    std::shared_ptr<Device> device;
    CallCounter counter;
    std::optional<DirectCall> call;
    LastArguments last;         // those of `call`
    std::int64_t core_num = 0;  // as the caller gave it
    bool is_prepared = false;
  };
  struct Place {
    std::atomic<bool> is_taken = false;  // whether a call uses `kept`
    std::optional<Kept> kept;
  };
  // Has the place of the calling thread during its lifetime, unless another call does.
  class Ownership {
   public:
    explicit Ownership(RepeatedCalls& calls) : place_(calls.TakePlace()) {}
    ~Ownership() {
      if (place_ != nullptr) place_->is_taken.store(false, std::memory_order_release);
    }
    Ownership(const Ownership&) = delete;
    Ownership& operator=(const Ownership&) = delete;

    Place* place() const { return place_; }

   private:
    Place* const place_;
  };

  // Returns the place of the calling thread, which is now taken, or null if another call uses it. The first thread needs no atomic
  // read-modify-write, which takes 5 ns: only a call within its call, such as one in a function that receives prints, finds its place
  // taken.
  Place* TakePlace() {
    const Thread self = CurrentThread();
    Thread first = first_thread_.load(std::memory_order_relaxed);
    if (first == Thread{} &&
        first_thread_.compare_exchange_strong(first, self, std::memory_order_relaxed))
      first = self;
    if (first != self)
      return others_.is_taken.exchange(true, std::memory_order_acquire) ? nullptr : &others_;
    if (first_.is_taken.load(std::memory_order_relaxed)) return nullptr;
    first_.is_taken.store(true, std::memory_order_relaxed);
    return &first_;
  }
  Error CallOnce(const CalledKernel& kernel, const DenseArguments& arguments);
  Error CallKept(const CalledKernel& kernel, const DenseArguments& arguments,
                 std::optional<Kept>& place);

  Device& device_;
  ScratchPool& workspaces_;
  std::atomic<Thread> first_thread_{};  // the one that uses `first_`
  Place first_;
  Place others_;
};

}  // namespace kdl::runtime
