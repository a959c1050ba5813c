// Products in other types than f32, and products with a vector.
#include <cblas.h>

#include "matmul_operands.h"
#include "matmul_types.h"
#include "onednn.h"

namespace bench {

namespace {

constexpr std::int64_t kProductSizes[] = {256, 1024};
constexpr std::int64_t kVectorSizes[] = {512, 8192};

std::string Cube(std::int64_t n) {
  const std::string text = std::to_string(n);
  return text + "x" + text + "x" + text;
}

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&,
                     const kdl::Tensor&);

// Square operands of T, a result of S.
template <class T, class S>
struct Product {
  Array<T> a, b;
  Array<S> ours, theirs;

  explicit Product(std::int64_t n) : a({n, n}), b({n, n}), ours({n, n}), theirs({n, n}) {
    a.Fill(1);
    b.Fill(2);
    ours.Poison();
    theirs.Poison();
  }

  Task With(const Host& host, Run run, std::vector<Side> peers, double absolute) const {
    return {[=, queue = host.queue, ta = a.On(host), tb = b.On(host), tc = ours.On(host)] {
              run(queue, KDL_CORES_AUTO, ta, tb, tc);
            },
            std::move(peers), [=, *this] { return Difference(ours, theirs, absolute, 0); }};
  }
};

template <class T, class S>
Task MakeDnnl(const Host& host, Run run, std::int64_t n, double absolute) {
  const Product<T, S> product(n);
  const DnnlStep step =
      DnnlMatmul(DnnlMemory(product.a), DnnlMemory(product.b), DnnlMemory(product.theirs));
  const auto step_once = [product, once = DnnlRun({step})] { once(); };
  return product.With(host, run, {{"onednn", step_once}}, absolute);
}

// oneDNN has no f16 on processors: the peer takes the same numbers as f32.
Task MakeF16(const Host& host, std::int64_t n, double absolute) {
  const Product<kdl::F16, float> product(n);
  const Array<float> a({n, n});
  const Array<float> b({n, n});
  for (std::int64_t i = 0; i < a.count(); ++i) {
    a[i] = ToFloat(product.a[i]);
    b[i] = ToFloat(product.b[i]);
  }
  const DnnlStep step = DnnlMatmul(DnnlMemory(a), DnnlMemory(b), DnnlMemory(product.theirs));
  const auto run = [a, b, product, run = DnnlRun({step})] { run(); };
  return product.With(host, matmul_types::matmul_half, {{"onednn-f32", run}}, absolute);
}

Task MakeF64(const Host& host, std::int64_t n, double absolute) {
  const Product<double, double> product(n);
  const auto run = [product, n = static_cast<int>(n)] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, product.a.data(), n,
                product.b.data(), n, 0, product.theirs.data(), n);
  };
  return product.With(host, matmul_types::matmul_f64, {{"openblas", run}}, absolute);
}

Task MakeVector(const Host& host, std::int64_t n, double absolute) {
  const Array<float> a({n, n});
  const Array<float> x({n});
  const Array<float> ours({n});
  const Array<float> theirs({n});
  a.Fill(1);
  x.Fill(2);
  ours.Poison();
  theirs.Poison();
  Task task;
  task.ours = [queue = host.queue, ta = a.On(host), tx = x.On(host), ty = ours.On(host)] {
    matmul_operands::matvec(queue, KDL_CORES_AUTO, ta, tx, ty);
  };
  const DnnlStep step =
      DnnlMatmul(DnnlMemory(a), DnnlMemory(x, {n, 1}), DnnlMemory(theirs, {n, 1}));
  const auto sgemv = [=, size = static_cast<int>(n)] {
    cblas_sgemv(CblasRowMajor, CblasNoTrans, size, size, 1, a.data(), size, x.data(), 1, 0,
                theirs.data(), 1);
  };
  task.peers = {{"onednn", DnnlRun({step})}, {"openblas", sgemv}};
  task.difference = [=] { return Difference(ours, theirs, absolute, 0); };
  return task;
}

struct Type {
  const char* name;
  double bytes;        // of an element of a and b
  double slots;        // of a multiplication: see Work
  double sum_epsilon;  // of the type that sums have
  double result_bytes;
  Task (*make)(const Host&, std::int64_t, double absolute);
};

constexpr Type kTypes[] = {
    {"bf16", 2, 1, 0x1p-23, 4,
     [](const Host& host, std::int64_t n, double absolute) {
       return MakeDnnl<kdl::Bf16, float>(host, matmul_types::matmul_half, n, absolute);
     }},
    {"f16", 2, 1, 0x1p-23, 4, MakeF16},
    {"f64", 8, 2, 0x1p-52, 8, MakeF64},
};

}  // namespace

std::vector<Case> TypeCases() {
  std::vector<Case> cases;
  for (const Type& type : kTypes) {
    for (std::int64_t n : kProductSizes) {
      const auto square = static_cast<double>(n * n);
      const double absolute = type.sum_epsilon * static_cast<double>(n);
      cases.push_back({"matmul",
                       type.name,
                       Cube(n),
                       {2 * square * type.bytes, square * type.result_bytes,
                        square * static_cast<double>(n) * type.slots},
                       [=](const Host& host) { return type.make(host, n, absolute); }});
    }
  }
  for (std::int64_t n : kVectorSizes) {
    const auto square = static_cast<double>(n * n);
    const double absolute = 0x1p-23 * static_cast<double>(n);
    cases.push_back({"matvec",
                     "f32",
                     std::to_string(n) + "x" + std::to_string(n),
                     {square * 4, static_cast<double>(n) * 4, square},
                     [=](const Host& host) { return MakeVector(host, n, absolute); }});
  }
  return cases;
}

}  // namespace bench
