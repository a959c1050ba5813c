#include "core/operations.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "core/element.h"
#include "core/handles.h"
#include "core/host_memory.h"
#include "core/view.h"
#include "system/float_state.h"

namespace kdl::runtime {

namespace {

// Moving fewer bytes than this takes less time than waking another thread.
constexpr std::int64_t kLittleBytes = 256 * 1024;

// Passes the operation to the device. If `is_early`, submits it to the device's queue; otherwise, the device
// executes it immediately.
void Give(Device& device, const kdl_submission& s, bool is_early) {
  if (is_early) return device.ops().submit(device.state(), &s);
  const kdl_memory_ops& ops = device.memory_ops();
  switch (s.kind) {
    case KDL_SUBMIT_WRITE:
      return ops.write(device.state(), s.to, s.host_from, s.region, s.done);
    case KDL_SUBMIT_READ:
      return ops.read(device.state(), s.host_to, s.from, s.region, s.done);
    case KDL_SUBMIT_COPY:
      return ops.copy(device.state(), s.to, s.from, s.region, s.done);
    default:
      return ops.fill(device.state(), s.to, s.region, s.pattern, s.pattern_bytes, s.done);
  }
}

class CopyOperation final : public Operation {
 public:
  // Both arrays must have at least one element.
  CopyOperation(const Queue& queue, const kdl_array& to, const kdl_array& from, const char* cause)
      : to_(Ref<Buffer>::Share(Unwrap(to.buffer))),
        from_(Ref<Buffer>::Share(Unwrap(from.buffer))),
        to_view_(to.view),
        from_view_(from.view),
        region_(RegionOf(to.view, OffsetInBuffer(to), from.view, OffsetInBuffer(from))),
        cause_(cause),
        kind_(SubmissionKind(to_->device(), from_->device())) {
    const bool reads = kind_ == KDL_SUBMIT_READ;
    Device& by = reads ? from_->device() : to_->device();
    is_early_ = kind_ != 0 && by.orders() && &by == &queue.device();
  }

  void Start() override {
    Device& to = to_->device();
    Device& from = from_->device();
    const std::int64_t bytes = RegionBytes(region_);
    to.counters().CountCopy(bytes);
    const std::string& name = to_->name().empty() ? from_->name() : to_->name();
    to.transfers().Add(cause_.c_str(), from.uri().c_str(), to.uri().c_str(), name.c_str(), bytes);
    if (kind_ == 0 && to.reaches(from)) {
      return to.memory_ops().copy_from(to.state(), to_->memory(), from.state(), from_->memory(),
                                       &region_, Completion());
    }
    if (kind_ == 0) return StartStaged(bytes);
    submission_ = {};
    submission_.kind = kind_;
    submission_.to = to_->memory();
    submission_.from = from_->memory();
    submission_.host_to = to_->memory().handle;
    submission_.host_from = from_->memory().handle;
    submission_.region = &region_;
    Address(&submission_);
    Give(kind_ == KDL_SUBMIT_READ ? from : to, submission_, is_early_);
  }

  void Drop() override {
    to_->device().host_memory().Free(std::exchange(staging_, nullptr), RegionBytes(region_));
    to_ = {};
    from_ = {};
  }

  bool is_early() const override { return is_early_; }
  bool is_little() const override { return RegionBytes(region_) < kLittleBytes; }
  std::int64_t bytes_moved() const override { return RegionBytes(region_); }
  std::string Describe() const override { return Concat("copy '", cause_, "'"); }

  std::vector<Access> Accesses() const override {
    return {{from_.get(), from_view_, false}, {to_.get(), to_view_, true}};
  }

 private:
  // Returns the kind of submission for the copy, or 0 if neither device can do the copy by itself.
  static std::int32_t SubmissionKind(const Device& to, const Device& from) {
    if (&to == &from) return KDL_SUBMIT_COPY;
    if (from.works_in_host_memory()) return KDL_SUBMIT_WRITE;
    return to.works_in_host_memory() ? KDL_SUBMIT_READ : 0;
  }

  // Copies through host memory. Used if the two devices cannot access each other's memory.
  void StartStaged(std::int64_t bytes) {
    staging_ = to_->device().host_memory().Allocate(bytes);
    if (staging_ == nullptr) {
      Finish(Fail(KDL_ERROR_OUT_OF_MEMORY, "copy from ", runtime::Describe(*from_), " to ",
                  runtime::Describe(*to_), ": not enough host memory for ", bytes,
                  " bytes to stage it"));
      return;
    }
    staged_to_host_ = WithDenseTo(region_);
    staged_to_device_ = WithDenseFrom(region_);
    const kdl_completion second_half = {
        [](void* self, kdl_error* error) { static_cast<CopyOperation*>(self)->Forward(error); },
        this};
    Device& from = from_->device();
    from.memory_ops().read(from.state(), staging_, from_->memory(), &staged_to_host_, second_half);
  }

