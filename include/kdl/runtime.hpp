// The device runtime for C++20: owning types, values and exceptions on top of runtime.h, whose comments
// contain the details. Where the C interface returns an error, functions here throw kdl::Error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kdl/argument.hpp"
#include "kdl/device.hpp"
#include "kdl/permuted.hpp"
#include "kdl/scalar.hpp"
#include "kdl/tensor.hpp"

namespace kdl::inline KDL_VERSIONED {

// A queue of one device. It is a plain value, which is valid while the context exists. Its operations run one
// after another. The argument `after` of an operation contains events that must complete before the operation
// starts.
class Queue {
 public:
  using After = std::vector<Event>;

  Queue() = default;
  Queue(kdl_context* context, kdl_device* device, kdl_queue* queue)
      : context_(context), device_(device), queue_(queue) {}

  kdl_queue* get() const { return queue_; }

  // Launches a kernel on `core_num` cores. `kernel` is a name such as "matmul", "module.matmul" or
  // "matmul<BM=64>". With KDL_CORES_AUTO, the launch uses as many cores as the device runs at once. `place`
  // is the position of the statement in the source, such as "mlp.kdl:12:5". Error messages start with it. If
  // no workspace is given, the launch allocates one.
  Event Launch(const char* kernel, CoreNum core_num, std::initializer_list<Argument> arguments,
               const After& after = {}, const char* place = nullptr,
               const Workspace& workspace = {}) const {
    const kdl_function* function = Find(kernel, core_num, place);
    const auto submit = [&](kdl_event* const* events, std::int32_t count, kdl_event** done) {
      return kdl_launch_kernel(queue_, function, core_num.number, Args(arguments),
                               static_cast<std::int32_t>(arguments.size()), workspace.get(), events,
                               count, done);
    };
    return Enqueue(after, submit, place);
  }

  // Like Launch, but waits until the launch has ended, and throws its failure. If the launch does not have to
  // wait for other operations, the calling thread does part of its work.
  void Run(const char* kernel, CoreNum core_num, std::initializer_list<Argument> arguments,
           const After& after = {}, const char* place = nullptr,
           const Workspace& workspace = {}) const {
    std::vector<kdl_event*> events;
    for (const Event& event : after) events.push_back(event.get());
    Check(kdl_run_kernel(queue_, Find(kernel, core_num, place), core_num.number, Args(arguments),
                         static_cast<std::int32_t>(arguments.size()), workspace.get(),
                         events.data(), static_cast<std::int32_t>(events.size())),
          place);
  }

  // Copies all elements. The statistics report the copy under the name `cause`. `place` is as for a launch.
  Event Copy(const Tensor& to, const Tensor& from, const char* cause = "copy",
             const After& after = {}, const char* place = nullptr) const {
    const auto copy = [&](kdl_event* const* events, std::int32_t count, kdl_event** done) {
      return kdl_copy(queue_, &to.array(), &from.array(), cause, events, count, done);
    };
    return Enqueue(after, copy, place);
  }

  // Whether moving a tensor copies its elements. This is not necessary if they will be written before they
  // are read.
  enum class Elements : std::uint8_t { kMove, kLeave };

  // Returns the tensor on this queue's device, and the event that completes when its elements have arrived.
  // If the tensor is already in the device's memory, returns the tensor itself, otherwise a copy, which the
  // statistics report under the name `cause`. `place` is as for a launch.
  std::pair<Tensor, Event> Transfer(const Tensor& from, const char* cause, const After& after = {},
                                    const char* place = nullptr,
                                    Elements elements = Elements::kMove) const {
    const kdl_array& source = from.array();
    if (kdl_devices_share_memory(kdl_buffer_device(source.buffer), device_) != 0) {
      return {from, Mark(after)};
    }
    kdl_array array = {};
    Check(kdl_array_allocate(device_, source.view.element, source.view.rank, source.view.size,
                             kdl_buffer_name(source.buffer), &array),
          place);
    const Tensor to(array);
    return {to, elements == Elements::kMove ? Copy(to, from, cause, after, place) : Mark(after)};
  }

  // Moves the tensor to the device of this queue.
  Event Move(Tensor& tensor, const char* cause, const After& after = {},
             const char* place = nullptr, Elements elements = Elements::kMove) const {
    auto [moved, event] = Transfer(tensor, cause, after, place, elements);
    tensor = std::move(moved);
    return event;
  }

