// Tests the checks that a launch makes before it has any effect, and their messages. Also tests the selection
// of devices and kernels.
#include <cstddef>
#include <cstring>

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "kdl/version.h"

namespace kdl::conformance {
namespace {

// Returns the error message of a launch that must be rejected as the caller's mistake.
std::string Refusal(const Bench& bench, const char* kernel, std::initializer_list<Argument> args) {
  std::string message;
  const std::int64_t launches = bench.device.statistics().launches;
  CHECK(CodeOf([&] { bench.queue.Launch(kernel, 2, args); }, &message) ==
        KDL_ERROR_INVALID_ARGUMENT);
  CHECK(bench.device.statistics().launches == launches);
  return message;
}

Tensor Make(const Bench& bench, Element element, std::vector<std::int64_t> sizes,
            const char* name) {
  return bench.context.Allocate(bench.device, element, sizes, name);
}

CONFORMANCE_TEST(SizesMustAgree) {
  const Tensor a = Make(bench, f32, {3, 65}, "left");
  const Tensor b = Make(bench, f32, {64, 5}, "right");
  const Tensor c = Make(bench, f32, {3, 5}, "product");
  CHECK(Refusal(bench, "matmul", {a, b, c}) ==
        "launch of 'matmul': size K is 65 from a[M, K] dimension 1, but b[K, N] dimension 0 is 64");
}

CONFORMANCE_TEST(ArgumentsMustFitTheParameters) {
  const Tensor x = Make(bench, f32, {4}, "x");
  const Tensor y = Make(bench, f32, {4}, "y");
  const Tensor matrix = Make(bench, f32, {4, 4}, "m");
  const Tensor ints = Make(bench, i32, {4}, "n");
  CHECK(Refusal(bench, "saxpy", {x, y}) ==
        "launch of 'saxpy': 2 arguments are given, but it has 3: a, x and y");
  CHECK(Refusal(bench, "saxpy", {1.0f, x, matrix}) ==
        "launch of 'saxpy': parameter y: f32[N] has 1 dimension, but the tensor given, f32[4, 4], "
        "has 2");
  CHECK(Refusal(bench, "saxpy", {x, x, y}) ==
        "launch of 'saxpy': parameter a: f32 is a scalar, but a tensor (f32[4]) is given");
  CHECK(Refusal(bench, "saxpy", {1.0f, 2.0f, y}) ==
        "launch of 'saxpy': parameter x: f32[N] is a tensor, but a scalar (f32) is given");
  CHECK(Refusal(bench, "saxpy", {1.0f, x, ints}) ==
        "launch of 'saxpy': no variant accepts (a: f32, x: f32[4], y: i32[4]); there are "
        "(a: f32, x: f32[N], y: f32[N]) with T=f32; (a: f64, x: f64[N], y: f64[N]) with T=f64");
  CHECK(Refusal(bench, "matmul", {matrix, matrix, ints}) ==
        "launch of 'matmul': parameter c: f32[M, N] has 2 dimensions, but the tensor given, "
        "i32[4], has 1");
  CHECK(Refusal(bench, "mark", {ints}) ==
        "launch of 'mark': parameter y: i64[N] needs i64, but i32[4] is given");
}

CONFORMANCE_TEST(VariantsArePickedByType) {
  const Tensor x = bench.Upload<double>({1, 2}, "x");
  const Tensor y = bench.Upload<double>({10, 20}, "y");
  bench.queue.Launch("saxpy", 1, {0.1, x, y}).Wait();
  CHECK(Bench::Download<double>(y)[0] == 10.1);
}

CONFORMANCE_TEST(ConstantSizesMustFit) {
  const Tensor x = Make(bench, i32, {7, 5}, "x");
  const Tensor y = Make(bench, i32, {7}, "y");
  CHECK(Refusal(bench, "quads", {x, y}) ==
        "launch of 'quads': dimension 1 of x[N, 4] is 4, but the tensor given is i32[7, 5]");
}

CONFORMANCE_TEST(TheKernelsOwnChecksRunFirst) {
  const Tensor x = bench.Upload<std::int32_t>({1, 2, 3, 4}, "x");
  const Tensor y = bench.Upload<std::int32_t>({0, 0}, "y");
  bench.queue.Launch("halve", 1, {x, y}).Wait();
  CHECK(Bench::Download<std::int32_t>(y) == std::vector<std::int32_t>{3, 7});
  const Tensor odd = Make(bench, i32, {5}, "x");
  std::string message;
  CHECK(CodeOf([&] { bench.queue.Launch("halve", 1, {odd, y}); }, &message) == KDL_ERROR_TRAP);
  CHECK(message == "suite.kdl:7:11: error: 'C == 2 * G' does not hold: 5 against 4");
}

CONFORMANCE_TEST(TensorsMustLiveOnTheDevice) {
  const Tensor x = bench.context.Allocate(bench.sibling(), f32, {4}, "weights");
  const Tensor y = Make(bench, f32, {4}, "y");
  if (bench.device.facts().host_visible != 0) {  // the device shares memory with the host
    bench.queue.Fill(x, 2.0f);
    bench.queue.Fill(y, 1.0f);
    bench.queue.Launch("saxpy", 1, {3.0f, x, y}).Wait();
    CHECK(Bench::Download<float>(y) == std::vector<float>(4, 7.0f));
    return;
  }
  CHECK(Refusal(bench, "saxpy", {1.0f, x, y}) ==
        "launch of 'saxpy': the tensor for x[N] is 'weights' on " + bench.sibling().uri() +
            ", but the launch is on " + bench.device.uri() + "; copy it there first");
}

CONFORMANCE_TEST(WrittenTensorsOverlapNothing) {
  const Tensor memory = Make(bench, f32, {100}, "memory");
  const auto part = [&](std::int64_t at, std::int64_t size) {
    kdl_array array = memory.array();
    array.view.size[0] = size;
    array.view.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(array.view.data) +
                                              static_cast<std::uintptr_t>(at) * 4);
    return array;
  };
  const kdl_function* saxpy = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "saxpy", &saxpy));
  const auto launch = [&](const kdl_array& x, const kdl_array& y, std::string* message) {
    const kdl_arg args[] = {Argument(1.0f).get(), {&x, 0, 0, {}}, {&y, 0, 0, {}}};
    return CodeOf(
        [&] {
          Check(kdl_launch_kernel(bench.queue.get(), saxpy, 1, args, 3, nullptr, nullptr, 0,
                                  nullptr));
        },
        message);
  };
  std::string message;
  CHECK(launch(part(0, 50), part(49, 50), &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message ==
        "launch of 'saxpy': the tensors for y[N] and x[N] share memory, but y is inout; a written "
        "tensor must not overlap another parameter");
  CHECK(launch(part(0, 50), part(50, 50), &message) == KDL_OK);
  CHECK(launch(part(50, 50), part(0, 50), &message) == KDL_OK);
  CHECK(launch(part(10, 0), part(10, 0), &message) == KDL_OK);
  CHECK(launch(part(60, 50), part(0, 50), &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("it needs 200") != std::string::npos);
  bench.queue.Wait();
}

CONFORMANCE_TEST(ColumnsOfOneMatrixDoNotOverlap) {
  const Tensor memory = bench.Upload<float>({1, 2, 0, 3, 4, 0, 5, 6, 0}, {3, 3}, "memory");
  kdl_array x = memory.array();
  x.view.size[1] = 2;
  kdl_array y = memory.array();
  y.view.rank = 2;
  y.view.size[1] = 1;
  y.view.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(y.view.data) + 8);
  const Tensor b = bench.Upload<float>({1, 1}, {2, 1}, "b");
  const kdl_arg args[] = {{&x, 0, 0, {}}, Argument(b).get(), {&y, 0, 0, {}}};
  const kdl_function* matmul = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "matmul", &matmul));
  Check(kdl_launch_kernel(bench.queue.get(), matmul, 2, args, 3, nullptr, nullptr, 0, nullptr));
  bench.queue.Wait();
  CHECK(Bench::Download<float>(memory) == std::vector<float>{1, 2, 3, 3, 4, 7, 5, 6, 11});
}

