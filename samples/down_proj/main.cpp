// Runs the down projection of one block of a 7-billion-parameter model for 64 tokens on the host, and checks
// it against float64.
#include "../include/sample_check.h"
#include "down_proj.h"
#include "kdl/runtime.hpp"

namespace {

constexpr std::int64_t kTokens = 64;
constexpr std::int64_t kFeatures = 11008;
constexpr std::int64_t kModel = 4096;

}  // namespace

int main() {
  auto x = sample::Draw<sample::Bf16>(kTokens * kFeatures, 1);
  auto w = sample::Draw<sample::Bf16>(kFeatures * kModel, 2);
  auto residual = sample::Draw<float>(kTokens * kModel, 3);
  std::vector<float> y(kTokens * kModel);

  kdl::Context context;
  context.Register(kdl_images_down_proj);
  const kdl::Device host = context.Select("host");
  down_proj::down_proj(host.queue(), host.cores(),
                       context.Wrap(host, x.data(), kdl::bf16, {kTokens, kFeatures}),
                       context.Wrap(host, w.data(), kdl::bf16, {kFeatures, kModel}),
                       context.Wrap(host, residual.data(), {kTokens, kModel}),
                       context.Wrap(host, y.data(), {kTokens, kModel}));

  const double worst = sample::WorstError(x, w, residual, y, kFeatures, kModel);
  std::printf("%lld x %lld x %lld: %s\n", static_cast<long long>(kTokens),
              static_cast<long long>(kModel), static_cast<long long>(kFeatures),
              worst <= 1 ? "every element within its bound" : "WRONG");
  return worst <= 1 ? 0 : 1;
}