  // Copies `from` back to `to`. `from` must be the result of an earlier Transfer of `to`. It has been changed
  // since then, so `to` is out of date. Does nothing if both are the same tensor.
  Event CopyBack(const Tensor& to, const Tensor& from, const char* cause, const After& after = {},
                 const char* place = nullptr) const {
    const bool is_same = to.array().buffer == from.array().buffer;
    return is_same ? Mark(after) : Copy(to, from, cause, after, place);
  }

  // Sets every element to a value. The type of the value must be exactly the tensor's element type.
  template <class T>
  Event Fill(const Tensor& to, T value, const After& after = {}) const {
    if (ElementOf<T>() != to.element()) {
      throw Error(KDL_ERROR_INVALID_ARGUMENT,
                  "fill with another type than that of the tensor's elements");
    }
    return Enqueue(after, [&](kdl_event* const* events, std::int32_t count, kdl_event** done) {
      return kdl_fill(queue_, &to.array(), Argument(value).get().bits, events, count, done);
    });
  }

  // Enqueues a call of `call`, like any other operation of the queue. It may run on any thread. If `call`
  // throws an exception, the event fails.
  Event Call(std::function<void()> call, const After& after = {}) const {
    auto owned = std::make_unique<std::function<void()>>(std::move(call));
    return Enqueue(after, [&](kdl_event* const* events, std::int32_t count, kdl_event** done) {
      kdl_error* error =
          kdl_host_call(queue_, RunCall, ReleaseCall, owned.get(), events, count, done);
      if (error == nullptr) owned.release();  // the queue now owns it
      return error;
    });
  }

  // Returns an event that completes after everything enqueued so far and after the events in `after`.
  Event Mark(const After& after = {}) const {
    return Enqueue(after, [&](kdl_event* const* events, std::int32_t count, kdl_event** done) {
      return kdl_host_call(queue_, nullptr, nullptr, nullptr, events, count, done);
    });
  }

  // Operations that are enqueued later start after the work that `stream` contains at present: a stream of the
  // driver of the queue's device, such as a CUstream.
  void FollowStream(void* stream) const { Check(kdl_queue_after_stream(queue_, stream)); }

  // Waits for all operations of the queue. Throws the first failure that has not been thrown yet.
  void Wait() const { Check(kdl_queue_wait(queue_)); }

 private:
  const kdl_function* Find(const char* kernel, CoreNum core_num, const char* place) const {
    const kdl_function* function = nullptr;
    Check(kdl_context_find_kernel(context_, kernel, &function), place);
    if (core_num.is_computed && core_num.number == KDL_CORES_AUTO) {
      const std::string message = std::string("launch of '") + kernel + "': core_num is " +
                                  std::to_string(core_num.number) +
                                  "; a launch runs on 1 core or more";
      Check(kdl_error_create(KDL_ERROR_INVALID_ARGUMENT, message.c_str()), place);
    }
    return function;
  }

  // Reinterprets the list of arguments. That is valid because an Argument is a kdl_arg with constructors.
  static const kdl_arg* Args(std::initializer_list<Argument> arguments) {
    static_assert(sizeof(Argument) == sizeof(kdl_arg) && std::is_standard_layout_v<Argument>);
    return reinterpret_cast<const kdl_arg*>(arguments.begin());
  }

  template <class Submit>
  static Event Enqueue(const After& after, Submit submit, const char* place = nullptr) {
    std::vector<kdl_event*> events;
    for (const Event& event : after) events.push_back(event.get());
    kdl_event* done = nullptr;
    Check(submit(events.data(), static_cast<std::int32_t>(events.size()), &done), place);
    return Event(done);
  }

  static kdl_error* RunCall(void* user) { return Try(*static_cast<std::function<void()>*>(user)); }

  static void ReleaseCall(void* user) { delete static_cast<std::function<void()>*>(user); }

  kdl_context* context_ = nullptr;
  kdl_device* device_ = nullptr;
  kdl_queue* queue_ = nullptr;
};

// Waits for several queues. Wait throws their failures. The destructor also waits, but does not throw: if an
// exception is thrown, operations that are still running must end before the memory that they use is freed.
class Drain {
 public:
  explicit Drain(std::vector<Queue> queues) : queues_(std::move(queues)) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    for (const Queue& queue : queues_) kdl_error_free(kdl_queue_wait(queue.get()));
  }

