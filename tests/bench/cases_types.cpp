// Benchmarks of products in types other than f32, and of products with a vector.
#include <cblas.h>

#include "exact.h"
#include "matmul_operands.h"
#include "matmul_types.h"
#include "onednn.h"

namespace bench {

namespace {

struct Shape {
  std::int64_t m, n, k;
};

constexpr Shape kShapes[] = {
    {256, 256, 256}, {1024, 1024, 1024}, {128, 4096, 4096}, {1, 4096, 4096}};
constexpr std::int64_t kVectorSizes[] = {512, 8192};

std::string Text(const Shape& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&,
                     const kdl::Tensor&);

// The operands of a product, a and b, and its result.
template <class A, class B, class C>
struct Product {
  Array<A> a;
  Array<B> b;
  Array<C> ours, theirs;

  explicit Product(const Shape& s)
      : a({s.m, s.k}), b({s.k, s.n}), ours({s.m, s.n}), theirs({s.m, s.n}) {
    a.Fill(1);
    b.Fill(2);
    ours.Poison();
    theirs.Poison();
  }

  Task With(const Host& host, Run run, std::vector<Side> peers, double absolute) const {
    return {[=, queue = host.queue, ta = a.On(host), tb = b.On(host), tc = ours.On(host)] {
              run(queue, KDL_CORES_AUTO, ta, tb, tc);
            },
            std::move(peers),
            [=, *this, exact = ExactResult()] { return Judge(ours, theirs, {absolute}, exact); }};
  }

  Exact ExactResult() const {
    if constexpr (std::is_integral_v<C>) return ExactIntegers(a, b);
    return ExactProduct(Matrix<A>{a}, Matrix<B>{b}, b.sizes()[0], b.sizes()[1]);
  }
};

template <class A, class B, class C>
Task MakeDnnl(const Host& host, Run run, const Shape& s, double absolute) {
  const Product<A, B, C> product(s);
  const DnnlStep step =
      DnnlMatmul(DnnlMemory(product.a), DnnlMemory(product.b), DnnlMemory(product.theirs));
  const auto step_once = [product, once = DnnlRun({step})] { once(); };
  return product.With(host, run, {{"onednn", step_once}}, absolute);
}

template <class T>
Array<float> AsFloats(const Array<T>& array) {
  const Array<float> floats(array.sizes());
  for (std::int64_t i = 0; i < array.count(); ++i) floats[i] = ToFloat(array[i]);
  return floats;
}

// If oneDNN does not support products of this type on this processor, it multiplies the same numbers as f32.
template <class T>
Task MakeHalf(const Host& host, const Shape& s, double absolute) {
  const Product<T, T, float> product(s);
  const dnnl::memory result = DnnlMemory(product.theirs);
  if (DnnlHasMatmul(DnnlMemory(product.a), DnnlMemory(product.b), result))
    return MakeDnnl<T, T, float>(host, matmul_types::matmul_half, s, absolute);
  const Array<float> a = AsFloats(product.a);
  const Array<float> b = AsFloats(product.b);
  const DnnlStep step = DnnlMatmul(DnnlMemory(a), DnnlMemory(b), result);
  const auto run = [a, b, product, run = DnnlRun({step})] { run(); };
  return product.With(host, matmul_types::matmul_half, {{"onednn-f32", run}}, absolute);
}

Task MakeF64(const Host& host, const Shape& s, double absolute) {
  const Product<double, double, double> product(s);
  const auto run = [product, m = static_cast<int>(s.m), n = static_cast<int>(s.n),
                    k = static_cast<int>(s.k)] {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, product.a.data(), k,
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
  const auto exact = [=](std::int64_t i) {
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += double{a[i * n + k]} * x[k];
    return sum;
  };
  task.judge = [=] { return Judge(ours, theirs, {absolute}, exact); };
  return task;
}

struct Type {
  const char* name;
  double bytes;        // size of an element of a and b
  double slots;        // slots per multiplication: see Work::slots
  double sum_epsilon;  // epsilon of the type of the sums
  double result_bytes;
  Task (*make)(const Host&, const Shape&, double absolute);
};

constexpr Type kTypes[] = {
    {"bf16", 2, 1, 0x1p-23, 4, MakeHalf<kdl::Bf16>},
    {"i8", 1, 1, 0, 4,
     [](const Host& host, const Shape& s, double absolute) {
       return MakeDnnl<std::int8_t, std::int8_t, std::int32_t>(host, matmul_types::matmul_bytes, s,
                                                               absolute);
     }},
    {"u8", 1, 1, 0, 4,
     [](const Host& host, const Shape& s, double absolute) {
       return MakeDnnl<std::uint8_t, std::int8_t, std::int32_t>(host, matmul_types::matmul_bytes, s,
                                                                absolute);
     }},
    {"f16", 2, 1, 0x1p-23, 4, MakeHalf<kdl::F16>},
    {"f64", 8, 2, 0x1p-52, 8, MakeF64},
};

void AddProduct(std::vector<Case>& cases, const Type& type, const Shape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  const Work work = {.read_bytes = (m * k + k * n) * type.bytes,
                     .written_bytes = m * n * type.result_bytes,
                     .slots = m * n * k * type.slots};
  cases.push_back({"matmul", type.name, Text(s), work,
                   [=](const Host& host) { return type.make(host, s, type.sum_epsilon * k); }});
}

}  // namespace

std::vector<Case> TypeCases() {
  std::vector<Case> cases;
  for (const Type& type : kTypes) {
    for (const Shape& shape : kShapes) AddProduct(cases, type, shape);
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
