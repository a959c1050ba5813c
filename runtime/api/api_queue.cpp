// The C interface of events, timelines and operations.
#include <algorithm>

#include "api/api.h"
#include "api/kept_launches.h"
#include "core/operations.h"

using namespace kdl::runtime;

namespace kdl::runtime {

Error CheckEvents(const Queue& queue, kdl_event* const* after, std::int32_t count,
                  std::span<kdl_event* const>* events) {
  if (count < 0 || (after == nullptr && count > 0)) {
    return Invalid("after_count is ", count, after == nullptr ? " without events" : "");
  }
  *events = {after, static_cast<std::size_t>(count)};
  for (kdl_event* event : *events) {
    if (event == nullptr) continue;
    if (!IsOurs(event)) return Invalid("an event", kForeign);
    if (&Unwrap(event)->timeline().scheduler() != &queue.scheduler()) {
      return Invalid("the queue on ", queue.device().uri(),
                     " cannot wait for an event of another context");
    }
  }
  return nullptr;
}

Error Submit(Caller& caller, Ref<Operation> operation, std::span<kdl_event* const> after,
             kdl_event** done) {
  Ref<Event> event;
  KDL_RETURN_IF_ERROR(caller.queue().scheduler().Enqueue(caller, std::move(operation), after,
                                                         done == nullptr ? nullptr : &event));
  if (done != nullptr) *done = Wrap(event.Leave());
  return nullptr;
}

namespace {

// Whether there is an event that has to be awaited. Operations that have run at once have none.
bool HasEvents(std::span<kdl_event* const> after) {
  return std::ranges::any_of(after, [](kdl_event* event) { return event != nullptr; });
}

Error BindCall(const LaunchCall& call, Binding* binding) {
  if (call.arg_count < 0 || (call.args == nullptr && call.arg_count > 0)) {
    return Invalid("arg_count is ", call.arg_count, call.args == nullptr ? " without args" : "");
  }
  return Bind(*Unwrap(call.function), call.caller.queue().device(), call.core_num,
              {call.args, static_cast<std::size_t>(call.arg_count)}, call.shapes, binding);
}

Error FindMemory(Queue& queue, const kdl_function* function, const Binding& binding,
                 kdl_buffer* given, LaunchMemory* memory) {
  Device& device = queue.device();
  const std::int64_t bytes = binding.workspace_bytes;
  if (given != nullptr) {
    if (!IsOurs(given)) return Invalid("the workspace", kForeign);
    if (Error error = CheckWorkspace(binding, device, *Unwrap(given))) {
      return Prefixed(Concat("launch of '", Unwrap(function)->shown_name(), "': "),
                      std::move(error));
    }
  }
  if (bytes == 0) return nullptr;
  if (given == nullptr) return Buffer::Allocate(device, bytes, "workspace", &memory->workspace);
  memory->workspace = Ref<Buffer>::Share(Unwrap(given));
  if (Unwrap(given)->bytes() >= bytes) return nullptr;
  return Buffer::Allocate(device, binding.shared_bytes, "shared tensors", &memory->shared);
}

Error Footprint(const Function& function, const Device& device, std::int64_t* bytes) {
  std::span<const Candidate> candidates;
  KDL_RETURN_IF_ERROR(function.FindCandidates(device, &candidates));
  *bytes = 0;
  for (const Candidate& candidate : candidates)
    *bytes = std::max(*bytes, SliceBytes(*candidate.variant));
  return nullptr;
}

Error Reserve(Device& device, std::int64_t instances, std::int64_t footprint, const char* name,
              kdl_buffer** workspace) {
  std::int64_t bytes = 0;
  if (instances < 0 || footprint < 0) {
    return Invalid("workspace '", name, "': cannot have ", instances, " instances of ", footprint,
                   " bytes");
  }
  if (__builtin_mul_overflow(instances, footprint, &bytes)) {
    return Invalid("workspace '", name, "': ", instances, " instances of ", footprint,
                   " bytes each are 2^63 bytes or more");
  }
  const Buffer* kept = Unwrap(*workspace);
  if (bytes == 0 || (kept != nullptr && kept->bytes() >= bytes && &kept->device() == &device)) {
    return nullptr;
  }
  Ref<Buffer> grown;
  KDL_RETURN_IF_ERROR(Buffer::Allocate(device, bytes, name, &grown));
  kdl_buffer_free(*workspace);
  *workspace = Wrap(grown.Leave());
  return nullptr;
}

Error Prepare(const LaunchCall& call, std::span<kdl_event* const>* after,
              LaunchOperation* operation) {
  if (call.after_count != 0) {
    KDL_RETURN_IF_ERROR(CheckEvents(call.caller.queue(), call.after, call.after_count, after));
  }
  return Prepare(call, operation);
}

// Runs a launch of a caller whose operations run at once, unless it has to wait for something. An event is only made if it fails.
Error LaunchAtOnce(const LaunchCall& call, kdl_event** done, bool* has_run) {
  auto* launches = static_cast<KeptLaunches*>(call.caller.state());
  if (launches == nullptr) return nullptr;
  std::span<kdl_event* const> after;
  KDL_RETURN_IF_ERROR(CheckEvents(call.caller.queue(), call.after, call.after_count, &after));
  if (HasEvents(after) || !launches->Enter()) return nullptr;
  KeptLaunch* kept = nullptr;
  Error error = launches->Find(call, &kept);
  if (error == nullptr && kept != nullptr) error = kept->Rearm();
  if (error == nullptr && kept != nullptr) {
    Ref<Event> failed;
    *has_run = call.caller.queue().scheduler().RunIfIdle(call.caller, kept->operation(), &failed);
    if (done != nullptr && *has_run) *done = Wrap(failed.Leave());
  }
  launches->Leave();
  return error;
}

Error LaunchBytes(const LaunchCall& call, std::int64_t* bytes) {
  Binding binding;
  KDL_RETURN_IF_ERROR(BindCall(call, &binding));
  *bytes = binding.workspace_bytes;
  return nullptr;
}

Error CheckContext(const Queue& queue, const kdl_array& array) {
  if (array.buffer == nullptr) return nullptr;
  if (!IsOurs(array.buffer)) return Invalid("a tensor", kForeign);
  if (&Unwrap(array.buffer)->device().scheduler() == &queue.scheduler()) return nullptr;
  return Invalid(Describe(*Unwrap(array.buffer)), " belongs to another context than the queue");
}

Error Copy(Caller& caller, const kdl_array& to, const kdl_array& from, const char* cause,
           kdl_event* const* after, std::int32_t after_count, kdl_event** done) {
  const Queue& queue = caller.queue();
  std::span<kdl_event* const> events;
  KDL_RETURN_IF_ERROR(CheckEvents(queue, after, after_count, &events));
  KDL_RETURN_IF_ERROR(CheckContext(queue, to));
  KDL_RETURN_IF_ERROR(CheckContext(queue, from));
  Ref<Operation> operation;
  KDL_RETURN_IF_ERROR(MakeCopy(queue, to, from, cause, &operation));
  return Submit(caller, std::move(operation), events, done);
}

Error Fill(Caller& caller, const kdl_array& to, std::uint64_t bits, kdl_event* const* after,
           std::int32_t after_count, kdl_event** done) {
  const Queue& queue = caller.queue();
  std::span<kdl_event* const> events;
  KDL_RETURN_IF_ERROR(CheckEvents(queue, after, after_count, &events));
  KDL_RETURN_IF_ERROR(CheckContext(queue, to));
  Ref<Operation> operation;
  KDL_RETURN_IF_ERROR(MakeFill(queue, to, bits, &operation));
  return Submit(caller, std::move(operation), events, done);
}

Error CheckStreams(const Device& device) {
  if (device.ops().lead != nullptr) return nullptr;
  return Fail(KDL_ERROR_UNSUPPORTED, device.uri(), " has no streams");
}

// Whether everything has ended for which a mark would wait.
bool HasNothingToMark(const Caller& caller, std::span<kdl_event* const> after) {
  return caller.runs_at_once() && !HasEvents(after) && caller.queue().scheduler().IsIdle(caller);
}

Scheduler& SchedulerOf(const kdl_queue* queue) { return Unwrap(queue)->queue().scheduler(); }

}  // namespace

Error Prepare(const LaunchCall& call, LaunchOperation* operation) {
  Binding& binding = operation->binding();
  KDL_RETURN_IF_ERROR(BindCall(call, &binding));
  KDL_RETURN_IF_ERROR(FindMemory(call.caller.queue(), call.function, binding, call.workspace,
                                 &operation->memory()));
  return operation->Prepare();
}

Error Launch(const LaunchCall& call, kdl_event** done) {
  bool has_run = false;
  KDL_RETURN_IF_ERROR(LaunchAtOnce(call, done, &has_run));
  if (has_run) return nullptr;
  std::span<kdl_event* const> after;
  auto operation = MakeRef<LaunchOperation>(call.caller.queue());
  KDL_RETURN_IF_ERROR(Prepare(call, &after, operation.get()));
  operation->binding().KeepBuffers();
  return Submit(call.caller, Ref<Operation>::Take(operation.Leave()), after, done);
}

Error RunLaunch(const LaunchCall& call) {
  std::span<kdl_event* const> after;
  LaunchOperation operation(call.caller.queue());
  KDL_RETURN_IF_ERROR(Prepare(call, &after, &operation));
  return call.caller.queue().scheduler().RunAndWait(call.caller, operation, after);
}

}  // namespace kdl::runtime

