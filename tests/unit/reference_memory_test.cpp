// Makes each allocation of a program on the reference device fail in turn.
#include "failing_memory.h"
#include "kdl/kernel_abi.h"
#include "tools/loading/reference_device.h"

namespace {

constexpr char kText[] = R"(module "memory"
kernel @double dims(%N) (%x: tensor<f32,[N]> inout) {
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %N step %num {
    %v = load %x[%i] {bounds = proven} : f32
    %w = add %v, %v : f32
    store %w to %x[%i] {bounds = proven}
    yield
  }
  return
}
)";
constexpr kdl_param_desc kParams[] = {{"x", "[N]", 1, KDL_INOUT, KDL_F32, 0, 1, {0}, {}}};
constexpr const char* kDims[] = {"N"};
constexpr kdl_variant kVariant = [] {
  kdl_variant variant = {};
  variant.symbol = "double";
  variant.constants = "";
  variant.params = kParams;
  variant.dims = kDims;
  variant.param_count = 1;
  variant.dim_count = 1;
  return variant;
}();
constexpr kdl_kernel kKernel = {"double", &kVariant, 1, 0};
const kdl_image kImage = {
    sizeof(kdl_image), KDL_ABI_VERSION, KDL_ABI_HASH,     "memory", "the test", "reference", "",
    &kKernel,          kText,           sizeof kText - 1, 1,        0};

TEST_CASE("memory: every allocation of the reference device fails in turn") {
  FailEachAllocation({"reference", [](kdl_context* context) {
                        const NoFailures pause;  // while kernelc itself starts, nothing fails
                        REQUIRE(kdl::tools::AddReferenceDevice(context).ok());
                        return kdl_context_register(context, &kImage);
                      }});
}

}  // namespace
