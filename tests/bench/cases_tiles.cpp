// Benchmarks of kernels that work inside one tile and change part of it in each iteration, compared with
// plain C++.
#include <cmath>
#include <vector>

#include "array.h"
#include "case.h"
#include "exact.h"
#include "plain_loops.h"
#include "share.h"
#include "tiles.h"

namespace bench {

const PlainLoops& BestPlainLoops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return kPlainV4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kPlainV3;
#endif
  return kPlainBase;
}

namespace {

constexpr std::int64_t kMatrices = 512;
constexpr std::int64_t kSize = 32;

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&);

// Fills symmetric matrices in which each diagonal element exceeds the sum of the rest of its row.
void FillDefinite(const Array<float>& a) {
  a.Fill(1);
  for (std::int64_t b = 0; b < kMatrices; ++b) {
    float* matrix = a.data() + b * kSize * kSize;
    for (std::int64_t i = 0; i < kSize; ++i) {
      matrix[i * kSize + i] = kSize;
      for (std::int64_t j = 0; j < i; ++j) matrix[j * kSize + i] = matrix[i * kSize + j];
    }
  }
}

// Returns the lower factors in f64, with 0 above the diagonal.
std::vector<double> ExactFactors(const Array<float>& a) {
  std::vector<double> all(static_cast<std::size_t>(a.count()));
  for (std::int64_t at = 0; at < a.count(); at += kSize * kSize) {
    double* l = all.data() + at;
    for (std::int64_t i = 0; i < kSize; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double rest = a[at + i * kSize + j];
        for (std::int64_t k = 0; k < j; ++k) rest -= l[i * kSize + k] * l[j * kSize + k];
        l[i * kSize + j] = i == j ? std::sqrt(rest) : rest / l[j * kSize + j];
      }
    }
  }
  return all;
}

using Plainly = void (*)(const float*, float*, std::int64_t);

Task MakeCholesky(const Host& host, Run run, Plainly plainly) {
  const Array<float> a({kMatrices, kSize, kSize});
  const Array<float> ours(a.sizes());
  const Array<float> theirs(a.sizes());
  FillDefinite(a);
  ours.Poison();
  for (std::int64_t i = 0; i < theirs.count(); ++i) theirs[i] = 0;
  const auto exact = [factors = ExactFactors(a)](std::int64_t i) {
    return factors[static_cast<std::size_t>(i)];
  };
  return {[=, queue = host.queue, ta = a.On(host), tl = ours.On(host)] {
            run(queue, KDL_CORES_AUTO, ta, tl);
          },
          {{"plain-c",
            [=, threads = host.threads] {
              Share(threads, kMatrices, 1, [&](std::int64_t first, std::int64_t number) {
                const std::int64_t at = first * kSize * kSize;
                plainly(a.data() + at, theirs.data() + at, number);
              });
            }}},
          [=] { return Judge(ours, theirs, {1e-5, 1e-4}, exact); }};
}

struct Kernel {
  const char* name;
  Run run;
  Plainly plainly;
};

}  // namespace

std::vector<Case> TileCases() {
  // The first kernel processes whole rows with vector instructions; the second processes one element at a
  // time.
  const Kernel kernels[] = {
      {"cholesky", tiles::cholesky, BestPlainLoops().cholesky},
      {"cholesky-elements", tiles::cholesky_elements, BestPlainLoops().cholesky_elements}};
  const auto elements = static_cast<double>(kMatrices * kSize * kSize);
  std::vector<Case> cases;
  for (const Kernel& kernel : kernels) {
    cases.push_back(
        {kernel.name,
         "f32",
         "512x32x32",
         {4 * elements, 4 * elements, elements * kSize / 6},
         [kernel](const Host& host) { return MakeCholesky(host, kernel.run, kernel.plainly); }});
  }
  return cases;
}

}  // namespace bench
