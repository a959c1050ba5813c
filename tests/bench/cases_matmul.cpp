// Benchmarks of f32 products, plain and with transposed operands, compared with oneDNN and OpenBLAS.
#include <cblas.h>

#include "exact.h"
#include "matmul.h"
#include "matmul_operands.h"
#include "onednn.h"

namespace bench {

namespace {

struct Shape {
  std::int64_t m, n, k;
};

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&,
                     const kdl::Tensor&);

// A product whose left or right operand may be stored transposed.
struct Product {
  const char* name;
  Run run;
  bool left;
  bool right;
};

constexpr Product kPlain = {"matmul", matmul::matmul, false, false};
constexpr Product kLeft = {"matmul-at", matmul_operands::matmul_at, true, false};
constexpr Product kRight = {"matmul-bt", matmul_operands::matmul_bt, false, true};

constexpr Shape kPlainShapes[] = {
    {256, 256, 256},   {512, 512, 512},  {1024, 1024, 1024}, {2048, 2048, 2048},
    {1025, 1481, 737}, {8192, 8192, 32}, {256, 256, 32768},  {1, 4096, 4096},
};
constexpr Shape kTransposedShapes[] = {{512, 512, 512}, {1025, 1481, 737}};

std::string Text(const Shape& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

Work WorkOf(const Shape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return {.read_bytes = 4 * (m * k + k * n), .written_bytes = 4 * m * n, .slots = m * n * k};
}

std::vector<std::int64_t> Sizes(bool transposed, std::int64_t rows, std::int64_t columns) {
  if (transposed) return {columns, rows};
  return {rows, columns};
}

dnnl::memory DnnlOperand(const Array<float>& array, bool transposed) {
  const std::int64_t rows = array.sizes()[0];
  const std::int64_t columns = array.sizes()[1];
  return transposed ? DnnlMemory(array, {columns, rows}, {1, columns}) : DnnlMemory(array);
}

std::function<void()> Sgemm(const Product& p, const Shape& s, const Array<float>& a,
                            const Array<float>& b, const Array<float>& c) {
  return [=] {
    cblas_sgemm(CblasRowMajor, p.left ? CblasTrans : CblasNoTrans,
                p.right ? CblasTrans : CblasNoTrans, static_cast<int>(s.m), static_cast<int>(s.n),
                static_cast<int>(s.k), 1, a.data(), static_cast<int>(a.sizes()[1]), b.data(),
                static_cast<int>(b.sizes()[1]), 0, c.data(), static_cast<int>(s.n));
  };
}

Task MakeProduct(const Host& host, const Product& p, const Shape& s) {
  const Array<float> a(Sizes(p.left, s.m, s.k));
  const Array<float> b(Sizes(p.right, s.k, s.n));
  const Array<float> ours({s.m, s.n});
  const Array<float> theirs({s.m, s.n});
  a.Fill(1);
  b.Fill(2);
  ours.Poison();
  theirs.Poison();
  Task task;
  task.ours = [=, queue = host.queue, ta = a.On(host), tb = b.On(host), tc = ours.On(host)] {
    p.run(queue, KDL_CORES_AUTO, ta, tb, tc);
  };
  const auto dnnl = DnnlMatmul(DnnlOperand(a, p.left), DnnlOperand(b, p.right), DnnlMemory(theirs));
  task.peers = {{"onednn", DnnlRun({dnnl})}, {"openblas", Sgemm(p, s, a, b, theirs)}};
  const Exact exact = ExactProduct(Matrix<float>{a, p.left}, Matrix<float>{b, p.right}, s.k, s.n);
  task.judge = [=] {
    return Judge(ours, theirs, {0x1p-23 * static_cast<double>(s.k + 16), 0x1p-22}, exact);
  };
  return task;
}

void Add(std::vector<Case>& cases, const Product& product, const Shape& shape) {
  cases.push_back({product.name, "f32", Text(shape), WorkOf(shape),
                   [=](const Host& host) { return MakeProduct(host, product, shape); }});
}

}  // namespace

std::vector<Case> MatmulCases() {
  std::vector<Case> cases;
  for (const Shape& shape : kPlainShapes) Add(cases, kPlain, shape);
  for (const Shape& shape : kTransposedShapes) {
    Add(cases, kLeft, shape);
    Add(cases, kRight, shape);
  }
  return cases;
}

}  // namespace bench
