// oneDNN's primitives as peers in the benchmark. These functions create the primitives, and the timed runs
// execute them. Operands are row-major, like ours.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "array.h"
#include "case.h"

namespace bench {

// Returns the oneDNN engine of this process.
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

// Makes a oneDNN memory object from an array. It has the array's sizes unless `sizes` is given. `strides` are
// only needed if it is not row-major.
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

// Executes the primitives one after another and waits for them. The arrays must outlive the step: see Task.
struct DnnlStep {
  dnnl::primitive primitive;
  DnnlArguments arguments;
};
std::function<void()> DnnlRun(std::vector<DnnlStep> steps);

// Computes c = a * b, plus the operations that the attributes fuse into the product.
DnnlStep DnnlMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c,
                    const dnnl::primitive_attr& attributes = {});
// Returns whether oneDNN supports a product of these operands on this processor.
bool DnnlHasMatmul(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c);
// Computes c = a + b. Each size of b is either the same as in a, or 1.
DnnlStep DnnlAdd(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& c);
// Computes y = x * Phi(x), where Phi is the distribution function of the standard normal distribution.
DnnlStep DnnlGelu(const dnnl::memory& x, const dnnl::memory& y);
DnnlStep DnnlSoftmax(const dnnl::memory& x, const dnnl::memory& y);
DnnlStep DnnlLayernorm(const dnnl::memory& x, const dnnl::memory& scale, const dnnl::memory& shift,
                       const dnnl::memory& y, float epsilon);
// Sums over the dimensions whose size in y is 1.
DnnlStep DnnlSum(const dnnl::memory& x, const dnnl::memory& y);
// Copies x to y; their layouts may differ.
DnnlStep DnnlReorder(dnnl::memory x, dnnl::memory y);

}  // namespace bench