CONFORMANCE_TEST(StridesAreChecked) {
  const Tensor memory = Make(bench, f32, {100}, "memory");
  const Tensor a = Make(bench, f32, {5, 5}, "a");
  const kdl_function* matmul = nullptr;
  Check(kdl_context_find_kernel(bench.context.get(), "matmul", &matmul));
  const auto launch = [&](std::int64_t outer, std::int64_t inner) {
    kdl_array c = memory.array();
    c.view.rank = 2;
    c.view.size[0] = c.view.size[1] = 5;
    c.view.stride[0] = outer;
    c.view.stride[1] = inner;
    const kdl_arg args[] = {Argument(a).get(), Argument(a).get(), {&c, 0, 0, {}}};
    std::string message;
    CodeOf(
        [&] {
          Check(kdl_launch_kernel(bench.queue.get(), matmul, 1, args, 3, nullptr, nullptr, 0,
                                  nullptr));
        },
        &message);
    return message;
  };
  CHECK(launch(1, 5) ==
        "launch of 'matmul': the tensor for c[M, N] has stride 5 in its last dimension, which must "
        "be 1; pass a row-major copy");
  CHECK(launch(4, 1) ==
        "launch of 'matmul': the tensor for c[M, N], which is written, has elements that share "
        "memory; its strides must keep all elements apart");
  CHECK(launch(0, 1).find("share memory") != std::string::npos);
  CHECK(launch(-5, 1).find("strides are 0 or more") != std::string::npos);
  CHECK(launch(20, 1) == "");
  bench.queue.Wait();
}

