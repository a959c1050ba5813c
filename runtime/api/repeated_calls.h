// The calls of one kernel, most of which have the sizes of the call before.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "api/direct_call.h"
#include "api/last_arguments.h"

namespace kdl::runtime {

// Runs the calls of one kernel on the calling thread. Keeps what the last call has bound: if the next one has the same
// sizes, only its pointers are checked, and if it has the same pointers and scalars, too, nothing is. Of several threads
// that call the kernel at once, one uses what is kept, and the others bind everything. A kernel that needs a workspace
// keeps nothing, and one that needs much memory on each core borrows this memory for each call.
class RepeatedCalls {
 public:
  // `workspaces` must outlive the object.
  RepeatedCalls(Device& device, ScratchPool& workspaces)
      : device_(device), workspaces_(workspaces) {}
  RepeatedCalls(const RepeatedCalls&) = delete;
  RepeatedCalls& operator=(const RepeatedCalls&) = delete;

  Error Call(const CalledKernel& kernel, const DenseArguments& arguments);

 private:
  // What the last call has bound.
  struct Kept {
    Kept(Device& used, const kdl_variant& variant)
        : device(used.shared_from_this()), counter(used.counters()), last(variant) {}

    // Shared, because kernels may be closed after their context is destroyed.
    std::shared_ptr<Device> device;
    CallCounter counter;
    std::optional<DirectCall> call;
    LastArguments last;         // those of `call`
    std::int64_t core_num = 0;  // as the caller gave it
    bool is_prepared = false;
  };
  // Owns `kept_` during its lifetime, unless another call does.
  class Ownership {
   public:
    explicit Ownership(std::atomic<bool>& taken)
        : taken_(taken), has_it_(!taken.exchange(true, std::memory_order_acquire)) {}
    ~Ownership() {
      if (has_it_) taken_.store(false, std::memory_order_release);
    }
    Ownership(const Ownership&) = delete;
    Ownership& operator=(const Ownership&) = delete;

    bool has_it() const { return has_it_; }

   private:
    std::atomic<bool>& taken_;
    const bool has_it_;
  };

  Error CallOnce(const CalledKernel& kernel, const DenseArguments& arguments);
  Error CallKept(const CalledKernel& kernel, const DenseArguments& arguments);
  // Gives what is kept the arguments of this call. Returns false if the call has to be bound anew.
  bool Fits(const DenseArguments& arguments);

  Device& device_;
  ScratchPool& workspaces_;
  std::atomic<bool> is_taken_ = false;  // whether a call uses `kept_`
  std::optional<Kept> kept_;
};

}  // namespace kdl::runtime
