// Tests invalid handles, arrays and memory. Each use must fail with an error that names the invalid object,
// before it has any effect.
#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {
namespace {

// Returns the error message of a call that must be rejected as the caller's mistake.
std::string RefusalOf(kdl_error* error) {
  REQUIRE(error != nullptr);
  CHECK(kdl_error_code(error) == KDL_ERROR_INVALID_ARGUMENT);
  std::string message = kdl_error_message(error);
  kdl_error_free(error);
  return message;
}

const kdl_function* Find(const Bench& bench, const char* name) {
  const kdl_function* function = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), name, &function));
  return function;
}

// Launches saxpy(1, x, y).
kdl_error* LaunchSaxpy(const Bench& bench, const kdl_array& x, const kdl_array& y) {
  const kdl_arg args[] = {Argument(1.0f).get(), {&x, 0, 0, {}}, {&y, 0, 0, {}}};
  return kdl_launch_kernel(bench.queue.get(), Find(bench, "saxpy"), 2, args, 3, nullptr, nullptr, 0,
                           nullptr);
}

void MoveBy(kdl_array* array, std::uintptr_t bytes) {
  array->view.data =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(array->view.data) + bytes);
}

CONFORMANCE_TEST(RanksThatNoTensorHas) {
  const std::int64_t sizes[] = {2};
  const Tensor x = bench.Upload<float>({1, 2}, "x");
  for (const std::int32_t rank : {-1, 9, INT32_MIN, INT32_MAX}) {
    const std::string has = " has rank " + std::to_string(rank);
    kdl_array array = {};
    CHECK(RefusalOf(kdl_array_allocate(bench.device.get(), KDL_F32, rank, sizes, "a", &array)) ==
          "array 'a'" + has + "; ranks go from 0 to 8");
    float element = 0;
    CHECK(RefusalOf(kdl_array_wrap(bench.device.get(), &element, KDL_F32, rank, sizes, sizes, "a",
                                   &array)) == "array 'a'" + has + "; ranks go from 0 to 8");
    CHECK(array.buffer == nullptr);
    array = x.array();
    array.view.rank = rank;
    CHECK(RefusalOf(LaunchSaxpy(bench, array, x.array())) ==
          "launch of 'saxpy': parameter x: f32[N] has 1 dimension, but the tensor given, f32 of "
          "rank " +
              std::to_string(rank) + ", has " + std::to_string(rank));
    CHECK(
        RefusalOf(kdl_copy(bench.queue.get(), &array, &x.array(), nullptr, nullptr, 0, nullptr)) ==
        "the target of the copy" + has + "; ranks go from 0 to 8");
    CHECK(RefusalOf(kdl_fill(bench.queue.get(), &array, 0, nullptr, 0, nullptr)) ==
          "the target of the fill" + has + "; ranks go from 0 to 8");
  }
  kdl_array array = {};
  CHECK(RefusalOf(kdl_array_allocate(bench.device.get(), KDL_F32, 1, nullptr, "a", &array)) ==
        "array 'a' has rank 1, but sizes is NULL");
  CHECK(RefusalOf(kdl_array_allocate(bench.device.get(), 77, 1, sizes, "a", &array)) ==
        "array 'a' has the unknown element kind 77");
}

CONFORMANCE_TEST(ElementsLieAtMultiplesOfTheirBytes) {
  const Tensor x = bench.Upload<float>({1, 2, 3, 4}, "x");
  const Tensor y = bench.Upload<float>({5, 6}, "y");
  kdl_array array = x.array();
  array.view.size[0] = 2;
  MoveBy(&array, 2);
  CHECK(
      RefusalOf(LaunchSaxpy(bench, array, y.array())) ==
      "launch of 'saxpy': the tensor for x[N] is f32[2] at an address that is not a multiple of 4, "
      "the size of f32");
  CHECK(RefusalOf(kdl_copy(bench.queue.get(), &y.array(), &array, nullptr, nullptr, 0, nullptr)) ==
        "the source of the copy is f32[2] at an address that is not a multiple of 4, the size of "
        "f32");
  CHECK(RefusalOf(kdl_fill(bench.queue.get(), &array, 0, nullptr, 0, nullptr)) ==
        "the target of the fill is f32[2] at an address that is not a multiple of 4, the size of "
        "f32");
  MoveBy(&array, 2);
  Check(LaunchSaxpy(bench, array, y.array()));
  bench.queue.Wait();
  CHECK(Bench::Download<float>(y) == std::vector<float>{7, 9});
}

