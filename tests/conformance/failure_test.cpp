// Tests failures of device calls: each call that can fail does so in turn. Also tests forks of the process.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "core/device.h"
#include "core/handles.h"

namespace kdl::conformance {
namespace {

// Counts calls, and decides which one fails.
class Calls {
 public:
  explicit Calls(int failing) : failing_(failing) {}

  bool Fails() { return made_++ == failing_; }
  bool HaveReached() const { return made_ > failing_; }
  kdl_error* Failure() const { return kdl_error_create(KDL_ERROR_DEVICE, cause().c_str()); }
  std::string cause() const { return "call " + std::to_string(failing_) + " fails"; }

 private:
  const int failing_;
  std::atomic<int> made_ = 0;
};

// Wraps the device under test as a device of another kind. The wrapper behaves like that device, except that
// one call fails.
class Failing {
 public:
  Failing(const runtime::Device& device, Calls& calls)
      : inner_(device), calls_(calls), memory_(MemoryOps()), ops_(DeviceOps()) {}
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

  void AddTo(const Context& context) {
    Check(kdl_context_add_device_kind(context.get(), &ops_, this));
  }

 private:
  static Failing& FromHandle(void* self) { return *static_cast<Failing*>(self); }
  const kdl_device_ops& ops() const { return inner_.ops(); }
  void* state() const { return inner_.state(); }

  static kdl_error* Open(void* self, std::int64_t, const kdl_option*, std::int32_t, void** device) {
    *device = self;
    return FromHandle(self).calls_.Fails() ? FromHandle(self).calls_.Failure() : nullptr;
  }
  static void Close(void*) {}
  static void Facts(void* self, kdl_device_facts* facts) {
    *facts = FromHandle(self).inner_.facts();
  }
  static kdl_error* Load(void* self, const kdl_image* image, void** module) {
    Failing& it = FromHandle(self);
    if (it.calls_.Fails()) return it.calls_.Failure();
    return it.ops().load == nullptr ? nullptr : it.ops().load(it.state(), image, module);
  }
  static void Unload(void* self, void* module) {
    Failing& it = FromHandle(self);
    if (it.ops().unload != nullptr) it.ops().unload(it.state(), module);
  }
  static void Launch(void* self, const kdl_launch_request* request, kdl_completion done) {
    Failing& it = FromHandle(self);
    if (it.calls_.Fails()) return done.call(done.context, it.calls_.Failure());
    it.ops().launch(it.state(), request, done);
  }
  // If the device orders operations itself, the operation still runs when it is due, and then reports a
  // failure.
  struct Spoilt {
    kdl_submission submission;
    kdl_completion done;
    Calls& calls;
  };
  static void Submit(void* self, const kdl_submission* submission) {
    Failing& it = FromHandle(self);
    if (!it.calls_.Fails()) return it.ops().submit(it.state(), submission);
    auto* spoilt = new Spoilt{*submission, submission->done, it.calls_};
    spoilt->submission.done = {[](void* context, kdl_error* error) {
                                 const std::unique_ptr<Spoilt> done(static_cast<Spoilt*>(context));
                                 kdl_error_free(error);
                                 done->done.call(done->done.context, done->calls.Failure());
                               },
                               spoilt};
    it.ops().submit(it.state(), &spoilt->submission);
  }

  static std::int32_t Accepts(void* self, const kdl_launch_request* request) {
    return FromHandle(self).ops().accepts(FromHandle(self).state(), request);
  }
  static void Wait(void* self, std::int32_t queue, std::uint64_t number) {
    FromHandle(self).ops().wait(FromHandle(self).state(), queue, number);
  }

  static kdl_error* Allocate(void* self, std::int64_t bytes, const char* name, kdl_memory* memory) {
    Failing& it = FromHandle(self);
    if (it.calls_.Fails()) return it.calls_.Failure();
    return it.inner_.memory_ops().allocate(it.state(), bytes, name, memory);
  }
  static void Release(void* self, kdl_memory memory) {
    FromHandle(self).inner_.memory_ops().release(FromHandle(self).state(), memory);
  }
  // Wraps write, read, copy and fill, which report their end through a completion argument.
  template <auto function, class... Arguments>
  static void Move(void* self, Arguments... arguments, kdl_completion done) {
    Failing& it = FromHandle(self);
    if (it.calls_.Fails()) return done.call(done.context, it.calls_.Failure());
    (it.inner_.memory_ops().*function)(it.state(), arguments..., done);
  }