kdl_error* kdl_event_wait(kdl_event* event, int64_t timeout_ns) {
  if (event == nullptr) return nullptr;
  const Event& object = *Unwrap(event);
  return Guard(object.timeline().scheduler(),
               [&] { return object.timeline().scheduler().Wait(object, timeout_ns); });
}

int32_t kdl_event_is_done(const kdl_event* event) {
  if (event == nullptr) return 1;
  return GuardQuiet(
      [&] { return Unwrap(event)->timeline().scheduler().IsDone(*Unwrap(event)) ? 1 : 0; });
}

kdl_error* kdl_event_cancel(kdl_event* event) {
  KDL_RETURN_IF_UNUSABLE(event);
  const Event& object = *Unwrap(event);
  return Guard(object.timeline().scheduler(),
               [&] { return object.timeline().scheduler().Cancel(object); });
}

void kdl_event_retain(kdl_event* event) {
  if (event != nullptr) Unwrap(event)->Retain();
}

void kdl_event_free(kdl_event* event) {
  if (event != nullptr) GuardQuiet([&] { Unwrap(event)->Release(); });
}

kdl_error* kdl_timeline_create(kdl_context* context, uint64_t value, kdl_timeline** timeline) {
  KDL_RETURN_IF_UNUSABLE(context, timeline);
  return Guard(*Unwrap(context)->scheduler(), [&]() -> Error {
    const std::shared_ptr<Scheduler>& scheduler = Unwrap(context)->scheduler();
    *timeline = Wrap(MakeRef<Timeline>(scheduler, scheduler->NextTimeline(), value).Leave());
    return nullptr;
  });
}

