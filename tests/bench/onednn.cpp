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

}  // namespace bench
