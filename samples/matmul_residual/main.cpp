// Calls the program of matmul_residual.kdl on different numbers of cores, and checks every element against
// float64.
#include <cstring>

#include "../include/sample_check.h"
#include "kdl/runtime.hpp"
#include "matmul_residual.h"

namespace {

constexpr std::int64_t kM = 500;
constexpr std::int64_t kK = 700;
constexpr std::int64_t kN = 300;

}  // namespace

int main() {
  auto a = sample::Draw<sample::Bf16>(kM * kK, 1);
  auto b = sample::Draw<sample::Bf16>(kK * kN, 2);
  auto res = sample::Draw<float>(kM * kN, 3);
  std::vector<float> first;

  kdl::Context context;
  context.Register(kdl_images_matmul_residual);
  const kdl::Device host = context.Select("host");
  // There are 40 blocks of 64 x 64, so with 1000 cores most cores have nothing to do. The program receives
  // the number of cores at run time.
  for (const std::int64_t cores :
       {std::int64_t{1}, std::int64_t{24}, kM / 64, std::int64_t{1000}}) {
    std::vector<float> c(kM * kN);
    matmul_residual::residual(context, context.Wrap(host, a.data(), kdl::bf16, {kM, kK}),
                              context.Wrap(host, b.data(), kdl::bf16, {kK, kN}),
                              context.Wrap(host, res.data(), {kM, kN}),
                              context.Wrap(host, c.data(), {kM, kN}), cores);
    if (first.empty()) first = c;
    const bool same = std::memcmp(first.data(), c.data(), c.size() * sizeof(float)) == 0;
    const bool right = sample::WorstError(a, b, res, c, kK, kN) <= 1;
    std::printf("%4lld cores: %s, bits %s\n", static_cast<long long>(cores),
                right ? "right" : "WRONG", same ? "as on one" : "DIFFER");
    if (!right || !same) return 1;
  }
}