  void Wait() const {
    for (const Queue& queue : queues_) queue.Wait();
  }

 private:
  std::vector<Queue> queues_;
};

// A context. It owns devices and kernels, and must outlive everything that is obtained from it.
class Context {
 public:
  Context() {
    kdl_context* context = nullptr;
    Check(kdl_context_create(&context));
    context_.reset(context);
  }

  // Creates a context that uses memory and threads of the application.
  explicit Context(const kdl_hooks& hooks) {
    kdl_context* context = nullptr;
    Check(kdl_context_create_with(&hooks, &context));
    context_.reset(context);
  }

  // Returns a non-owning Context for a context that the caller keeps.
  static Context Borrow(kdl_context* context) {
    return Context(Owner(context, [](kdl_context*) {}));
  }

  kdl_context* get() const { return context_.get(); }

  // Registers the kernels of an object, as in `context.Register(kdl_images_mlp)`.
  void Register(const kdl_image* const* images) { Check(kdl_context_register_all(get(), images)); }
  // Loads a shared object and registers its kernels.
  void Load(const char* path) { Check(kdl_context_load(get(), path)); }

  // Returns the first available device of a list of specs, as in Select("opencl[1],host?threads=4").
  Device Select(const char* spec) const {
    kdl_device* device = nullptr;
    Check(kdl_select_device(get(), spec, &device));
    return {get(), device};
  }

  // Allocates a row-major tensor with undefined contents. `place` is as for a launch.
  Tensor Allocate(const Device& device, Element element, const std::vector<std::int64_t>& sizes,
                  const char* name = "", const char* place = nullptr) const {
    kdl_array array = {};
    Check(kdl_array_allocate(device.get(), element, static_cast<std::int32_t>(sizes.size()),
                             sizes.data(), name, &array),
          place);
    return Tensor(array);
  }

  // Creates a row-major tensor in memory of the caller, which must outlive the tensor. The device must work
  // in host memory, or be a CUDA device, in whose memory `data` is then.
  template <class T>
  Tensor Wrap(const Device& device, T* data, const std::vector<std::int64_t>& sizes,
              const char* name = "") const {
    return Wrap(device, data, ElementOf<T>(), sizes, name);
  }
  // Like Wrap above, for read-only memory: operations that would write to it are refused.
  template <class T>
  Tensor Wrap(const Device& device, const T* data, const std::vector<std::int64_t>& sizes,
              const char* name = "") const {
    kdl_array array = {};
    Check(kdl_array_wrap_constant(device.get(), data, ElementOf<T>(),
                                  static_cast<std::int32_t>(sizes.size()), sizes.data(), nullptr,
                                  name, &array));
    return Tensor(array);
  }
  // Like Wrap above, for element types that have no C++ type, such as bf16.
  Tensor Wrap(const Device& device, void* data, Element element,
              const std::vector<std::int64_t>& sizes, const char* name = "") const {
    kdl_array array = {};
    Check(kdl_array_wrap(device.get(), data, element, static_cast<std::int32_t>(sizes.size()),
                         sizes.data(), nullptr, name, &array));
    return Tensor(array);
  }

  Timeline MakeTimeline(std::uint64_t value = 0) const { return Timeline(get(), value); }

  std::vector<kdl_transfer> transfers() const {
    std::vector<kdl_transfer> transfers(
        static_cast<std::size_t>(kdl_context_get_transfers(get(), nullptr, 0)));
    const std::int64_t count = kdl_context_get_transfers(
        get(), transfers.data(), static_cast<std::int64_t>(transfers.size()));
    transfers.resize(std::min(transfers.size(), static_cast<std::size_t>(count)));
    return transfers;
  }

 private:
  using Owner = std::unique_ptr<kdl_context, void (*)(kdl_context*)>;
  explicit Context(Owner context) : context_(std::move(context)) {}

  Owner context_{nullptr, kdl_context_destroy};
};

inline Queue Device::queue(std::int32_t index) const {
  if (handles_ != nullptr) {
    const auto known = handles_->find(index);
    if (known != handles_->end()) return {context_, device_, known->second.get()};
  }
  kdl_queue* queue = nullptr;
  Check(kdl_device_queue(device_, index, &queue));
  if (handles_ != nullptr) {
    Check(kdl_queue_own(queue, &queue));
    handles_->emplace(index, queue);
  }
  return {context_, device_, queue};
}

}  // namespace kdl::inline KDL_VERSIONED
