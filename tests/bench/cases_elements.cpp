// Benchmarks of kernels that copy elements or apply a function to each of them.
#include <cblas.h>

#include <cstring>
#include <functional>
#include <utility>

#include "elements.h"
#include "exact.h"
#include "onednn.h"
#include "operation_counts.h"
#include "share.h"

namespace bench {

namespace {

// One size fits in the L2 cache; the other is too large for any cache.
constexpr std::int64_t kCounts[] = {std::int64_t{1} << 17, std::int64_t{1} << 26};

struct Shape {
  std::int64_t rows, columns;
};
constexpr Shape kTransposed[] = {{256, 512}, {1031, 1483}, {8192, 8192}};

struct Operands {
  Array<float> x, ours, theirs;

  Operands(std::vector<std::int64_t> from, std::vector<std::int64_t> to)
      : x(std::move(from)), ours(to), theirs(std::move(to)) {
    x.Fill(1);
    ours.Poison();
    theirs.Poison();
  }
};

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&);

Task With(const Host& host, Run run, const Operands& o, std::vector<Side> peers,
          Tolerance tolerance, const Exact& exact) {
  return {[=, queue = host.queue, x = o.x.On(host), y = o.ours.On(host)] {
            run(queue, KDL_CORES_AUTO, x, y);
          },
          std::move(peers), [=] { return Judge(o.ours, o.theirs, tolerance, exact); }};
}

Task MakeCopy(const Host& host, std::int64_t n) {
  const Operands o({n}, {n});
  const auto copy = [=, threads = host.threads] {
    Share(threads, n, 1024, [&](std::int64_t first, std::int64_t count) {
      std::memcpy(o.theirs.data() + first, o.x.data() + first,
                  static_cast<std::size_t>(count) * sizeof(float));
    });
  };
  const DnnlStep step = DnnlReorder(DnnlMemory(o.x), DnnlMemory(o.theirs));
  return With(host, elements::copy, o, {{"memcpy", copy}, {"onednn", DnnlRun({step})}}, {},
              [x = o.x](std::int64_t i) { return x[i]; });
}

Task MakeGelu(const Host& host, std::int64_t n) {
  const Operands o({n}, {n});
  for (std::int64_t i = 0; i < n; ++i) o.x[i] *= 4;
  const DnnlStep step = DnnlGelu(DnnlMemory(o.x), DnnlMemory(o.theirs));
  return With(host, elements::gelu, o, {{"onednn", DnnlRun({step})}}, {2e-6, 1e-5},
              [x = o.x](std::int64_t i) { return ExactGelu(x[i]); });
}

Task MakeTranspose(const Host& host, const Shape& s) {
  const Operands o({s.rows, s.columns}, {s.columns, s.rows});
  const DnnlStep step =
      DnnlReorder(DnnlMemory(o.x), DnnlMemory(o.theirs, {s.rows, s.columns}, {1, s.rows}));
  const auto blas = [=] {
    cblas_somatcopy(CblasRowMajor, CblasTrans, static_cast<int>(s.rows),
                    static_cast<int>(s.columns), 1, o.x.data(), static_cast<int>(s.columns),
                    o.theirs.data(), static_cast<int>(s.rows));
  };
  return With(host, elements::transpose, o, {{"onednn", DnnlRun({step})}, {"openblas", blas}}, {},
              [x = o.x, s](std::int64_t i) { return x[i % s.rows * s.columns + i / s.rows]; });
}

}  // namespace

std::vector<Case> ElementCases() {
  std::vector<Case> cases;
  for (std::int64_t n : kCounts) {
    const auto bytes = 4 * static_cast<double>(n);
    cases.push_back({"copy", "f32", std::to_string(n), {bytes, bytes, 0}, [n](const Host& host) {
                       return MakeCopy(host, n);
                     }});
    cases.push_back({"gelu",
                     "f32",
                     std::to_string(n),
                     {bytes, bytes, kGeluSlots * static_cast<double>(n),
                      kGeluDivisions * static_cast<double>(n)},
                     [n](const Host& host) { return MakeGelu(host, n); }});
  }
  for (const Shape& s : kTransposed) {
    const auto bytes = 4 * static_cast<double>(s.rows * s.columns);
    cases.push_back({"transpose",
                     "f32",
                     std::to_string(s.rows) + "x" + std::to_string(s.columns),
                     {bytes, bytes, 0},
                     [s](const Host& host) { return MakeTranspose(host, s); }});
  }
  return cases;
}

}  // namespace bench