CONFORMANCE_TEST(WrappedMemoryIsMemory) {
  if (bench.device.facts().host_visible == 0) return;
  alignas(8) char bytes[24] = {};
  const std::int64_t sizes[] = {2};
  kdl_array array = {};
  const auto wrap = [&](void* data, std::uint8_t element) {
    return kdl_array_wrap(bench.device.get(), data, element, 1, sizes, nullptr, "v", &array);
  };
  CHECK(RefusalOf(wrap(nullptr, KDL_F64)) == "array 'v' is f64[2] at a null pointer");
  CHECK(RefusalOf(wrap(bytes + 4, KDL_F64)) ==
        "array 'v' is f64[2] at an address that is not a multiple of 8, the size of f64");
  CHECK(array.buffer == nullptr);
  Check(wrap(bytes + 4, KDL_F32));
  kdl_array_free(&array);
  Check(wrap(bytes + 3, KDL_U8));
  kdl_array_free(&array);
  // If there are no elements, the address may be null.
  const std::int64_t none[] = {0};
  Check(kdl_array_wrap(bench.device.get(), nullptr, KDL_F64, 1, none, nullptr, "v", &array));
  kdl_array_free(&array);
}

CONFORMANCE_TEST(NullIsRefused) {
  const Tensor x = bench.Upload<float>({1, 2}, "x");
  kdl_context* context = bench.context.get();
  kdl_queue* queue = bench.queue.get();
  const kdl_function* saxpy = Find(bench, "saxpy");
  std::int64_t bytes = 0;
  kdl_array array = {};
  CHECK(RefusalOf(kdl_context_create(nullptr)) == "kdl_context_create: context is NULL");
  CHECK(RefusalOf(kdl_context_register(context, nullptr)) == "registration of a null image");
  CHECK(RefusalOf(kdl_context_register_all(context, nullptr)) ==
        "kdl_context_register_all: images is NULL");
  CHECK(RefusalOf(kdl_context_load(context, nullptr)) == "kdl_context_load: path is NULL");
  CHECK(RefusalOf(kdl_context_find_kernel(context, nullptr, &saxpy)) ==
        "kdl_context_find_kernel: name is NULL");
  kdl_device* device = nullptr;
  CHECK(RefusalOf(kdl_select_device(context, nullptr, &device)) ==
        "kdl_select_device: spec is NULL");
  CHECK(RefusalOf(kdl_device_queue(nullptr, 0, &queue)) == "kdl_device_queue: device is NULL");
  CHECK(RefusalOf(kdl_array_allocate(nullptr, KDL_F32, 0, nullptr, "a", &array)) ==
        "kdl_array_allocate: device is NULL");
  CHECK(RefusalOf(kdl_buffer_unmap(nullptr)) == "kdl_buffer_unmap: buffer is NULL");
  CHECK(RefusalOf(kdl_copy(queue, &x.array(), nullptr, nullptr, nullptr, 0, nullptr)) ==
        "kdl_copy: from is NULL");
  CHECK(RefusalOf(kdl_copy(queue, &array, &x.array(), nullptr, nullptr, 0, nullptr)) ==
        "the target of the copy has no buffer");
  CHECK(RefusalOf(kdl_fill(queue, nullptr, 0, nullptr, 0, nullptr)) == "kdl_fill: to is NULL");
  CHECK(RefusalOf(kdl_host_call(nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr)) ==
        "kdl_host_call: queue is NULL");
  CHECK(RefusalOf(kdl_queue_wait(nullptr)) == "kdl_queue_wait: queue is NULL");
  CHECK(RefusalOf(kdl_timeline_signal(nullptr, 1)) == "kdl_timeline_signal: timeline is NULL");
  CHECK(RefusalOf(kdl_function_footprint(nullptr, bench.device.get(), &bytes)) ==
        "kdl_function_footprint: function is NULL");
  CHECK(RefusalOf(kdl_launch_kernel(nullptr, saxpy, 1, nullptr, 0, nullptr, nullptr, 0, nullptr)) ==
        "kdl_launch_kernel: queue is NULL");
  CHECK(RefusalOf(kdl_launch_kernel(queue, nullptr, 1, nullptr, 0, nullptr, nullptr, 0, nullptr)) ==
        "kdl_launch_kernel: function is NULL");
  CHECK(RefusalOf(kdl_launch_kernel(queue, saxpy, 1, nullptr, 3, nullptr, nullptr, 0, nullptr)) ==
        "arg_count is 3 without args");
  CHECK(RefusalOf(LaunchSaxpy(bench, array, x.array())) ==
        "launch of 'saxpy': parameter x: f32[N] has 1 dimension, but the tensor given, unknown[], "
        "has 0");
  CHECK(kdl_context_get_transfers(context, nullptr, 3) == 0);
  kdl_error* wordless = kdl_error_create(KDL_ERROR_DEVICE, nullptr);
  CHECK(std::string(kdl_error_message(wordless)).empty());
  kdl_error_free(wordless);
  kdl_array adrift = x.array();
  adrift.buffer = nullptr;
  CHECK(RefusalOf(LaunchSaxpy(bench, adrift, x.array())) ==
        "launch of 'saxpy': the tensor for x[N] has no buffer");
}

