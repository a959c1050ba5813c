// oneDNN's primitives as sides: created here, executed in the runs. Operands are row-major, like ours.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "array.h"
#include "case.h"

namespace bench {

// Return the engine and the stream of this process.
const dnnl::engine& DnnlEngine();

template <class T>
constexpr dnnl::memory::data_type DnnlType() {
  using Type = dnnl::memory::data_type;
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, kdl::Bf16>) return Type::bf16;
  if constexpr (std::is_same_v<T, kdl::F16>) return Type::f16;
  if constexpr (std::is_same_v<T, std::int8_t>) return Type::s8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Type::u8;
  if constexpr (std::is_same_v<T, std::int32_t>) return Type::s32;
}

// Makes an array a oneDNN memory, with its own sizes or with `sizes`, and with `strides` unless it is
// row-major.
template <class T>
dnnl::memory DnnlMemory(const Array<T>& array, std::vector<std::int64_t> sizes = {},
                        std::vector<std::int64_t> strides = {}) {
  if (sizes.empty()) sizes = array.sizes();
  if (strides.empty()) {
    strides.assign(sizes.size(), 1);
    for (std::size_t d = sizes.size() - 1; d > 0; --d) strides[d - 1] = strides[d] * sizes[d];
  }
  return {dnnl::memory::desc(sizes, DnnlType<T>(), strides), DnnlEngine(), array.data()};
}

using DnnlArguments = std::unordered_map<int, dnnl::memory>;

// Executes the primitives one after the other and waits. The arrays must outlive it: see Task.
struct DnnlStep {
  dnnl::primitive primitive;
  DnnlArguments arguments;
};
std::function<void()> DnnlRun(std::vector<DnnlStep> steps);

// c = a * b, and what the attributes fuse to it.
DnnlStep DnnlMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c,
                    const dnnl::primitive_attr& attributes = {});
// Whether oneDNN supports such operands on this processor.
bool DnnlHasMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c);
// c = a + b; the sizes of b are those of a, or 1.
DnnlStep DnnlAdd(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c);
// y = x times the normal distribution function at x.
DnnlStep DnnlGelu(const dnnl::memory& x, const dnnl::memory& y);
DnnlStep DnnlSoftmax(const dnnl::memory& x, const dnnl::memory& y);
DnnlStep DnnlLayernorm(const dnnl::memory& x, const dnnl::memory& scale, const dnnl::memory& shift,
                       const dnnl::memory& y, float epsilon);
// Sums over the dimensions that are 1 in y.
DnnlStep DnnlSum(const dnnl::memory& x, const dnnl::memory& y);
// Copies; the layouts may differ.
DnnlStep DnnlReorder(dnnl::memory x, dnnl::memory y);

}  // namespace bench