  static kdl_memory_ops MemoryOps() {
    kdl_memory_ops memory = {};
    memory.size = sizeof memory;
    memory.version = KDL_PLUGIN_VERSION;
    memory.allocate = Allocate;
    memory.release = Release;
    memory.write = Move<&kdl_memory_ops::write, kdl_memory, const void*, const kdl_region*>;
    memory.read = Move<&kdl_memory_ops::read, void*, kdl_memory, const kdl_region*>;
    memory.copy = Move<&kdl_memory_ops::copy, kdl_memory, kdl_memory, const kdl_region*>;
    memory.fill =
        Move<&kdl_memory_ops::fill, kdl_memory, const kdl_region*, std::uint64_t, std::int32_t>;
    return memory;
  }
  kdl_device_ops DeviceOps() const {
    kdl_device_ops made = {};
    made.size = sizeof made;
    made.version = KDL_PLUGIN_VERSION;
    made.kind = "failing";
    made.memory = inner_.works_in_host_memory() ? nullptr : &memory_;
    made.open = Open;
    made.close = Close;
    made.facts = Facts;
    made.load = Load;
    made.unload = Unload;
    made.launch = Launch;
    made.submit = ops().submit == nullptr ? nullptr : Submit;
    made.image_kind = inner_.facts().image_kind;
    made.accepts = ops().accepts == nullptr ? nullptr : Accepts;
    made.wait = ops().wait == nullptr ? nullptr : Wait;
    return made;
  }

