#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/run/executor.h"
#include "ir_text.h"
#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"

namespace kdl::driver {

namespace {

// Two kernels, written by hand in the form that the compiler produces. One computes y = a * x, and the other
// traps.

int32_t Scale(const kdl_args* args, kdl_core* core) {
  float a = 0;
  auto bits = static_cast<uint32_t>(args->scalars[0]);
  std::memcpy(&a, &bits, sizeof a);
  const auto* x = static_cast<const float*>(args->tensors[0].data);
  auto* y = static_cast<float*>(args->tensors[1].data);
  for (int64_t n = core->core_id; n < args->dims[0]; n += core->core_num) y[n] = a * x[n];
  return KDL_DONE;
}

int32_t Stop(const kdl_args* args, kdl_core* core) {
  core->trap = {.code = KDL_TRAP_INDEX,
                .location = 0,
                .index = static_cast<int64_t>(args->scalars[0]),
                .bound = args->dims[0],
                .waits = {}};
  return KDL_TRAPPED;
}

kdl_param_desc ScalarParam(const char* name, uint8_t element) {
  kdl_param_desc desc = {};
  desc.name = name;
  desc.shape = "";
  desc.element = element;
  return desc;
}

kdl_param_desc VectorParam(const char* name, uint8_t direction) {
  kdl_param_desc desc = {};
  desc.name = name;
  desc.shape = "[N]";
  desc.is_tensor = 1;
  desc.direction = direction;
  desc.element = KDL_F32;
  desc.rank = 1;
  return desc;
}

/// An image of module `m`. It must not move, because its parts point to each other.
struct HandMadeImage {
  kdl_param_desc scale_params[3] = {ScalarParam("a", KDL_F32), VectorParam("x", KDL_IN),
                                    VectorParam("y", KDL_OUT)};
  kdl_param_desc stop_params[2] = {ScalarParam("at", KDL_I64), VectorParam("x", KDL_INOUT)};
  const char* dims[1] = {"N"};
  kdl_location location = {"m.kdl", "x[at]", 7, 5, KDL_TRAP_INDEX, 0, 0, 0};
  kdl_variant variants[3] = {};
  kdl_kernel kernels[2] = {};
  kdl_image image = {};

  explicit HandMadeImage(const char* arch) {
    for (kdl_variant& variant : variants) {
      variant.dims = dims;
      variant.dim_count = 1;
      variant.symbol = "";
    }
    variants[0].entry = &Scale;
    variants[0].constants = "BM=32";
    variants[0].params = scale_params;
    variants[0].param_count = 3;
    variants[1] = variants[0];
    variants[1].constants = "BM=64";
    variants[1].footprint_bytes = 200;
    variants[2].entry = &Stop;
    variants[2].constants = "";
    variants[2].params = stop_params;
    variants[2].param_count = 2;
    variants[2].locations = &location;
    variants[2].location_count = 1;
    kernels[0] = {"scale", variants, 2, 0};
    kernels[1] = {"stop", variants + 2, 1, 0};
    image = {sizeof(kdl_image),
             KDL_ABI_VERSION,
             KDL_ABI_HASH,
             "m",
             "a test",
             "host",
             arch,
             kernels,
             nullptr,
             0,
             2,
             0};
  }
  HandMadeImage(const HandMadeImage&) = delete;
};

constexpr const char* kKernels = R"(module "m"

kernel @scale.f32 generics(BM = 32 | 64) dims(%N) (%a: f32, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  return
}

kernel @stop dims(%N) (%at: i64, %x: tensor<f32,[N]> inout) {
  return
}
)";

/// A program that uses the hand-written kernels, with its context and two devices.
struct Run {
  ir::ReadText read;
  kdl_context* context = nullptr;
  kdl_device* host = nullptr;
  kdl_device* global = nullptr;  ///< has its own memory
  HandMadeImage image;
  std::optional<Executor> executor;
  interp::ProgramArguments arguments;

