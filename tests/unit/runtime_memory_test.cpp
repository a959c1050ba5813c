// Makes each allocation of a program fail in turn. Every call must succeed or return an error with the right
// code, and no call may hang.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "failing_memory.h"
#include "host/host_device.h"
#include "kdl/kernel_abi.h"
#include "opencl/opencl_memory.h"
#include "workgroup/memory_pool.h"

namespace {

std::int32_t Double(const kdl_args* args, kdl_core* core) {
  auto* x = static_cast<float*>(args->tensors[0].data);
  for (std::int64_t i = core->core_id; i < args->dims[0]; i += core->core_num) x[i] *= 2;
  return KDL_DONE;
}

constexpr kdl_param_desc kParams[] = {{"x", "[N]", 1, KDL_INOUT, KDL_F32, 0, 1, {0}, {}}};
constexpr const char* kDims[] = {"N"};
constexpr kdl_variant kVariant = [] {
  kdl_variant variant = {};
  variant.entry = Double;
  variant.symbol = "double";
  variant.constants = "";
  variant.params = kParams;
  variant.dims = kDims;
  variant.param_count = 1;
  variant.dim_count = 1;
  variant.scratch_bytes = 1 << 16;  // more than a runner keeps in itself
  return variant;
}();
constexpr kdl_kernel kKernel = {"double", &kVariant, 1, 0};
#if defined(__aarch64__)
constexpr const char* kArch = "aarch64";
#else
constexpr const char* kArch = "x86-64";
#endif
const kdl_image kImage = {sizeof(kdl_image),
                          KDL_ABI_VERSION,
                          KDL_ABI_HASH,
                          "memory",
                          "the test",
                          "host",
                          kArch,
                          &kKernel,
                          nullptr,
                          0,
                          1,
                          0};

TEST_CASE("memory: every allocation fails in turn, by itself or with all later ones") {
  const auto prepare = [](kdl_context* context) { return kdl_context_register(context, &kImage); };
  for (const char* spec : {"host?threads=2", "debug", "plugin:" KDL_SAMPLE_DEVICE}) {
    FailEachAllocation({spec, prepare});
  }
}

TEST_CASE("memory: failures that are reported to the caller leak nothing") {
  constexpr int kFailures = 1000;
  const kdl::Context context;
  const kdl::Queue queue = context.Select("host").queue();
  const auto fail_often = [&] {
    for (int i = 0; i < kFailures; ++i) {
      queue.Call([] { throw kdl::Error(KDL_ERROR_DEVICE, "a message of a usual length"); });
      kdl_error* error = kdl_queue_wait(queue.get());
      CHECK(kdl_error_code(error) == KDL_ERROR_DEVICE);
      kdl_error_free(error);
    }
    return mallinfo2().uordblks;
  };
  // A leak makes every round grow. A single round may grow without a leak: the allocator counts as used the
  // memory that its threads keep for reuse, and the amount depends on which thread freed it.
  std::size_t used = fail_often();
  bool leaks = true;
  for (int round = 0; round < 8 && leaks; ++round) {
    const std::size_t now = fail_often();
    leaks = now >= used + kFailures;
    used = now;
  }
  CHECK(!leaks);
}

TEST_CASE("memory: if the host runs out of memory, no buffer of an OpenCL device is lost") {
  namespace cl = kdl::runtime::cl;
  static int made;
  static int released;
  made = released = 0;
  cl::Api api;
  api.CreateBuffer = [](cl::ContextId, std::uint64_t, std::size_t bytes, void*,
                        std::int32_t* status) -> cl::MemoryId {
    *status = bytes > 1000 ? cl::kOutOfDeviceMemory : cl::kSuccess;
    if (*status != cl::kSuccess) return nullptr;
    return reinterpret_cast<cl::MemoryId>(static_cast<std::uintptr_t>(++made));
  };
  api.ReleaseMemObject = [](cl::MemoryId) -> std::int32_t {
    ++released;
    return cl::kSuccess;
  };
  kdl::runtime::OpenclMemory memory(api, nullptr);
  g_all_after = false;
  bool has_failed = true;
  for (long point = 0; has_failed; ++point) {
    g_has_failed = false;
    g_until_failure = point;
    kdl_memory given = {};
    bool is_short = false;
    try {
      const kdl::runtime::Error error = memory.Allocate(64, &given);
      is_short = error != nullptr;
    } catch (const std::bad_alloc&) {
      is_short = true;
    }
    g_until_failure = -1;
    has_failed = g_has_failed;
    CHECK(is_short == has_failed);
    if (!is_short) memory.Release(given);
    CHECK(made == released);
  }
  CHECK(made == 1);

  // A refused allocation returns no address, and the next allocation succeeds.
  kdl_memory none = {};
  CHECK(kdl_error_code(memory.Allocate(2000, &none).get()) == KDL_ERROR_OUT_OF_MEMORY);
  kdl_memory given = {};
  REQUIRE(memory.Allocate(64, &given) == nullptr);
  const auto place = memory.PlaceOf(static_cast<char*>(given.address) + 8);
  CHECK(reinterpret_cast<std::uintptr_t>(place.buffer) == static_cast<std::uintptr_t>(made));
  CHECK(place.offset == 8);
  memory.Release(given);
  CHECK(memory.PlaceOf(given.address).buffer == nullptr);
}

TEST_CASE("memory: a pool that cannot record a chunk returns it at once") {
  kdl::runtime::MemoryPool pool;
  int chunks[2];
  g_all_after = true;
  const auto failing = [](auto call) {
    g_has_failed = false;
    g_until_failure = 0;
    const bool done = call();
    g_until_failure = -1;
    CHECK(g_has_failed);
    return done;
  };
  CHECK(!failing([&] { return pool.Add(&chunks[0], 64); }));
  REQUIRE(pool.Add(&chunks[0], 64));
  CHECK(!failing([&] { return pool.Keep(&chunks[0]); }));
  CHECK(pool.Take(64) == nullptr);
  REQUIRE(pool.Add(&chunks[1], 64));
  CHECK(pool.Keep(&chunks[1]));
  CHECK(pool.Take(64) == &chunks[1]);
  CHECK(pool.Keep(&chunks[1]));
  CHECK(pool.Empty() == std::vector<void*>{&chunks[1]});
  CHECK(pool.Empty().empty());
}

TEST_CASE("memory: an image that could not be loaded is loaded by the next launch") {
  static int loads = 0;
  static void* launched = nullptr;
  loads = 0;
  kdl_device_ops ops = kdl::runtime::HostDeviceOps();
  ops.kind = "short";
  ops.load = [](void*, const kdl_image*, void** module) -> kdl_error* {
    if (loads++ == 0) throw std::bad_alloc();
    *module = &loads;
    return nullptr;
  };
  ops.unload = [](void*, void*) {};
  ops.launch = [](void* device, const kdl_launch_request* request, kdl_completion done) {
    launched = request->module;
    kdl::runtime::HostDeviceOps().launch(device, request, done);
  };
  kdl_hooks hooks = {};
  const kdl::Context context;
  kdl::Check(kdl_context_add_device_kind(context.get(), &ops, &hooks));
  kdl::Check(kdl_context_register(context.get(), &kImage));
  const kdl::Device device = context.Select("short?threads=1");
  float number = 3;
  const kdl::Tensor x = context.Wrap(device, &number, {1});
  kdl_code code = KDL_OK;
  try {
    device.queue().Run("double", 1, {x});
  } catch (const kdl::Error& error) {
    code = error.code();
  }
  CHECK(code == KDL_ERROR_OUT_OF_MEMORY);
  device.queue().Run("double", 1, {x});
  CHECK(number == 6);
  CHECK(launched == &loads);
}

TEST_CASE("fork: a child frees objects that have outlived their context") {
  kdl_context* context = nullptr;
  kdl_device* device = nullptr;
  REQUIRE(kdl_context_create(&context) == nullptr);
  REQUIRE(kdl_context_register(context, &kImage) == nullptr);
  REQUIRE(kdl_select_device(context, "host?threads=3", &device) == nullptr);
  kdl_queue* queue = nullptr;
  REQUIRE(kdl_device_queue(device, 0, &queue) == nullptr);
  const kdl_function* function = nullptr;
  REQUIRE(kdl_context_find_kernel(context, "double", &function) == nullptr);
  const std::int64_t size = 100000;  // enough work for the device's threads
  kdl_array x = {};
  REQUIRE(kdl_array_allocate(device, KDL_F32, 1, &size, "x", &x) == nullptr);
  const kdl_arg arg = {&x, 0, 0, {}};
  REQUIRE(kdl_run_kernel(queue, function, KDL_CORES_AUTO, &arg, 1, nullptr, nullptr, 0) == nullptr);
  kdl_context_destroy(context);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    kdl_array_free(&x);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  kdl_array_free(&x);
}

TEST_CASE("fork: a child gets a clear error, frees objects, and makes its own context") {
  kdl_context* context = nullptr;
  kdl_device* device = nullptr;
  kdl_queue* queue = nullptr;
  REQUIRE(kdl_context_create(&context) == nullptr);
  REQUIRE(kdl_select_device(context, "host?threads=2", &device) == nullptr);
  REQUIRE(kdl_device_queue(device, 0, &queue) == nullptr);
  kdl_buffer* buffer = nullptr;
  REQUIRE(kdl_buffer_allocate(device, 64, "x", &buffer) == nullptr);
  REQUIRE(kdl_host_call(queue, nullptr, nullptr, nullptr, nullptr, 0, nullptr) == nullptr);
  REQUIRE(kdl_queue_wait(queue) == nullptr);
  const kdl_image* const images[] = {&kImage, nullptr};
  const char* const name = "double";
  kdl_kernels* kernels = nullptr;
  REQUIRE(kdl_kernels_open(nullptr, images, "host", &name, 1, &kernels) == nullptr);
  float x[1] = {1};
  const std::int64_t sizes[] = {1};
  kdl_value value = {};
  value.data = x;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const auto refuses = [](kdl_error* error) {
      const bool right = kdl_error_code(error) == KDL_ERROR_UNSUPPORTED;
      kdl_error_free(error);
      return right;
    };
    int wrong = 0;
    wrong += refuses(kdl_host_call(queue, nullptr, nullptr, nullptr, nullptr, 0, nullptr)) ? 0 : 1;
    wrong += refuses(kdl_queue_wait(queue)) ? 0 : 1;
    kdl_error* told = kdl_kernels_call(kernels, 0, sizes, &value);
    wrong += std::string_view(kdl_error_message(told)).ends_with("; open them here") ? 0 : 1;
    wrong += refuses(told) ? 0 : 1;
    kdl_kernels_close(kernels);
    wrong += refuses(kdl_select_device(context, "debug", &device)) ? 0 : 1;
    kdl_buffer_free(buffer);
    kdl_context_destroy(context);
    kdl_context* own = nullptr;
    wrong += kdl_context_create(&own) == nullptr ? 0 : 1;
    wrong += kdl_select_device(own, "host?threads=1", &device) == nullptr ? 0 : 1;
    kdl_context_destroy(own);
    _exit(wrong);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(kdl_kernels_call(kernels, 0, sizes, &value) == nullptr);
  CHECK(x[0] == 2);
  kdl_kernels_close(kernels);
  kdl_buffer_free(buffer);
  kdl_context_destroy(context);
}

}  // namespace