  void Forward(kdl_error* error) {
    if (error != nullptr) {
      Finish(Error(error));
      return;
    }
    Device& to = to_->device();
    to.memory_ops().write(to.state(), to_->memory(), staging_, &staged_to_device_, Completion());
  }

  Ref<Buffer> to_;
  Ref<Buffer> from_;
  kdl_tensor to_view_;
  kdl_tensor from_view_;
  kdl_region region_;
  std::string cause_;
  std::int32_t kind_;
  bool is_early_ = false;
  kdl_submission submission_;
  void* staging_ = nullptr;
  kdl_region staged_to_host_ = {};
  kdl_region staged_to_device_ = {};
};

class FillOperation final : public Operation {
 public:
  // The array must have at least one element.
  FillOperation(const Queue& queue, const kdl_array& to, std::uint64_t bits)
      : to_(Ref<Buffer>::Share(Unwrap(to.buffer))),
        view_(to.view),
        region_(RegionOf(to.view, OffsetInBuffer(to), to.view, OffsetInBuffer(to))),
        bits_(bits),
        is_early_(to_->device().orders() && &to_->device() == &queue.device()) {}

  void Start() override {
    Device& device = to_->device();
    device.counters().CountFill();
    submission_ = {};
    submission_.kind = KDL_SUBMIT_FILL;
    submission_.to = to_->memory();
    submission_.region = &region_;
    submission_.pattern = bits_;
    submission_.pattern_bytes = static_cast<std::int32_t>(ElementBytes(view_));
    Address(&submission_);
    Give(device, submission_, is_early_);
  }

  void Drop() override { to_ = {}; }

  bool is_early() const override { return is_early_; }
  bool is_little() const override { return RegionBytes(region_) < kLittleBytes; }
  std::string Describe() const override { return Concat("fill of ", runtime::Describe(*to_)); }

  std::vector<Access> Accesses() const override { return {{to_.get(), view_, true}}; }

 private:
  Ref<Buffer> to_;
  kdl_tensor view_;
  kdl_region region_;
  std::uint64_t bits_;
  bool is_early_;
  kdl_submission submission_;
};

// A call of host code. It is also used for copies and fills without elements, which do nothing but keep their
// place in the order.
class HostCallOperation final : public Operation {
 public:
  HostCallOperation(kdl_host_fn call, void (*release)(void*), void* user)
      : call_(call), release_(release), user_(user) {}

  void Start() override { Finish(Error(call_ == nullptr ? nullptr : Call())); }
  void Drop() override {
    const FloatScope floats;  // the callback may change the floating-point state
    if (release_ != nullptr) release_(user_);
  }

  bool is_little() const override { return call_ == nullptr; }
  std::string Describe() const override { return "a host call"; }
  std::vector<Access> Accesses() const override { return {}; }
  bool is_host_call() const override { return call_ != nullptr; }

 private:
  kdl_error* Call() const {
    const FloatScope floats;  // the callback may change the floating-point state
    return call_(user_);
  }

  kdl_host_fn call_;
  void (*release_)(void*);
  void* user_;
};

// Waits for work that the application has given to a stream of the device's driver.
class FollowOperation final : public Operation {
 public:
  explicit FollowOperation(Device& device) : device_(device) {}

  Error Mark(void* stream) { return Error(device_.ops().mark(device_.state(), stream, &mark_)); }
  bool has_mark() const { return mark_ != nullptr; }

  void Start() override {
    Address(&submission_);
    submission_.kind = KDL_SUBMIT_FOLLOW;
    submission_.mark = std::exchange(mark_, nullptr);
    device_.ops().submit(device_.state(), &submission_);
  }
  void Drop() override {
    if (mark_ != nullptr) device_.ops().unmark(device_.state(), std::exchange(mark_, nullptr));
  }
  bool is_early() const override { return true; }
  std::string Describe() const override { return "a wait for a stream"; }
  std::vector<Access> Accesses() const override { return {}; }