  explicit Run(const std::string& program)
      : read(std::string(kKernels) + program),
        context(MakeContext()),
        host(Select("host")),
        global(Select("debug")),
        image(ArchOf(host)) {
    REQUIRE_MESSAGE(read.module, read.Errors());
    REQUIRE(StatusOf(kdl_context_register(context, &image.image)).ok());
    executor.emplace(context, *read.module,
                     std::map<Name, kdl_device*>{{read.names.Intern("cpu"), host},
                                                 {read.names.Intern("npu"), global}});
  }
  ~Run() {
    executor.reset();
    kdl_context_destroy(context);
  }
  static kdl_context* MakeContext() {
    kdl_context* made = nullptr;
    REQUIRE(StatusOf(kdl_context_create(&made)).ok());
    return made;
  }
  kdl_device* Select(const char* spec) const {
    kdl_device* device = nullptr;
    Status status = StatusOf(kdl_select_device(context, spec, &device));
    REQUIRE_MESSAGE(status.ok(), status.failure().message);
    return device;
  }
  static const char* ArchOf(kdl_device* device) {
    kdl_device_facts facts = {};
    facts.size = sizeof facts;
    REQUIRE(kdl_device_get_facts(device, &facts) == nullptr);
    return facts.arch;
  }
  void AddTensor(std::vector<float>& data) {
    auto size = static_cast<int64_t>(data.size());
    kdl_array array = {};
    REQUIRE(
        StatusOf(kdl_array_wrap(host, data.data(), KDL_F32, 1, &size, nullptr, "t", &array)).ok());
    arguments.tensors.push_back({executor->Add(array), Scalar::F32, {size}});
  }
  Status Go() { return executor->RunProgram(*read.module->functions().back(), arguments); }
  kdl_statistics StatisticsOf(kdl_device* device) const {
    kdl_statistics statistics = {};
    kdl_device_get_statistics(device, &statistics);
    return statistics;
  }
};

}  // namespace

TEST_CASE("launches and local tensors become calls of the runtime") {
  Run run(R"(
program @p dims(%N) (%cores: i64, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %h = alloc "h" on @cpu : tensor<f32,[N]>
  %0 = launch @scale.f32 on @cpu queue 0 cores(%cores) (%two, %x, %h) after() : event
  %1 = launch @scale.f32 on @cpu queue 1 (%two, %h, %y) after(%0) {constants = "BM=64"} : event
  free %h after(%1)
  return
}
)");
  std::vector<float> x = {1, 2, 3, 4, 5};
  std::vector<float> y(5);
  run.AddTensor(x);
  run.AddTensor(y);
  run.arguments.scalars = {3};
  Status status = run.Go();
  REQUIRE_MESSAGE(status.ok(), status.failure().message);
  CHECK(y == std::vector<float>{4, 8, 12, 16, 20});
  CHECK(run.StatisticsOf(run.host).launches == 2);
  CHECK(run.StatisticsOf(run.host).bytes_in_use == 0);
}

TEST_CASE("a transfer only moves tensors that are elsewhere") {
  Run run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %h = alloc "h" on @npu : tensor<f32,[N]>
  %x1, %0 = transfer %x to @npu queue 0 after() {cause = "scale (p.kdl:3) reads x on npu"} : tensor<f32,[N]>, event
  %1 = launch @scale.f32 on @npu queue 1 (%two, %x1, %h) after(%0) : event
  %h1, %2 = transfer %h to @npu queue 0 after(%0, %1) {cause = "unused"} : tensor<f32,[N]>, event
  %h2, %3 = transfer %h1 to @cpu queue 0 after(%2) {cause = "scale (p.kdl:4) reads h on cpu"} : tensor<f32,[N]>, event
  %4 = launch @scale.f32 on @cpu queue 0 (%two, %h2, %y) after(%3) : event
  free %h after(%1)
  free %h1 after(%3)
  free %h2 after(%4)
  free %x1 after(%1)
  return
}
)");
  std::vector<float> x = {1, 2, 3};
  std::vector<float> y(3);
  run.AddTensor(x);
  run.AddTensor(y);
  Status status = run.Go();
  REQUIRE_MESSAGE(status.ok(), status.failure().message);
  CHECK(y == std::vector<float>{4, 8, 12});
  kdl_transfer transfers[4] = {};
  REQUIRE(kdl_context_get_transfers(run.context, transfers, 4) == 2);
  CHECK(std::string(transfers[0].from) == "debug");
  CHECK(std::string(transfers[1].cause) == "scale (p.kdl:3) reads x on npu");
  CHECK(transfers[1].bytes == 12);
  CHECK(run.StatisticsOf(run.global).bytes_in_use == 0);
}

TEST_CASE("a workspace is only allocated when its launches need more memory") {
  Run run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out, %turns: i64) {
  %same = workspace on @npu {name = "scale: q"} : workspace
  %grows = workspace on @npu {name = "scale: r"} : workspace
  %0 = const 0 : i64
  %1 = const 1 : i64
  %two = const 2.0 : f32
  %g = alloc "g" on @npu : tensor<f32,[N]>
  %h = alloc "h" on @npu : tensor<f32,[N]>
  %k = alloc "k" on @npu : tensor<f32,[N]>
  %f = footprint @scale.f32 on @npu {constants = "BM=64"} : i64
  loop %t in %0 .. %turns step %1 {
    %n = instances on @npu : i64
    reserve %same, %n * %f
    %e = launch @scale.f32 on @npu queue 0 workspace(%same) (%two, %g, %h) after() {constants = "BM=64"} : event
    %c = add %t, %1 : i64
    %n.1 = instances on @npu cores(%c) : i64
    reserve %grows, %n.1 * %f
    %e.1 = launch @scale.f32 on @npu queue 1 cores(%c) workspace(%grows) (%two, %g, %k) after() {constants = "BM=64"} : event
    yield
  }
  return
}
)");
  std::vector<float> x(5);
  std::vector<float> y(5);
  run.AddTensor(x);
  run.AddTensor(y);
  run.arguments.scalars = {100};
  Status status = run.Go();
  REQUIRE_MESSAGE(status.ok(), status.failure().message);
  kdl_statistics statistics = run.StatisticsOf(run.global);
  CHECK(statistics.launches == 200);
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  REQUIRE(kdl_device_get_facts(run.global, &facts) == nullptr);
  // There are 3 tensors, a workspace, and a workspace that grows from 1 slice to one for each resident core.
  CHECK(statistics.allocations == 3 + 1 + facts.resident);
}