kdl_error* kdl_timeline_event(kdl_timeline* timeline, uint64_t value, kdl_event** event) {
  KDL_RETURN_IF_UNUSABLE(timeline, event);
  return Guard(Unwrap(timeline)->scheduler(), [&]() -> Error {
    *event = Wrap(MakeRef<Event>(Ref<Timeline>::Share(Unwrap(timeline)), value).Leave());
    return nullptr;
  });
}

kdl_error* kdl_timeline_signal(kdl_timeline* timeline, uint64_t value) {
  KDL_RETURN_IF_UNUSABLE(timeline);
  Timeline& object = *Unwrap(timeline);
  return Guard(object.scheduler(), [&] { return object.scheduler().Signal(object, value); });
}

kdl_error* kdl_timeline_fail(kdl_timeline* timeline, kdl_code code, const char* message) {
  KDL_RETURN_IF_UNUSABLE(timeline, message);
  return Guard(Unwrap(timeline)->scheduler(), [&]() -> Error {
    if (!IsFailure(code)) {
      return Invalid("a timeline cannot fail with code ", static_cast<int>(code),
                     "; use a failure code such as KDL_ERROR_DEVICE");
    }
    Timeline& object = *Unwrap(timeline);
    object.scheduler().Break(object, MakeFailure(Fail(code, message)));
    return nullptr;
  });
}