 private:
  Device& device_;
  void* mark_ = nullptr;
  kdl_submission submission_ = {};
};

bool SameShape(const kdl_tensor& a, const kdl_tensor& b) {
  return a.rank == b.rank && std::equal(a.size, a.size + a.rank, b.size);
}

}  // namespace

void LaunchFrame::Fill(const Binding& binding, void* module, std::int32_t queue, void* workspace,
                       void* shared) {
  host.SetVariant(*binding.candidate.variant);
  launch = {.size = sizeof(kdl_launch),
            .version = KDL_ABI_VERSION,
            .stop = 0,
            .reserved0 = 0,
            .dynamic_counters = nullptr,
            .shared = shared,
            .host = &host.host(),
            .turn = nullptr,
            .block = nullptr};
  request = {.size = sizeof(kdl_launch_request),
             .version = KDL_PLUGIN_VERSION,
             .image = binding.candidate.image,
             .kernel = binding.candidate.kernel,
             .variant = binding.candidate.variant,
             .module = module,
             .args = &binding.args,
             .memories = binding.memories.data(),
             .tensor_count = static_cast<std::int32_t>(binding.memories.size()),
             .queue = queue,
             .core_num = binding.core_num,
             .busy_cores = binding.busy_cores,
             .instances = binding.instances,
             .workspace = workspace,
             .slice_bytes = binding.slice_bytes,
             .shared = shared,
             .launch = &launch,
             .observer = nullptr,
             .prepared = nullptr};
}

LaunchOperation::~LaunchOperation() {
  if (reserved_ != nullptr) device_.ops().discard(device_.state(), reserved_);
}

Error LaunchOperation::Reserve() {
  if (device_.ops().prepare == nullptr || device_.ops().discard == nullptr) return nullptr;
  KDL_RETURN_IF_ERROR(Error(device_.ops().prepare(device_.state(), &frame_.request, &reserved_)));
  frame_.request.prepared = reserved_;
  return nullptr;
}

Error LaunchOperation::Prepare() {
  void* module = nullptr;
  KDL_RETURN_IF_ERROR(device_.FindModule(*binding_.candidate.image, &module));
  char* address = nullptr;
  if (memory_.workspace) address = static_cast<char*>(memory_.workspace->memory().address);
  void* workspace =
      memory_.shared || address == nullptr ? address : address + binding_.shared_bytes;
  void* shared = memory_.shared ? memory_.shared->memory().address : address;
  frame_.Fill(binding_, module, queue_index_, workspace, shared);
  if (device_.scheduler().trace() != nullptr) {
    observer_ = {.size = sizeof(kdl_observer),
                 .version = KDL_PLUGIN_VERSION,
                 .busy = NoteBusy,
                 .context = this,
                 .waited = NoteWait,
                 .ran_block = NoteBlock,
                 .ran = NoteRan};
    frame_.request.observer = &observer_;
  }
  acceptance_ = device_.Accepts(frame_.request);
  return nullptr;
}

void LaunchOperation::NoteBusy(void* context, std::int32_t worker, std::int64_t begin_ns,
                               std::int64_t end_ns) {
  const auto& self = *static_cast<const LaunchOperation*>(context);
  try {
    self.device_.scheduler().trace()->Add(
        {self.CoreRow(worker), self.frame_.request.kernel->name, begin_ns, end_ns, 0});
  } catch (const std::bad_alloc&) {  // omit the span from the trace
  }
}

// While a stage of a core waits, other stages of the core run. Each stage therefore has its own row in the
// trace.
void LaunchOperation::NoteWait(void* context, std::int32_t worker, std::int32_t stage,
                               std::int32_t location, std::int64_t begin_ns, std::int64_t end_ns) {
  const auto& self = *static_cast<const LaunchOperation*>(context);
  const kdl_variant& variant = *self.frame_.request.variant;
  try {
    std::string row = self.CoreRow(worker);
    std::string what = "waits for the others at a sync";
    if (stage >= 0) row += Concat(" stage ", stage);
    if (location >= 0 && location < variant.location_count) what = variant.locations[location].text;
    self.device_.scheduler().trace()->Add({std::move(row), std::move(what), begin_ns, end_ns, 0});
  } catch (const std::bad_alloc&) {  // omit the span from the trace
  }
}

void LaunchOperation::NoteBlock(void* context, std::int32_t worker, std::int32_t stage,
                                std::int64_t core, std::int64_t block, std::int64_t begin_ns,
                                std::int64_t end_ns) {
  const auto& self = *static_cast<const LaunchOperation*>(context);
  try {
    std::string row = self.CoreRow(worker);
    if (stage >= 0) row += Concat(" stage ", stage);
    self.device_.scheduler().trace()->Add(
        {std::move(row), Concat("block of '", self.frame_.request.kernel->name, "'"), begin_ns,
         end_ns, 0, core, block});
  } catch (const std::bad_alloc&) {  // omit the span from the trace
  }
}

void LaunchOperation::NoteRan(void* context, const char* part, const char* what,
                              std::int64_t begin_ns, std::int64_t end_ns, std::int64_t bytes) {
  const auto& self = *static_cast<const LaunchOperation*>(context);
  try {
    self.device_.scheduler().trace()->Add(
        {Concat(self.device_.uri(), " ", part), what, begin_ns, end_ns, bytes});
  } catch (const std::bad_alloc&) {  // omit the span from the trace
  }
}

std::string LaunchOperation::CoreRow(std::int32_t worker) const {
  if (worker < 0) return Concat(device_.uri(), " kernels by its own clock");
  return Concat(device_.uri(), " core ", worker);
}

void LaunchOperation::Start() {
  if (!is_early()) return device_.ops().launch(device_.state(), &frame_.request, Completion());
  submission_ = {};
  Address(&submission_);
  submission_.kind = KDL_SUBMIT_LAUNCH;
  submission_.launch = &frame_.request;
  device_.ops().submit(device_.state(), &submission_);
}

void LaunchOperation::Drop() {
  binding_.DropBuffers();
  memory_.workspace = {};
  memory_.shared = {};
}

void LaunchOperation::Stop() {
  std::atomic_ref(frame_.launch.stop).store(1, std::memory_order_relaxed);
}

bool LaunchOperation::is_little() const {
  std::int64_t bytes = 0;
  for (const kdl_tensor& tensor : binding_.tensors) {
    bytes += std::min(SpanBytes(tensor), kLittleBytes);
  }
  return bytes < kLittleBytes;
}

std::string LaunchOperation::Describe() const {
  return Concat("launch of '", frame_.request.kernel->name, "'");
}

std::vector<Access> LaunchOperation::Accesses() const {
  std::vector<Access> accesses;
  std::size_t tensor = 0;
  for (std::int32_t p = 0; p < frame_.request.variant->param_count; ++p) {
    const kdl_param_desc& param = frame_.request.variant->params[p];
    if (param.is_tensor == 0) continue;
    const std::size_t index = tensor++;
    if (binding_.buffers[index] == nullptr) continue;
    accesses.push_back(
        {binding_.buffers[index], binding_.tensors[index], param.direction != KDL_IN});
  }
  for (const Ref<Buffer>* buffer : {&memory_.workspace, &memory_.shared})
    if (*buffer) accesses.push_back({buffer->get(), WholeOf(**buffer), true});
  return accesses;
}

Error MakeCopy(const Queue& queue, const kdl_array& to, const kdl_array& from, const char* cause,
               Ref<Operation>* operation) {
  KDL_RETURN_IF_ERROR(CheckArray(to, "the target of the copy"));
  KDL_RETURN_IF_ERROR(CheckArray(from, "the source of the copy"));
  KDL_RETURN_IF_ERROR(CheckWritable(*Unwrap(to.buffer), "the target of the copy"));
  if (to.view.element != from.view.element || !SameShape(to.view, from.view)) {
    return Invalid("copy from ", Describe(from.view), " to ", Describe(to.view),
                   "; element types and sizes must be equal");
  }
  if (OverlapsItself(to.view)) {
    return Invalid("the target of the copy, ", Describe(to.view),
                   ", has elements that share memory; its strides must keep all elements apart");
  }
  if (IsEmpty(to.view)) {
    *operation = MakeHostCall(nullptr, nullptr, nullptr);
    return nullptr;
  }
  Buffer* target = Unwrap(to.buffer);
  Buffer* source = Unwrap(from.buffer);
  if (target->device().SharesMemoryWith(source->device()) && Overlap(to.view, from.view)) {
    return Invalid("copy from ", Describe(*source), " to ", Describe(*target),
                   ": source and target share memory");
  }
  *operation =
      Ref<Operation>::Take(new CopyOperation(queue, to, from, cause == nullptr ? "copy" : cause));
  return nullptr;
}

Error MakeFill(const Queue& queue, const kdl_array& to, std::uint64_t bits,
               Ref<Operation>* operation) {
  KDL_RETURN_IF_ERROR(CheckArray(to, "the target of the fill"));
  KDL_RETURN_IF_ERROR(CheckWritable(*Unwrap(to.buffer), "the target of the fill"));
  if (IsEmpty(to.view)) {
    *operation = MakeHostCall(nullptr, nullptr, nullptr);
    return nullptr;
  }
  *operation = Ref<Operation>::Take(new FillOperation(queue, to, bits));
  return nullptr;
}

Ref<Operation> MakeHostCall(kdl_host_fn call, void (*release)(void*), void* user) {
  return Ref<Operation>::Take(new HostCallOperation(call, release, user));
}

Error MakeFollow(Device& device, void* stream, Ref<Operation>* operation) {
  auto made = MakeRef<FollowOperation>(device);
  KDL_RETURN_IF_ERROR(made->Mark(stream));
  if (made->has_mark()) *operation = Ref<Operation>::Take(made.Leave());
  return nullptr;
}

}  // namespace kdl::runtime
