// Tests kernels in shared objects.
#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

TEST_CASE("Load: kernels of a shared object run like linked kernels") {
  Context context;
  context.Load(KDL_CONFORMANCE_MODULE);
  context.Load(KDL_CONFORMANCE_MODULE);  // loads the same images again, which has no effect
  const Device host = context.Select("host");
  std::vector<std::int64_t> values = {1, 1, 1};
  const Tensor y = context.Wrap(host, values.data(), {3}, "y");
  host.queue().Launch("mark", 3, {y}).Wait();
  CHECK(values == std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("Load: errors name the object that cannot be loaded") {
  Context context;
  std::string message;
  CHECK(CodeOf([&] { context.Load("/nowhere/kernels.so"); }, &message) == KDL_ERROR_NOT_FOUND);
  CHECK(message.find("cannot load kernels from '/nowhere/kernels.so'") == 0);
  CHECK(CodeOf([&] { context.Load("kernels.so"); }, &message) == KDL_ERROR_NOT_FOUND);
  CHECK(message.find("cannot load kernels from 'kernels.so': cannot open") == 0);
  CHECK(CodeOf([&] { context.Load(KDL_EMPTY_MODULE); }, &message) == KDL_ERROR_NOT_FOUND);
  CHECK(message.find("does not define kdl_module_images") != std::string::npos);
}

}  // namespace
}  // namespace kdl::conformance
