// Benchmarks a layer as one fused kernel, compared with oneDNN in two ways: with one pass for each step, and
// with as many steps fused as oneDNN supports.
#include "exact.h"
#include "fused.h"
#include "onednn.h"
#include "operation_counts.h"

namespace bench {

namespace {

struct Shape {
  std::int64_t m, n, k;
};

constexpr Shape kShapes[] = {{512, 512, 512}, {1024, 4096, 1024}};

struct Layer {
  Array<float> x, w, b, r, ours, theirs;

  explicit Layer(const Shape& s)
      : x({s.m, s.k}),
        w({s.k, s.n}),
        b({s.n}),
        r({s.m, s.n}),
        ours({s.m, s.n}),
        theirs({s.m, s.n}) {
    x.Fill(1);
    w.Fill(2);
    // Keeps the arguments of the activation function small, in the range where it is nonlinear.
    for (std::int64_t i = 0; i < w.count(); ++i) w[i] *= 0.0625f;
    b.Fill(3);
    r.Fill(4);
    ours.Poison();
    theirs.Poison();
  }
};

// Returns four passes. All passes after the first work in place.
std::vector<DnnlStep> Passes(const Layer& layer, const Shape& s) {
  const dnnl::memory y = DnnlMemory(layer.theirs);
  return {DnnlMatmul(DnnlMemory(layer.x), DnnlMemory(layer.w), y),
          DnnlAdd(y, DnnlMemory(layer.b, {1, s.n}), y), DnnlGelu(y, y),
          DnnlAdd(y, DnnlMemory(layer.r), y)};
}

std::vector<DnnlStep> Fused(const Layer& layer, const Shape& s) {
  const dnnl::memory bias = DnnlMemory(layer.b, {1, s.n});
  const dnnl::memory residual = DnnlMemory(layer.r);
  dnnl::post_ops after;
  after.append_binary(dnnl::algorithm::binary_add, bias.get_desc());
  after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
  after.append_binary(dnnl::algorithm::binary_add, residual.get_desc());
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  DnnlStep step =
      DnnlMatmul(DnnlMemory(layer.x), DnnlMemory(layer.w), DnnlMemory(layer.theirs), attributes);
  step.arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, bias});
  step.arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(2) | DNNL_ARG_SRC_1, residual});
  return {step};
}

Task MakeLayer(const Host& host, const Shape& s) {
  const Layer layer(s);
  Task task;
  task.ours = [queue = host.queue, layer, x = layer.x.On(host), w = layer.w.On(host),
               b = layer.b.On(host), r = layer.r.On(host),
               y = layer.ours.On(host)] { fused::layer(queue, KDL_CORES_AUTO, x, w, b, r, y); };
  task.peers = {{"onednn", DnnlRun(Passes(layer, s))}, {"onednn-fused", DnnlRun(Fused(layer, s))}};
  const Exact product = ExactProduct(Matrix<float>{layer.x}, Matrix<float>{layer.w}, s.k, s.n);
  const auto exact = [=](std::int64_t i) {
    return ExactGelu(product(i) + layer.b[i % s.n]) + layer.r[i];
  };
  task.judge = [=] {
    return Judge(layer.ours, layer.theirs, {0x1p-23 * static_cast<double>(s.k), 1e-5}, exact);
  };
  return task;
}

Work WorkOf(const Shape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return {4 * (m * k + k * n + n + m * n), 4 * m * n, m * n * (k + 2 + kGeluSlots),
          m * n * kGeluDivisions};
}

}  // namespace

std::vector<Case> FusedCases() {
  std::vector<Case> cases;
  for (const Shape& s : kShapes) {
    cases.push_back({"matmul-gelu-res", "f32",
                     std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k),
                     WorkOf(s), [s](const Host& host) { return MakeLayer(host, s); }});
  }
  return cases;
}

}  // namespace bench
