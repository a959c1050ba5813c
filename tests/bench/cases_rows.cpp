// Benchmarks of kernels on rows of a matrix, compared with oneDNN. Sums are also compared with OpenBLAS: a
// product with a vector of ones.
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "exact.h"
#include "onednn.h"
#include "operation_counts.h"
#include "rows.h"

namespace bench {

namespace {

struct Shape {
  std::int64_t rows, columns;
};

// One size fits in the L2 cache; the other is too large for any cache.
constexpr Shape kShapes[] = {{256, 512}, {16384, 4096}};

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&);

// Makes a task with one operand and one result.
Task MakeMap(const Host& host, Run run, const Array<float>& x, const Array<float>& ours,
             const Array<float>& theirs, const DnnlStep& step, Tolerance tolerance,
             const Exact& exact) {
  ours.Poison();
  theirs.Poison();
  return {[=, queue = host.queue, tx = x.On(host), ty = ours.On(host)] {
            run(queue, KDL_CORES_AUTO, tx, ty);
          },
          {{"onednn", DnnlRun({step})}},
          [=] { return Judge(ours, theirs, tolerance, exact); }};
}

Task MakeSoftmax(const Host& host, Run run, const Shape& s) {
  const Array<float> x({s.rows, s.columns});
  const Array<float> ours(x.sizes());
  const Array<float> theirs(x.sizes());
  x.Fill(1);
  for (std::int64_t i = 0; i < x.count(); ++i) x[i] *= 8;
  return MakeMap(host, run, x, ours, theirs, DnnlSoftmax(DnnlMemory(x), DnnlMemory(theirs)),
                 {1e-9, 1e-4}, [=](std::int64_t i) {
                   const float* row = x.data() + i / s.columns * s.columns;
                   const double largest = *std::max_element(row, row + s.columns);
                   double sum = 0;
                   for (std::int64_t c = 0; c < s.columns; ++c) sum += std::exp(row[c] - largest);
                   return std::exp(x[i] - largest) / sum;
                 });
}

Task MakeLayernorm(const Host& host, Run, const Shape& s) {
  const Array<float> x({s.rows, s.columns});
  const Array<float> scale({s.columns});
  const Array<float> shift({s.columns});
  const Array<float> ours(x.sizes());
  const Array<float> theirs(x.sizes());
  x.Fill(1);
  scale.Fill(2);
  shift.Fill(3);
  ours.Poison();
  theirs.Poison();
  const DnnlStep step =
      DnnlLayernorm(DnnlMemory(x), DnnlMemory(scale), DnnlMemory(shift), DnnlMemory(theirs), 1e-5f);
  const auto exact = [=](std::int64_t i) {
    const float* row = x.data() + i / s.columns * s.columns;
    double mean = 0;
    double variance = 0;
    for (std::int64_t c = 0; c < s.columns; ++c) mean += row[c];
    mean /= static_cast<double>(s.columns);
    for (std::int64_t c = 0; c < s.columns; ++c) variance += (row[c] - mean) * (row[c] - mean);
    variance /= static_cast<double>(s.columns);
    return (x[i] - mean) / std::sqrt(variance + 1e-5) * scale[i % s.columns] + shift[i % s.columns];
  };
  return {
      [=, queue = host.queue, tx = x.On(host), t_scale = scale.On(host), t_shift = shift.On(host),
       ty = ours.On(host)] { rows::layernorm(queue, KDL_CORES_AUTO, tx, t_scale, t_shift, ty); },
      {{"onednn", DnnlRun({step})}},
      [=] { return Judge(ours, theirs, {1e-4, 1e-5}, exact); }};
}

Side OnesSide(CBLAS_TRANSPOSE transpose, const Shape& s, const Array<float>& x,
              const Array<float>& y) {
  const Array<float> ones({std::max(s.rows, s.columns)});
  for (std::int64_t i = 0; i < ones.count(); ++i) ones[i] = 1;
  return {"openblas", [=, rows = static_cast<int>(s.rows), columns = static_cast<int>(s.columns)] {
            cblas_sgemv(CblasRowMajor, transpose, rows, columns, 1, x.data(), columns, ones.data(),
                        1, 0, y.data(), 1);
          }};
}

double StridedSum(const Array<float>& x, std::int64_t first, std::int64_t step,
                  std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[first + i * step];
  return sum;
}

Task MakeRowSum(const Host& host, Run run, const Shape& s) {
  const Array<float> x({s.rows, s.columns});
  const Array<float> ours({s.rows});
  const Array<float> theirs({s.rows});
  x.Fill(1);
  const DnnlStep step = DnnlSum(DnnlMemory(x), DnnlMemory(theirs, {s.rows, 1}));
  Task task = MakeMap(host, run, x, ours, theirs, step, {0x1p-23 * static_cast<double>(s.columns)},
                      [=](std::int64_t i) { return StridedSum(x, i * s.columns, 1, s.columns); });
  task.peers.push_back(OnesSide(CblasNoTrans, s, x, theirs));
  return task;
}

Task MakeColumnSum(const Host& host, Run run, const Shape& s) {
  const Array<float> x({s.rows, s.columns});
  const Array<float> ours({s.columns});
  const Array<float> theirs({s.columns});
  x.Fill(1);
  const DnnlStep step = DnnlSum(DnnlMemory(x), DnnlMemory(theirs, {1, s.columns}));
  Task task = MakeMap(host, run, x, ours, theirs, step, {0x1p-23 * static_cast<double>(s.rows)},
                      [=](std::int64_t i) { return StridedSum(x, i, s.columns, s.rows); });
  task.peers.push_back(OnesSide(CblasTrans, s, x, theirs));
  return task;
}

struct Kernel {
  const char* name;
  Run run;
  Task (*make)(const Host&, Run, const Shape&);
  bool writes_all;  // the result is as large as the operand
  double slots;     // value of Work::slots for each element
};

constexpr Kernel kKernels[] = {
    // Counts two exponentials of differences from the maximum, their sum, and a product.
    {"softmax", rows::softmax, MakeSoftmax, true, 2 * kExpSlots + 5},
    // Counts the mean, two differences, a square, two products, and the shift.
    {"layernorm", nullptr, MakeLayernorm, true, 6},
    {"row-sum", rows::row_sum, MakeRowSum, false, 1},
    {"column-sum", rows::column_sum, MakeColumnSum, false, 1},
};

}  // namespace

std::vector<Case> RowCases() {
  std::vector<Case> cases;
  for (const Kernel& kernel : kKernels) {
    for (const Shape& s : kShapes) {
      const auto count = static_cast<double>(s.rows * s.columns);
      cases.push_back({kernel.name,
                       "f32",
                       std::to_string(s.rows) + "x" + std::to_string(s.columns),
                       {4 * count, kernel.writes_all ? 4 * count : 0, kernel.slots * count},
                       [=](const Host& host) { return kernel.make(host, kernel.run, s); }});
    }
  }
  return cases;
}

}  // namespace bench