CONFORMANCE_TEST(KernelsAreFoundByName) {
  const Tensor y = bench.Upload<float>({1}, "y");
  const Tensor x = bench.Upload<float>({1}, "x");
  const auto code = [&](const char* name, std::string* message) {
    return CodeOf([&] { bench.queue.Launch(name, 1, {1.0f, x, y}); }, message);
  };
  std::string message;
  CHECK(code("suite.saxpy", &message) == KDL_OK);
  CHECK(code("saxpy<T=f32>", &message) == KDL_OK);
  CHECK(code("suite.saxpy<T=f64>", &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(code("saxpy<T=f16>", &message) == KDL_ERROR_NOT_FOUND);
  CHECK(message.find("the variants have T=f32 and T=f64") != std::string::npos);
  CHECK(code("saxpi", &message) == KDL_ERROR_NOT_FOUND);
  CHECK(message == "unknown kernel 'saxpi'; did you mean 'saxpy'?");
  CHECK(code("other.saxpy", &message) == KDL_ERROR_NOT_FOUND);
  bench.queue.Wait();
  CHECK(Bench::Download<float>(y) == std::vector<float>{3});
}

CONFORMANCE_TEST(KernelsOfOneNameNeedTheirModule) {
  kdl_image other = *kImages[0];
  other.module = "other";
  Check(kdl_context_register(bench.context.get(), &other));
  const Tensor y = bench.Upload<std::int64_t>({0}, "y");
  std::string message;
  CHECK(CodeOf([&] { bench.queue.Launch("mark", 1, {y}); }, &message) ==
        KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "kernel 'mark' is in several modules; write one of other.mark and suite.mark");
  bench.queue.Launch("suite.mark", 1, {y}).Wait();
}

CONFORMANCE_TEST(ModulesHaveAnyNameOfAFile) {
  const std::vector<const char*> modules = {"a<b", "c#d", "<e>.f", "g#h#0123cdef"};
  std::vector<kdl_image> images(modules.size(), *kImages[0]);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    images[i].module = modules[i];
    Check(kdl_context_register(bench.context.get(), &images[i]));
  }
  const auto is_found = [&](const char* name) {
    const kdl_function* function = nullptr;
    kdl_error_free(kdl_context_find_kernel(bench.context.get(), name, &function));
    return function != nullptr;
  };
  for (const char* name : {"a<b.mark", "a<b.saxpy<T=f32>", "c#d.mark", "<e>.f.saxpy<T=f32>",
                           "g#h.mark", "g#h#0123cdef.saxpy<T=f32>"})
    CHECK_MESSAGE(is_found(name), name);
  for (const char* name : {"a.mark", "c.mark", "g.mark", "f.mark"})
    CHECK_MESSAGE(!is_found(name), name);
}

CONFORMANCE_TEST(StaleImagesAreRefused) {
  // If an image has an unsupported version, the fields after the compiler's name must not be read.
  for (const bool is_old : {false, true}) {
    alignas(kdl_image) char stale[sizeof(kdl_image)];
    std::memset(stale, 0xff, sizeof stale);
    kdl_image start = {};
    start.size = 48;
    start.version = KDL_ABI_VERSION + (is_old ? 1 : 0);
    start.abi_hash = is_old ? KDL_ABI_HASH : 0x1234;
    start.module = "stale#12345678";
    start.compiler = "kernelc 7.8.9";
    std::memcpy(stale, &start, offsetof(kdl_image, compiler) + sizeof start.compiler);
    kdl_error* error =
        kdl_context_register(bench.context.get(), reinterpret_cast<const kdl_image*>(stale));
    CHECK(kdl_error_code(error) == KDL_ERROR_INVALID_ARGUMENT);
    const std::string message = kdl_error_message(error);
    const std::string abi = std::to_string(start.version) + (is_old ? "." : ".1234,");
    CHECK(message.starts_with("module 'stale' was compiled by kernelc 7.8.9 for ABI " + abi));
    CHECK(message.find("but the runtime of kernelc " KDL_VERSION) != std::string::npos);
    kdl_error_free(error);
  }
  kdl_image twin = *kImages[0];
  Check(kdl_context_register(bench.context.get(), kImages[0]));
  kdl_error* error = kdl_context_register(bench.context.get(), &twin);
  CHECK(kdl_error_code(error) == KDL_ERROR_INVALID_ARGUMENT);
  kdl_error_free(error);
}

CONFORMANCE_TEST(TheSameSpecIsTheSameDevice) {
  CHECK(bench.context.Select(bench.spec.c_str()) == bench.device);
  CHECK(bench.context.Select(("nowhere," + bench.spec).c_str()) == bench.device);
  CHECK(bench.device.queue(3).get() == bench.device.queue(3).get());
  CHECK(bench.device.queue(3).get() != bench.device.queue(4).get());
  std::string message;
  CHECK(CodeOf([&] { bench.device.queue(64); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "queue 64 of " + bench.device.uri() + " does not exist; queues go from 0 to 63");
  CHECK(CodeOf([&] { bench.device.queue(-1); }) == KDL_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kdl::conformance