uint64_t kdl_timeline_value(const kdl_timeline* timeline) {
  if (timeline == nullptr) return 0;
  return GuardQuiet([&] { return Unwrap(timeline)->scheduler().Value(*Unwrap(timeline)); });
}

void kdl_timeline_free(kdl_timeline* timeline) {
  if (timeline == nullptr) return;
  GuardQuiet([&] {
    Timeline& object = *Unwrap(timeline);
    object.scheduler().Abandon(object);
    object.Release();
  });
}

kdl_error* kdl_launch_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                             const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                             kdl_event* const* after, int32_t after_count, kdl_event** done) {
  KDL_RETURN_IF_UNUSABLE(queue, function);
  const LaunchCall call = {*Unwrap(queue), function,  core_num, args,
                           arg_count,      workspace, after,    after_count};
  return Guard(SchedulerOf(queue), [&] { return Launch(call, done); });
}

kdl_error* kdl_run_kernel(kdl_queue* queue, const kdl_function* function, int64_t core_num,
                          const kdl_arg* args, int32_t arg_count, kdl_buffer* workspace,
                          kdl_event* const* after, int32_t after_count) {
  KDL_RETURN_IF_UNUSABLE(queue, function);
  const LaunchCall call = {*Unwrap(queue), function,  core_num, args,
                           arg_count,      workspace, after,    after_count};
  return Guard(SchedulerOf(queue), [&] { return RunLaunch(call); });
}

kdl_error* kdl_launch_workspace_bytes(kdl_queue* queue, const kdl_function* function,
                                      int64_t core_num, const kdl_arg* args, int32_t arg_count,
                                      int64_t* bytes) {
  KDL_RETURN_IF_UNUSABLE(queue, function, bytes);
  const LaunchCall call = {*Unwrap(queue), function, core_num, args,
                           arg_count,      nullptr,  nullptr,  0};
  return Guard(SchedulerOf(queue), [&] { return LaunchBytes(call, bytes); });
}

int64_t kdl_device_instances(const kdl_device* device, int64_t core_num) {
  if (device == nullptr) return 0;
  return GuardQuiet([&] { return InstancesOf(*Unwrap(device), core_num); });
}

kdl_error* kdl_function_footprint(const kdl_function* function, kdl_device* device,
                                  int64_t* bytes) {
  KDL_RETURN_IF_UNUSABLE(function, device, bytes);
  return Guard(Unwrap(device)->scheduler(),
               [&] { return Footprint(*Unwrap(function), *Unwrap(device), bytes); });
}

kdl_error* kdl_workspace_reserve(kdl_device* device, int64_t instances, int64_t footprint,
                                 const char* name, kdl_buffer** workspace) {
  KDL_RETURN_IF_UNUSABLE(device, workspace);
  return Guard(Unwrap(device)->scheduler(), [&] {
    return Reserve(*Unwrap(device), instances, footprint, name == nullptr ? "" : name, workspace);
  });
}

