// The kinds of operations that queues run.
#pragma once

#include <utility>

#include "core/binding.h"
#include "core/operation.h"
#include "core/schedule.h"
#include "core/trap.h"

namespace kdl::runtime {

// The memory that the cores of a launch use. Both members are empty if the launch needs no memory.
struct LaunchMemory {
  Ref<Buffer> workspace;  // one slice per core, after the shared tensors if `shared` is empty
  Ref<Buffer> shared;     // the shared tensors, unless `workspace` contains them
};

// The data that a device receives for a bound launch. It must not be moved while the launch runs.
struct LaunchFrame {
  explicit LaunchFrame(PrintSink& prints) : host(prints) {}

  // Fills in the request. `module` is the device's module for the variant's image. `workspace` and `shared`
  // are device addresses, or null.
  void Fill(const Binding& binding, void* module, std::int32_t queue, void* workspace,
            void* shared);
  // Prepares a frame that has been used for another launch with the same request.
  void Rearm() {
    launch.stop = 0;
    host.ForgetPrints();
  }

  LaunchHost host;
  kdl_launch launch = {};
  kdl_launch_request request;
};

// An operation that runs a kernel.
class LaunchOperation final : public Operation {
 public:
  explicit LaunchOperation(Queue& queue)
      : device_(queue.device()), queue_index_(queue.index()), frame_(queue.device().prints()) {}

  // The binding. The caller must complete it before it calls any other function.
  Binding& binding() { return binding_; }
  LaunchMemory& memory() { return memory_; }
  ~LaunchOperation() override;

  // Prepares the launch. Loads the kernel's image at its first use.
  Error Prepare();
  // For a launch that runs several times: prepares its next run, and lets the device reserve what it would otherwise borrow for each
  // run.
  void Rearm() { frame_.Rearm(); }
  Error Reserve();

  void Count() override { device_.counters().CountLaunch(); }
  void Start() override;
  void Drop() override;
  void Stop() override;
  bool is_early() const override { return acceptance_ != KDL_REFUSES; }
  bool is_last() const override { return acceptance_ == KDL_ACCEPTS_LAST; }
  bool is_little() const override;
  std::string Describe() const override;
  std::vector<Access> Accesses() const override;
  Error Outcome(Error error) override { return frame_.host.EndPrints(std::move(error)); }
  bool is_long_outcome() const override { return device_.orders() && frame_.host.has_printed(); }

 private:
  static void NoteBusy(void* context, std::int32_t worker, std::int64_t begin_ns,
                       std::int64_t end_ns);
  static void NoteWait(void* context, std::int32_t worker, std::int32_t stage,
                       std::int32_t location, std::int64_t begin_ns, std::int64_t end_ns);
  static void NoteBlock(void* context, std::int32_t worker, std::int32_t stage, std::int64_t core,
                        std::int64_t block, std::int64_t begin_ns, std::int64_t end_ns);
  static void NoteRan(void* context, const char* part, const char* what, std::int64_t begin_ns,
                      std::int64_t end_ns, std::int64_t bytes);
  std::string CoreRow(std::int32_t worker) const;

  Device& device_;
  std::int32_t queue_index_;
  Binding binding_;
  LaunchFrame frame_;
  LaunchMemory memory_;
  void* reserved_ = nullptr;  // by the device, for several runs
  std::int32_t acceptance_ = KDL_REFUSES;
  kdl_submission submission_;
  kdl_observer observer_ = {};
};

// Creates a copy operation between two arrays on any devices. The arrays must have been checked.
Error MakeCopy(const Queue& queue, const kdl_array& to, const kdl_array& from, const char* cause,
               Ref<Operation>* operation);

Error MakeFill(const Queue& queue, const kdl_array& to, std::uint64_t bits,
               Ref<Operation>* operation);

Ref<Operation> MakeHostCall(kdl_host_fn call, void (*release)(void*), void* user);

// Creates an operation that waits for the work that the stream contains at present, unless it contains none. The
// stream is one of the driver of the device, which must have streams (kdl_device_ops.mark).
Error MakeFollow(Device& device, void* stream, Ref<Operation>* operation);

}  // namespace kdl::runtime