CONFORMANCE_TEST(WorkspacesHoldNoArgument) {
  const Tensor memory = bench.context.Allocate(bench.device, i64, {4096}, "memory");
  kdl_array slots = memory.array();
  slots.view.size[0] = 2;
  MoveBy(&slots, 4094 * 8);
  const auto launch = [&](const char* kernel, const kdl_array& array, kdl_buffer* workspace) {
    const kdl_arg arg = {&array, 0, 0, {}};
    return kdl_launch_kernel(bench.queue.get(), Find(bench, kernel), 2, &arg, 1, workspace, nullptr,
                             0, nullptr);
  };
  // A kernel that needs no workspace is rejected, too, because the need for a workspace differs between
  // targets.
  for (const char* kernel : {"slices", "mark"}) {
    CHECK(RefusalOf(launch(kernel, slots, memory.array().buffer)) ==
          "launch of '" + std::string(kernel) + "': its workspace, 'memory' on " +
              bench.device.uri() +
              ", shares memory with the tensor for y[N]; it must use memory of its own");
  }
  const Tensor apart = bench.context.Allocate(bench.device, i64, {2}, "apart");
  Check(launch("mark", apart.array(), memory.array().buffer));
  bench.queue.Wait();
}

CONFORMANCE_TEST(ContextsDoNotMix) {
  const auto same = [&](const DeviceUnderTest& device) { return device.spec == bench.spec; };
  const std::vector<DeviceUnderTest>& devices = DevicesUnderTest();
  const Bench other(*std::find_if(devices.begin(), devices.end(), same));
  const Tensor x = bench.Upload<float>({1, 2}, "x");
  const Tensor y = other.Upload<float>({1, 2}, "y");
  CHECK(RefusalOf(LaunchSaxpy(bench, y.array(), x.array())) ==
        "launch of 'saxpy': the tensor for x[N] is 'y' on " + bench.device.uri() +
            ", which belongs to another context than the queue");
  const Tensor marks = bench.Upload<std::int64_t>({0}, "marks");
  const kdl_arg arg = Argument(marks).get();
  CHECK(RefusalOf(kdl_launch_kernel(bench.queue.get(), Find(other, "mark"), 1, &arg, 1, nullptr,
                                    nullptr, 0, nullptr)) ==
        "launch of 'mark': the kernel belongs to another context than the queue");
  CHECK(RefusalOf(kdl_launch_kernel(bench.queue.get(), Find(bench, "mark"), 1, &arg, 1,
                                    y.array().buffer, nullptr, 0, nullptr)) ==
        "launch of 'mark': its workspace, 'y' on " + bench.device.uri() +
            ", belongs to another context than the queue");
  CHECK(RefusalOf(
            kdl_copy(bench.queue.get(), &x.array(), &y.array(), nullptr, nullptr, 0, nullptr)) ==
        "'y' on " + bench.device.uri() + " belongs to another context than the queue");
  const Event event = other.queue.Call([] {});
  kdl_event* const after[] = {event.get()};
  CHECK(RefusalOf(kdl_host_call(bench.queue.get(), nullptr, nullptr, nullptr, after, 1, nullptr)) ==
        "the queue on " + bench.device.uri() + " cannot wait for an event of another context");
  event.Wait();
}

}  // namespace
}  // namespace kdl::conformance