TEST_CASE("a workspace of 2^63 bytes is an error") {
  Run run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %w = workspace on @npu {name = "scale: q"} : workspace
  %n = const 9223372036854775807 : i64
  %f = const 256 : i64
  reserve %w, %n * %f loc("p.kdl":4:5+9)
  return
}
)");
  std::vector<float> x(5);
  std::vector<float> y(5);
  run.AddTensor(x);
  run.AddTensor(y);
  Status status = run.Go();
  REQUIRE(!status.ok());
  CHECK(status.failure().kind == FailureKind::User);
  CHECK(status.failure().message ==
        "p.kdl:4:5: error: workspace 'scale: q': 9223372036854775807 instances of 256 bytes each "
        "are 2^63 bytes or more");
}

TEST_CASE("a trap is reported at the end, with the earliest cause") {
  Run run(R"(
program @p dims(%N) (%x: tensor<f32,[N]> inout, %y: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %9 = const 9 : i64
  %0 = launch @stop on @cpu queue 0 (%9, %x) after() : event
  %1 = launch @scale.f32 on @cpu queue 1 (%two, %x, %y) after(%0) : event
  return
}
)");
  std::vector<float> x(3);
  std::vector<float> y(3, 1.0F);
  run.AddTensor(x);
  run.AddTensor(y);
  Status status = run.Go();
  REQUIRE(!status.ok());
  CHECK(status.failure().message ==
        "m.kdl:7:5: error: index 9 is outside dimension 0 of size 3 in 'x[at]'");
  CHECK(status.failure().kind == FailureKind::User);
  CHECK(y[0] == 1.0F);
}

TEST_CASE("errors of a launch are reported with their location") {
  constexpr const char* kLaunch = R"(
program @p dims(%N, %M) (%cores: i64, %x: tensor<f32,[N]> in, %y: tensor<f32,[M]> out) {
  %two = const 2.0 : f32
  %0 = launch @scale.f32 on @DEVICE queue 0 cores(%cores) (%two, %x, %y) after() : event loc("p.kdl":4:3+5)
  return
}
)";
  auto failure_on = [&](const char* device, int64_t cores, size_t y_size) {
    std::string text = kLaunch;
    text.replace(text.find("DEVICE"), 6, device);
    Run run(text);
    std::vector<float> x(3);
    std::vector<float> y(y_size);
    run.AddTensor(x);
    run.AddTensor(y);
    run.arguments.scalars = {static_cast<uint64_t>(cores)};
    Status status = run.Go();
    return status.ok() ? std::string() : status.failure().message;
  };
  CHECK(failure_on("cpu", 1, 3).empty());
  CHECK(failure_on("cpu", 0, 3) ==
        "p.kdl:4:3: error: launch of 'm.scale': core_num is 0; a launch runs on 1 core or more");
  CHECK(failure_on("cpu", INT64_MIN, 3).find("core_num is -9223372036854775808") !=
        std::string::npos);
  CHECK(failure_on("cpu", 1, 4) ==
        "p.kdl:4:3: error: launch of 'm.scale': size N is 3 from x[N] dimension 0, but y[N] "
        "dimension 0 is 4");
  CHECK(failure_on("npu", 1, 3).find("copy it there first") != std::string::npos);
  CHECK(failure_on("dsp", 1, 3) ==
        "p.kdl:4:3: error: device 'dsp' is not bound; bind it with --device "
        "dsp=SPEC, for example "
        "--device dsp=host");
}

TEST_CASE("a kernel is named with its types only if the arguments do not determine them") {
  // All instances of this kernel accept the same arguments. The image has no variant for T = f64, and the
  // launch must report that.
  Run run(R"(
kernel @scale.f64 types(T = f64) dims(%N) (%a: f32, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  return
}

program @p dims(%N) (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %0 = launch @scale.f64 on @cpu queue 0 (%two, %x, %y) after() : event
  return
}
)");
  std::vector<float> x(3);
  std::vector<float> y(3);
  run.AddTensor(x);
  run.AddTensor(y);
  Status status = run.Go();
  REQUIRE(!status.ok());
  CHECK(status.failure().message.find("scale<T=f64>") != std::string::npos);
}

}  // namespace kdl::driver
