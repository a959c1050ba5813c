#include "onednn.h"

namespace bench {

const dnnl::engine& DnnlEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::function<void()> DnnlRun(std::vector<DnnlStep> steps) {
  return [steps = std::move(steps), stream = dnnl::stream(DnnlEngine())]() mutable {
    for (const DnnlStep& step : steps) step.primitive.execute(stream, step.arguments);
    stream.wait();
  };
}

DnnlStep DnnlMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c,
                    const dnnl::primitive_attr& attributes) {
  const dnnl::matmul::desc desc(a.get_desc(), b.get_desc(), c.get_desc());
  return {dnnl::matmul(dnnl::matmul::primitive_desc(desc, attributes, DnnlEngine())),
          {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}}};
}

bool DnnlHasMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c) {
  const dnnl::matmul::desc desc(a.get_desc(), b.get_desc(), c.get_desc());
  return bool(dnnl::matmul::primitive_desc(desc, DnnlEngine(), /*allow_empty=*/true));
}

DnnlStep DnnlAdd(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c) {
  const dnnl::binary::desc desc(dnnl::algorithm::binary_add, a.get_desc(), b.get_desc(),
                                c.get_desc());
  return {dnnl::binary(dnnl::binary::primitive_desc(desc, DnnlEngine())),
          {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, c}}};
}

DnnlStep DnnlGelu(const dnnl::memory& x, const dnnl::memory& y) {
  const dnnl::eltwise_forward::desc desc(dnnl::prop_kind::forward_inference,
                                         dnnl::algorithm::eltwise_gelu_erf, x.get_desc());
  return {dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(desc, DnnlEngine())),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}};
}

DnnlStep DnnlSoftmax(const dnnl::memory& x, const dnnl::memory& y) {
  const dnnl::softmax_v2_forward::desc desc(dnnl::prop_kind::forward_inference,
                                            dnnl::algorithm::softmax_accurate, x.get_desc(),
                                            y.get_desc(), 1);
  return {dnnl::softmax_v2_forward(dnnl::softmax_v2_forward::primitive_desc(desc, DnnlEngine())),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}};
}

DnnlStep DnnlLayernorm(const dnnl::memory& x, const dnnl::memory& scale, const dnnl::memory& shift,
                       const dnnl::memory& y, float epsilon) {
  using Norm = dnnl::layer_normalization_forward;
  const Norm::desc desc(
      dnnl::prop_kind::forward_inference, x.get_desc(), epsilon,
      dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift);
  return {Norm(Norm::primitive_desc(desc, DnnlEngine())),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift}, {DNNL_ARG_DST, y}}};
}

DnnlStep DnnlSum(const dnnl::memory& x, const dnnl::memory& y) {
  const dnnl::reduction::desc desc(dnnl::algorithm::reduction_sum, x.get_desc(), y.get_desc(), 0,
                                   0);
  return {dnnl::reduction(dnnl::reduction::primitive_desc(desc, DnnlEngine())),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}};
}

DnnlStep DnnlReorder(dnnl::memory x, dnnl::memory y) {
  return {dnnl::reorder(x, y), {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}}};
}

}  // namespace bench