  const runtime::Device& inner_;
  Calls& calls_;
  const kdl_memory_ops memory_;
  const kdl_device_ops ops_;
};

// Provides memory from the application. An allocation also counts as a call that can fail.
void* Lend(void* calls, std::size_t bytes, std::size_t alignment) {
  if (static_cast<Calls*>(calls)->Fails()) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void TakeBack(void*, void* memory, std::size_t) { std::free(memory); }

// Runs copies, fills and launches in two queues, and returns the result.
std::vector<std::int64_t> Work(const Context& context, const Device& host, const Device& device) {
  const Tensor here = context.Allocate(host, i64, {3}, "here");
  const Tensor x = context.Allocate(device, i64, {3}, "x");
  const Tensor y = context.Allocate(device, i64, {3}, "y");
  const Event begun = host.queue().Fill(here, std::int64_t{1});
  const Event written = device.queue().Copy(x, here, "in", {begun});
  const Event filled = device.queue(1).Fill(y, std::int64_t{2});
  const Event copied = device.queue(1).Copy(y, x, "within", {written, filled});
  const Event marked = device.queue().Launch("mark", 3, {y}, {copied});
  const Event again = device.queue(1).Launch("mark", 3, {y}, {marked});
  host.queue().Copy(here, y, "out", {again}).Wait();
  return Bench::Download<std::int64_t>(here);
}

CONFORMANCE_TEST(EachCallFailsInTurn) {
  for (int failing = 0;; ++failing) {
    CAPTURE(failing);
    Calls calls(failing);
    const kdl_hooks hooks = {sizeof(kdl_hooks), KDL_HOOKS_VERSION, &calls, Lend, TakeBack, nullptr};
    std::unique_ptr<Failing> kind;  // must outlive the context
    Context context(hooks);
    bench.prepare(context);
    const Device inner = context.Select(bench.spec.c_str());
    const Device host = context.Select("host");
    kind = std::make_unique<Failing>(*runtime::Unwrap(inner.get()), calls);
    kind->AddTo(context);
    Device device;
    std::vector<std::int64_t> result;
    std::string message;
    const kdl_code code = CodeOf(
        [&] {
          device = context.Select("failing");
          result = Work(context, host, device);
        },
        &message);
    if (!calls.HaveReached()) {
      CHECK(code == KDL_OK);
      CHECK(result == std::vector<std::int64_t>(3, 7));
      CHECK(failing > 3);
      return;
    }
    // KDL_ERROR_OUT_OF_MEMORY means that the application's memory is exhausted. All other errors come from
    // the device.
    if (code != KDL_ERROR_OUT_OF_MEMORY) {
      CHECK(code == KDL_ERROR_DEVICE);
      CHECK(message.find(calls.cause()) != std::string::npos);
      CHECK(message.find(calls.cause()) == message.rfind(calls.cause()));  // occurs only once
    }
    for (const Device& each : {device, inner, host}) {
      if (each.get() == nullptr) continue;
      for (const int queue : {0, 1}) kdl_error_free(kdl_queue_wait(each.queue(queue).get()));
      CHECK(each.statistics().bytes_in_use == 0);
    }
    CHECK(Work(context, host, inner) == std::vector<std::int64_t>(3, 7));
  }
}

bool IsRefused(kdl_error* error) {
  const bool is_right = kdl_error_code(error) == KDL_ERROR_UNSUPPORTED;
  kdl_error_free(error);
  return is_right;
}

// Checks that the parent's context refuses all functions in the child except those that UseInChild tests.
bool RefusesAllElse(const Bench& bench, const Tensor& x, const kdl_function* mark) {
  kdl_context* context = bench.context.get();
  kdl_device* device = bench.device.get();
  const std::int64_t size = 3;
  std::int64_t bytes = 0;
  void* data = nullptr;
  kdl_timeline* timeline = nullptr;
  kdl_buffer* buffer = nullptr;
  kdl_queue* queue = nullptr;
  kdl_array array = {};
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  const kdl_function* function = nullptr;
  const kdl_arg arg = {&x.array(), 0, 0, {}};
  kdl_error* const errors[] = {
      kdl_context_register_all(context, kImages),
      kdl_context_load(context, "./nothing.so"),
      kdl_context_find_kernel(context, "mark", &function),
      kdl_timeline_create(context, 0, &timeline),
      kdl_device_queue(device, 3, &queue),
      kdl_queue_own(bench.queue.get(), &queue),
      kdl_device_get_facts(device, &facts),
      kdl_function_footprint(mark, device, &bytes),
      kdl_workspace_reserve(device, 1, 1, "more", &buffer),
      kdl_launch_workspace_bytes(bench.queue.get(), mark, 3, &arg, 1, &bytes),
      kdl_buffer_allocate(device, 8, "more", &buffer),
      kdl_buffer_wrap(device, &bytes, 8, "more", &buffer),
      kdl_buffer_map(x.array().buffer, KDL_MAP_READ, &data),
      kdl_array_allocate(device, KDL_I64, 1, &size, "more", &array),
      kdl_array_wrap(device, &bytes, KDL_I64, 0, nullptr, nullptr, "more", &array),
      kdl_array_wrap_constant(device, &bytes, KDL_I64, 0, nullptr, nullptr, "more", &array),
      kdl_copy(bench.queue.get(), &x.array(), &x.array(), nullptr, nullptr, 0, nullptr),
      kdl_fill(bench.queue.get(), &x.array(), 0, nullptr, 0, nullptr),
      kdl_host_call(bench.queue.get(), nullptr, nullptr, nullptr, nullptr, 0, nullptr),
  };
  return std::ranges::all_of(errors, IsRefused);
}

// Uses the context in a child of a process that has used a device. The bits of the child's exit code say what
// is wrong.
int UseInChild(const Bench& bench, const Tensor& x, const kdl_function* mark) {
  const kdl_arg arg = {&x.array(), 0, 0, {}};
  kdl_queue* queue = bench.queue.get();
  kdl_device* device = nullptr;
  int wrong = 0;
  if (!IsRefused(kdl_launch_kernel(queue, mark, 3, &arg, 1, nullptr, nullptr, 0, nullptr)))
    wrong |= 1;
  if (!IsRefused(kdl_run_kernel(queue, mark, 3, &arg, 1, nullptr, nullptr, 0))) wrong |= 2;
  if (!IsRefused(kdl_queue_wait(queue))) wrong |= 4;
  if (!IsRefused(kdl_select_device(bench.context.get(), bench.spec.c_str(), &device))) wrong |= 8;
  if (!IsRefused(kdl_buffer_unmap(x.array().buffer))) wrong |= 64;
  if (!RefusesAllElse(bench, x, mark)) wrong |= 128;
  kdl_buffer_retain(x.array().buffer);
  kdl_buffer_free(x.array().buffer);
  kdl_context_destroy(bench.context.get());
  // A context that the child creates itself works.
  Context own;
  own.Register(kImages);
  const Device host = own.Select("host?threads=1");
  const Tensor y = own.Allocate(host, i64, {3}, "y");
  for (std::int64_t& element : y.Map<std::int64_t>(KDL_MAP_WRITE)) element = 1;
  host.queue().Run("mark", 3, {y});
  if (Bench::Download<std::int64_t>(y) != std::vector<std::int64_t>(3, 4)) wrong |= 16;
  return wrong;
}

CONFORMANCE_TEST(ForkedChildrenGetClearErrors) {
  const Tensor x = bench.Upload<std::int64_t>({1, 1, 1}, "x");
  bench.queue.Launch("mark", 3, {x}).Wait();
  const kdl_function* mark = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "mark", &mark));
  void* mapped = nullptr;
  Check(kdl_buffer_map(x.array().buffer, KDL_MAP_READ, &mapped));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int wrong = 32;
    try {
      wrong = UseInChild(bench, x, mark);
    } catch (...) {
    }
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  Check(kdl_buffer_unmap(x.array().buffer));
  bench.queue.Launch("mark", 3, {x}).Wait();  // the fork does not affect the parent
  CHECK(Bench::Download<std::int64_t>(x) == std::vector<std::int64_t>(3, 7));
}

}  // namespace
}  // namespace kdl::conformance
