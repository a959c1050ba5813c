#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "driver/run/executor.h"
#include "ir_text.h"
#include "kdl/kernel_abi.h"
#include "kdl/runtime.h"
#include "tools/loading/reference_device.h"

namespace kdl::tools {

namespace {

constexpr const char* kModule = R"(module "m"
device @ref = "reference"

kernel @scale.f32 types(T = f32) dims(%N) (%a: f32, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  axis i = N by 4
  %0 = const 0 : i64
  spmd (%i: block<i> in %0 .. %N) {distribute = static} {
    %t = load %x[%i] {bounds = clip} : tile<f32; i>
    %u = mul %t, %a : tile<f32; i>
    store %u to %y[%i] {bounds = clip}
    yield
  }
  return
}

kernel @pick dims(%N) (%n: i64, %x: tensor<f32,[N]> inout) {
  %v = load %x[%n] {bounds = guard, text = "x[n]"} : f32 loc("m.kdl":12:5+4)
  store %v to %x[0] {bounds = proven}
  return
}

program @p dims(%N) (%n: i64, %x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out) {
  %two = const 2.0 : f32
  %0 = launch @scale.f32 on @ref queue 0 (%two, %x, %y) after() : event
  %1 = launch @pick on @ref queue 0 (%n, %y) after(%0) : event
  return
}
)";

/// The image that the compiler generates for the two kernels.
struct ReferenceImage {
  kdl_param_desc params[5] = {};
  const char* dims[1] = {"N"};
  kdl_variant variants[2] = {};
  kdl_kernel kernels[2] = {};
  kdl_image image = {};

  explicit ReferenceImage(const std::string& payload) {
    Describe(0, "a", false, KDL_IN, KDL_F32);
    Describe(1, "x", true, KDL_IN, KDL_F32);
    Describe(2, "y", true, KDL_OUT, KDL_F32);
    Describe(3, "n", false, KDL_IN, KDL_I64);
    Describe(4, "x", true, KDL_INOUT, KDL_F32);
    for (kdl_variant& variant : variants) {
      variant.dims = dims;
      variant.dim_count = 1;
      variant.constants = "";
    }
    variants[0].symbol = "scale.f32";
    variants[0].params = params;
    variants[0].param_count = 3;
    variants[1].symbol = "pick";
    variants[1].params = params + 3;
    variants[1].param_count = 2;
    kernels[0] = {"scale", variants, 1, 0};
    kernels[1] = {"pick", variants + 1, 1, 0};
    image = {sizeof(kdl_image),
             KDL_ABI_VERSION,
             KDL_ABI_HASH,
             "m",
             "a test",
             "reference",
             "",
             kernels,
             payload.data(),
             static_cast<int64_t>(payload.size()),
             2,
             0};
  }
  ReferenceImage(const ReferenceImage&) = delete;

  void Describe(size_t n, const char* name, bool is_tensor, uint8_t direction, uint8_t element) {
    params[n].name = name;
    params[n].shape = is_tensor ? "[N]" : "";
    params[n].is_tensor = is_tensor ? 1 : 0;
    params[n].direction = direction;
    params[n].element = element;
    params[n].rank = is_tensor ? 1 : 0;
  }
};

struct Context {
  kdl_context* context = nullptr;
  Context() {
    REQUIRE(driver::StatusOf(kdl_context_create(&context)).ok());
    REQUIRE(AddReferenceDevice(context).ok());
  }
  ~Context() { kdl_context_destroy(context); }

  Result<kdl_device*> Select(const char* spec) const {
    kdl_device* device = nullptr;
    Status status = driver::StatusOf(kdl_select_device(context, spec, &device));
    if (!status.ok()) return status.failure();
    return device;
  }
};

/// Runs the program on the device. Returns the text of the failure, or an empty string on success.
std::string RunProgram(const char* spec, const std::string& payload, std::vector<float>& x,
                       std::vector<float>& y, int64_t n) {
  ir::ReadText read(kModule);
  REQUIRE_MESSAGE(read.module, read.Errors());
  ReferenceImage image(payload);
  Context c;
  Result<kdl_device*> device = c.Select(spec);
  REQUIRE_MESSAGE(device.ok(), device.failure().message);
  REQUIRE(driver::StatusOf(kdl_context_register(c.context, &image.image)).ok());
  driver::Executor executor(c.context, *read.module, {{read.names.Intern("ref"), *device}});
  interp::ProgramArguments arguments;
  for (std::vector<float>* data : {&x, &y}) {
    auto size = static_cast<int64_t>(data->size());
    kdl_array array = {};
    REQUIRE(driver::StatusOf(
                kdl_array_wrap(*device, data->data(), KDL_F32, 1, &size, nullptr, "t", &array))
                .ok());
    arguments.tensors.push_back({executor.Add(array), Scalar::F32, {size}});
  }
  arguments.scalars = {static_cast<uint64_t>(n)};
  Status status = executor.RunProgram(*read.module->functions().back(), arguments);
  return status.ok() ? std::string() : status.failure().message;
}

}  // namespace

TEST_CASE("kernels run from the KIR text of their image") {
  for (const char* spec : {"reference", "reference?seed=0", "reference?seed=9&cores=3"}) {
    std::vector<float> x = {1, 2, 3, 4, 5, 6};
    std::vector<float> y(6);
    CHECK(RunProgram(spec, kModule, x, y, 3) == "");
    CHECK(y == std::vector<float>{8, 4, 6, 8, 10, 12});
  }
}

TEST_CASE("a trap has the same message as on every other device") {
  std::vector<float> x(4);
  std::vector<float> y(4);
  CHECK(RunProgram("reference", kModule, x, y, 4) ==
        "m.kdl:12:5: error: index 4 is outside dimension 0 of size 4 in 'x[n]'");
}

TEST_CASE("a payload that is not KIR is rejected with an error that names the mistake") {
  std::vector<float> x(4);
  std::vector<float> y(4);
  std::string message = RunProgram("reference", "kernel {", x, y, 0);
  CHECK(message.find("the reference image of module 'm' is not KIR: m.kir:1:") !=
        std::string::npos);
  message = RunProgram("reference", "module \"m\"\n", x, y, 0);
  CHECK(message.find("has no kernel 'scale.f32'") != std::string::npos);
}

TEST_CASE("the device reports its properties and rejects what it does not know") {
  Context c;
  Result<kdl_device*> device = c.Select("reference?cores=7");
  REQUIRE(device.ok());
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  REQUIRE(kdl_device_get_facts(*device, &facts) == nullptr);
  CHECK(facts.cores == 7);
  CHECK(facts.exact == 1);
  CHECK(std::string(facts.image_kind) == "reference");
  auto refusal = [&](const char* spec) {
    Result<kdl_device*> selected = c.Select(spec);
    return selected.ok() ? std::string() : selected.failure().message;
  };
  CHECK(refusal("reference[1]").find("there is no reference[1], only reference") !=
        std::string::npos);
  CHECK(
      refusal("reference?threads=2")
          .find(
              "no option 'threads'; it has 'sanitize', 'seed', 'cores', 'features' and 'locate'") !=
      std::string::npos);
  CHECK(refusal("reference?cores=0").find("cores=0 is not an integer from 1 to") !=
        std::string::npos);
  CHECK(refusal("reference?seed=x").find("seed=x is not an integer") != std::string::npos);
  CHECK(refusal("reference?locate=all").find("locate=all is unknown; use errors or not-finite") !=
        std::string::npos);
}

}  // namespace kdl::tools