kdl_error* kdl_copy(kdl_queue* queue, const kdl_array* to, const kdl_array* from, const char* cause,
                    kdl_event* const* after, int32_t after_count, kdl_event** done) {
  KDL_RETURN_IF_UNUSABLE(queue, to, from);
  return Guard(SchedulerOf(queue),
               [&] { return Copy(*Unwrap(queue), *to, *from, cause, after, after_count, done); });
}

kdl_error* kdl_fill(kdl_queue* queue, const kdl_array* to, uint64_t bits, kdl_event* const* after,
                    int32_t after_count, kdl_event** done) {
  KDL_RETURN_IF_UNUSABLE(queue, to);
  return Guard(SchedulerOf(queue),
               [&] { return Fill(*Unwrap(queue), *to, bits, after, after_count, done); });
}

kdl_error* kdl_host_call(kdl_queue* queue, kdl_host_fn call, void (*release)(void*), void* user,
                         kdl_event* const* after, int32_t after_count, kdl_event** done) {
  KDL_RETURN_IF_UNUSABLE(queue);
  return Guard(SchedulerOf(queue), [&]() -> Error {
    std::span<kdl_event* const> events;
    KDL_RETURN_IF_ERROR(CheckEvents(Unwrap(queue)->queue(), after, after_count, &events));
    if (call == nullptr && release == nullptr && HasNothingToMark(*Unwrap(queue), events)) {
      if (done != nullptr) *done = nullptr;
      return nullptr;
    }
    return Submit(*Unwrap(queue), MakeHostCall(call, release, user), events, done);
  });
}

namespace {

Error AfterStream(Caller& caller, void* stream) {
  Device& device = caller.queue().device();
  KDL_RETURN_IF_ERROR(CheckStreams(device));
  Ref<Operation> follow;
  KDL_RETURN_IF_ERROR(MakeFollow(device, stream, &follow));
  return follow ? Submit(caller, std::move(follow), {}, nullptr) : nullptr;
}

Error StreamAfter(void* stream, const Event& event) {
  Scheduler& scheduler = event.timeline().scheduler();
  Device* device = nullptr;
  std::int32_t queue = 0;
  const bool is_ordered = scheduler.IsOrderedByDevice(event, &device, &queue);
  if (device == nullptr)
    return Invalid("a stream can follow operations, but not a timeline that the caller signals");
  KDL_RETURN_IF_ERROR(CheckStreams(*device));
  if (!is_ordered) return scheduler.Wait(event, -1);
  return Error(device->ops().lead(device->state(), queue, stream));
}

}  // namespace

kdl_error* kdl_queue_after_stream(kdl_queue* queue, void* stream) {
  KDL_RETURN_IF_UNUSABLE(queue);
  return Guard(SchedulerOf(queue), [&] { return AfterStream(*Unwrap(queue), stream); });
}

kdl_error* kdl_stream_after_event(void* stream, kdl_event* event) {
  KDL_RETURN_IF_UNUSABLE(event);
  const Event& object = *Unwrap(event);
  return Guard(object.timeline().scheduler(), [&] { return StreamAfter(stream, object); });
}

kdl_error* kdl_queue_own(kdl_queue* queue, kdl_queue** own) {
  KDL_RETURN_IF_UNUSABLE(queue, own);
  return Guard(SchedulerOf(queue), [&]() -> Error {
    *own = Wrap(MakeRef<Caller>(Unwrap(queue)->queue(), true).Leave());
    return nullptr;
  });
}

void kdl_queue_free(kdl_queue* queue) {
  if (queue != nullptr && Unwrap(queue)->is_own()) GuardQuiet([&] { Unwrap(queue)->Release(); });
}

kdl_error* kdl_queue_wait(kdl_queue* queue) {
  KDL_RETURN_IF_UNUSABLE(queue);
  return Guard(SchedulerOf(queue),
               [&] { return SchedulerOf(queue).WaitForCaller(*Unwrap(queue)); });
}
