// Benchmarks two stages that a pipe in memory connects, compared with the same stages fused and with two
// launches.
#include "array.h"
#include "case.h"
#include "exact.h"
#include "fused_residual.h"
#include "piped_residual.h"

namespace bench {

namespace {

struct Shape {
  const char* name;
  std::int64_t m, n, k;
};

// The sizes of two samples: matmul_residual, and down_proj in f32.
constexpr Shape kShapes[] = {{"matmul-residual", 512, 512, 512}, {"down-proj", 64, 4096, 11008}};

Task MakePipes(const Host& host, const Shape& s) {
  Array<float> a({s.m, s.k});
  Array<float> b({s.k, s.n});
  Array<float> r({s.m, s.n});
  Array<float> piped({s.m, s.n});
  Array<float> fused({s.m, s.n});
  Array<float> twice({s.m, s.n});
  Array<float> product({s.m, s.n});
  a.Fill(1);
  b.Fill(2);
  r.Fill(3);
  for (Array<float>* out : {&piped, &fused, &twice}) out->Poison();
  Task task;
  const kdl::Queue queue = host.queue;
  task.ours = [=, x = a.On(host), w = b.On(host), e = r.On(host), y = piped.On(host)] {
    piped_residual::two_stages(queue, KDL_CORES_AUTO, x, w, e, y);
  };
  task.peers = {{"fused",
                 [=, x = a.On(host), w = b.On(host), e = r.On(host), y = fused.On(host)] {
                   fused_residual::two_stages(queue, KDL_CORES_AUTO, x, w, e, y);
                 }},
                {"two-launches", [=, x = a.On(host), w = b.On(host), e = r.On(host),
                                  t = product.On(host), y = twice.On(host)] {
                   fused_residual::multiply(queue, KDL_CORES_AUTO, x, w, t);
                   fused_residual::add(queue, KDL_CORES_AUTO, t, e, y);
                 }}};
  const Exact exact_product = ExactProduct(Matrix<float>{a}, Matrix<float>{b}, s.k, s.n);
  const auto exact = [=](std::int64_t i) { return exact_product(i) + r[i]; };
  task.judge = [=]() -> Verdict {
    // Both results are from our kernels, so they must have the same bits.
    for (std::int64_t i = 0; i < piped.count(); ++i)
      if (piped[i] != fused[i]) return {OffText(i, piped[i], fused[i]), ""};
    return Judge(piped, fused, {0x1p-23 * static_cast<double>(s.k)}, exact);
  };
  return task;
}

Work WorkOf(const Shape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return {4 * (m * k + k * n + m * n), 4 * m * n, m * n * (k + 1)};
}

}  // namespace

std::vector<Case> PipeCases() {
  std::vector<Case> cases;
  for (const Shape& s : kShapes) {
    cases.push_back({s.name, "f32",
                     std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k),
                     WorkOf(s), [s](const Host& host) { return MakePipes(host, s); }});
  }
  return cases;
}

}  // namespace bench
