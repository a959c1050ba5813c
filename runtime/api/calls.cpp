#include "api/calls.h"

#include <utility>

#include "core/context.h"
#include "core/handles.h"
#include "core/operations.h"

namespace kdl::runtime {

namespace {

Error Taken(kdl_error* error) { return Error(error); }

// A workspace that is borrowed for the duration of one call.
class Workspace {
 public:
  Workspace(ScratchPool& pool, std::int64_t bytes) : pool_(pool) {
    if (bytes > 0) block_ = pool.Acquire(bytes);
  }
  ~Workspace() {
    if (block_.data != nullptr) pool_.GiveBack(block_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  char* data() const { return block_.data; }

 private:
  ScratchPool& pool_;
  ScratchPool::Block block_;
};

// A call that goes through a queue. It owns the call's tensors, both on the device and in the caller's
// memory, and the operations on them. The operations keep alive what they use.
class QueuedCall {
 public:
  // Creates a call with its own queue handle, so that failures of its operations are reported only to it.
  static Error Make(kdl_queue* queue, std::unique_ptr<QueuedCall>* call) {
    std::unique_ptr<QueuedCall> made(new QueuedCall);
    KDL_RETURN_IF_ERROR(Taken(kdl_queue_own(queue, &made->queue_)));
    *call = std::move(made);
    return nullptr;
  }
  ~QueuedCall() {
    for (Pair& pair : pairs_) {
      kdl_array_free(&pair.owner);
      kdl_array_free(&pair.there);
    }
    kdl_queue_free(queue_);
  }
  QueuedCall(const QueuedCall&) = delete;
  QueuedCall& operator=(const QueuedCall&) = delete;

  Error AddTensor(kdl_device* owner, kdl_device* device, const kdl_param_desc& param,
                  const std::int64_t* sizes, const void* data) {
    const bool is_written = param.direction != KDL_IN;
    Pair& pair = pairs_.emplace_back(Pair{{}, {}, param.direction});
    KDL_RETURN_IF_ERROR(
        Taken(is_written ? kdl_array_wrap(owner, const_cast<void*>(data), param.element, param.rank,
                                          sizes, nullptr, param.name, &pair.owner)
                         : kdl_array_wrap_constant(owner, data, param.element, param.rank, sizes,
                                                   nullptr, param.name, &pair.owner)));
    if (owner == device) return nullptr;
    return Taken(
        kdl_array_allocate(device, param.element, param.rank, sizes, param.name, &pair.there));
  }

  Error Give(const kdl_function* function, const kdl_variant& variant, const kdl_value* values,
             kdl_event* const* after, std::int32_t after_count, kdl_event** done) {
    const std::vector<kdl_arg> args = ArgsOf(variant, values);
    Error error = GiveAll(function, args, after, after_count, done);
    // Wait on failure, because operations that were already enqueued still use the caller's memory.
    if (error != nullptr) kdl_error_free(kdl_queue_wait(queue_));
    return error;
  }

 private:
  struct Pair {
    kdl_array owner;
    kdl_array there;  // has no buffer if `owner` is on the device
    std::uint8_t direction;

    bool is_copied() const { return there.buffer != nullptr; }
    const kdl_array* on_device() const { return is_copied() ? &there : &owner; }
  };

  QueuedCall() = default;

  std::vector<kdl_arg> ArgsOf(const kdl_variant& variant, const kdl_value* values) const {
    std::vector<kdl_arg> args;
    auto pair = pairs_.begin();
    for (std::int32_t p = 0; p < variant.param_count; ++p) {
      const kdl_param_desc& param = variant.params[p];
      args.push_back(param.is_tensor != 0 ? kdl_arg{pair++->on_device(), 0, 0, {}}
                                          : kdl_arg{nullptr, values[p].u64, param.element, {}});
    }
    return args;
  }

  // Enqueues the copies and the launch. It must not throw, because the first copy already uses the caller's
  // memory.
  Error GiveAll(const kdl_function* function, const std::vector<kdl_arg>& args,
                kdl_event* const* after, std::int32_t after_count, kdl_event** done) {
    bool copies_back = false;
    for (const Pair& pair : pairs_) {
      copies_back |= pair.is_copied() && pair.direction != KDL_IN;
      if (!pair.is_copied() || pair.direction == KDL_OUT) continue;
      KDL_RETURN_IF_ERROR(Taken(kdl_copy(queue_, &pair.there, &pair.owner, "a call reads it", after,
                                         after_count, nullptr)));
    }
    KDL_RETURN_IF_ERROR(Taken(kdl_launch_kernel(queue_, function, KDL_CORES_AUTO, args.data(),
                                                static_cast<std::int32_t>(args.size()), nullptr,
                                                after, after_count, copies_back ? nullptr : done)));
    if (!copies_back) return nullptr;
    for (const Pair& one : pairs_) {
      if (!one.is_copied() || one.direction == KDL_IN) continue;
      KDL_RETURN_IF_ERROR(
          Taken(kdl_copy(queue_, &one.owner, &one.there, "a call wrote it", nullptr, 0, nullptr)));
    }
    return Taken(kdl_host_call(queue_, nullptr, nullptr, nullptr, nullptr, 0, done));
  }

  kdl_queue* queue_ = nullptr;
  std::vector<Pair> pairs_;
};

}  // namespace

Error Calls::Open(kdl_context* context, const kdl_image* const* images, const char* device,
                  std::span<const char* const> names, std::unique_ptr<Calls>* calls) {
  std::unique_ptr<kdl_context, Destroy> own;
  if (context == nullptr) {
    KDL_RETURN_IF_ERROR(Taken(kdl_context_create(&context)));
    own.reset(context);
  }
  KDL_RETURN_IF_ERROR(Taken(kdl_context_register_all(context, images)));
  kdl_device* selected = nullptr;
  KDL_RETURN_IF_ERROR(Taken(kdl_select_device(context, device, &selected)));
  std::unique_ptr<Calls> made(new Calls(Unwrap(context)->scheduler(), *Unwrap(selected)));
  made->own_context_ = std::move(own);
  KDL_RETURN_IF_ERROR(Taken(kdl_device_queue(selected, 0, &made->queue_)));
  made->owner_ = selected;
  if (!made->device_->works_in_host_memory())
    KDL_RETURN_IF_ERROR(Taken(kdl_select_device(context, "host", &made->owner_)));
  // Calls that bypass queues would not appear in a trace, so they are not used if the context has a trace.
  made->calls_here_ = (made->device_->facts().capabilities & KDL_CAN_CALL) != 0 &&
                      made->device_->scheduler().trace() == nullptr;
  for (const char* name : names) KDL_RETURN_IF_ERROR(made->Find(context, name));
  *calls = std::move(made);
  return nullptr;
}

Error Calls::Find(kdl_context* context, const char* name) {
  if (name == nullptr) return Invalid("the name of kernel ", entries_.size(), " is NULL");
  Entry entry = {};
  KDL_RETURN_IF_ERROR(Taken(kdl_context_find_kernel(context, name, &entry.function)));
  std::span<const Candidate> candidates;
  KDL_RETURN_IF_ERROR(Unwrap(entry.function)->FindCandidates(*device_, &candidates));
  entry.candidate = candidates[0];
  const kdl_variant& variant = *entry.candidate.variant;
  for (std::int32_t p = 0; p < variant.param_count; ++p)
    entry.has_sizes |= variant.params[p].rank > 0;
  KDL_RETURN_IF_ERROR(device_->FindModule(*entry.candidate.image, &entry.module));
  entries_.push_back(entry);
  return nullptr;
}

Error Calls::Check(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values) const {
  if (kernel < 0 || kernel >= std::ssize(entries_)) {
    return Invalid("call of kernel ", kernel, " of a handle that has ", entries_.size());
  }
  const Entry& entry = entries_[static_cast<std::size_t>(kernel)];
  const bool lacks_values = values == nullptr && entry.candidate.variant->param_count > 0;
  if (!lacks_values && (sizes != nullptr || !entry.has_sizes)) return nullptr;
  return Invalid("call of '", entry.candidate.kernel->name,
                 "': ", lacks_values ? "values" : "sizes", " is NULL");
}

Error Calls::Call(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values) const {
  KDL_RETURN_IF_ERROR(Check(kernel, sizes, values));
  if (calls_here_) return CallHere(entries_[static_cast<std::size_t>(kernel)], sizes, values);
  kdl_event* done = nullptr;
  KDL_RETURN_IF_ERROR(CallAsync(kernel, sizes, values, nullptr, 0, &done));
  Error error = Taken(kdl_event_wait(done, -1));
  kdl_event_free(done);
  return error;
}

Error Calls::CallHere(const Entry& entry, const std::int64_t* sizes,
                      const kdl_value* values) const {
  Binding binding;
  KDL_RETURN_IF_ERROR(BindDense(entry.candidate, *device_, sizes, values, &binding));
  const Workspace workspace(workspaces_, binding.workspace_bytes);
  if (workspace.data() == nullptr && binding.workspace_bytes > 0) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, "call of '", entry.candidate.kernel->name,
                "': not enough memory for a workspace of ", binding.workspace_bytes, " bytes");
  }
  LaunchFrame frame(device_->prints());
  char* shared = workspace.data();
  frame.Fill(binding, entry.module, 0, shared == nullptr ? nullptr : shared + binding.shared_bytes,
             shared);
  device_->counters().CountCall();
  Error failed;
  const kdl_completion done = {
      [](void* context, kdl_error* error) { static_cast<Error*>(context)->reset(error); }, &failed};
  device_->ops().launch(device_->state(), &frame.request, done);
  return failed == nullptr ? frame.host.CheckPrinted() : std::move(failed);
}

Error Calls::CallAsync(std::int32_t kernel, const std::int64_t* sizes, const kdl_value* values,
                       kdl_event* const* after, std::int32_t after_count, kdl_event** done) const {
  KDL_RETURN_IF_ERROR(Check(kernel, sizes, values));
  const Entry& entry = entries_[static_cast<std::size_t>(kernel)];
  const kdl_variant& variant = *entry.candidate.variant;
  {
    // Performs all checks of the launch, so that a failed check has no effects.
    Binding checked;
    KDL_RETURN_IF_ERROR(BindDense(entry.candidate, *device_, sizes, values, &checked));
  }
  std::unique_ptr<QueuedCall> call;
  KDL_RETURN_IF_ERROR(QueuedCall::Make(queue_, &call));
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    KDL_RETURN_IF_ERROR(call->AddTensor(owner_, Wrap(device_), param, sizes, values[p].data));
    sizes += param.rank;
  }
  return call->Give(entry.function, variant, values, after, after_count, done);
}

}  // namespace kdl::runtime
