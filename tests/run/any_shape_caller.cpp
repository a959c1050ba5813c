// Tests how callers in C and C++ omit optional parameters, and pass tensors of different ranks.
#include <array>
#include <cstdio>

#include "any_shape.h"
#include "shared/show_calls.h"

namespace {

// Calls a kernel by its name with arguments whose types are known only at run time.
void CallByName(const char* name, const kdl::Tensor& from, const kdl::Tensor& to) {
  kdl_kernels* kernels = nullptr;
  kdl::Check(kdl_kernels_open(nullptr, kdl_images_any_shape, "host", &name, 1, &kernels));
  const auto tensor = [](const kdl::Tensor& given) {
    return kdl_dynamic_arg{KDL_DYNAMIC_TENSOR, 0, {.tensor = &given.array().view}};
  };
  const kdl_dynamic_arg args[] = {tensor(from), tensor(to)};
  kdl_error* failed = kdl_kernels_call_dynamic(kernels, 0, 1, 2, args, 2, nullptr);
  kdl_kernels_close(kernels);
  kdl::Check(failed);
}

}  // namespace

int main() {
  kdl::Context context;
  context.Register(kdl_images_any_shape);
  const kdl::Device host = context.Select("host");
  const kdl::Queue queue = host.queue();
  std::array<float, 4> x = {1, 2, 3, 4};
  std::array<float, 2> bias = {10, 20};
  std::array<float, 4> y = {};
  const kdl::Tensor from = context.Wrap(host, x.data(), {2, 2});
  const kdl::Tensor to = context.Wrap(host, y.data(), {2, 2});
  const kdl::Tensor two = context.Wrap(host, bias.data(), {2});
  const kdl::Tensor none;
  namespace face = any_shape;
  Show("with a bias", y, [&] { face::add(queue, 2, from, two, to, none); });
  Show("without", y, [&] { face::add(queue, 2, from, none, to, none); });
  Show("without an input", y, [&] { face::add(queue, 2, none, two, to, none); });
  any_shape_kernels* kernels = nullptr;
  kdl::Check(any_shape_open(context.get(), "host", &kernels));
  Show("in C with a bias", y,
       [&] { kdl::Check(any_shape_add_no_total(kernels, 2, 2, x.data(), bias.data(), y.data())); });
  Show("in C without", y,
       [&] { kdl::Check(any_shape_add_no_bias_no_total(kernels, 2, 2, x.data(), y.data())); });
  y = {};
  Show("in C with sums only", y, [&] {
    std::array<float, 4> unused = {};
    kdl::Check(any_shape_add_no_bias(kernels, 2, 2, x.data(), unused.data(), y.data()));
  });
  Show("in C, a pack of 2", y,
       [&] { kdl::Check(any_shape_rows(kernels, 2, 2, x.data(), y.data())); });
  const kdl::Tensor deep = context.Wrap(host, x.data(), {2, 2, 1});
  Show("a pack of 2 x 2", y, [&] { face::rows(queue, 2, deep, to); });
  const kdl::Tensor one = context.Wrap(host, x.data(), {4});
  const kdl::Tensor scalar = context.Wrap(host, y.data(), {});
  Show("an empty pack", y, [&] { face::rows(queue, 2, one, scalar); });
  Show("another shape", y,
       [&] { face::rows(queue, 2, deep, context.Wrap(host, y.data(), {1, 4})); });
  Show("sums over the first dimension", y,
       [&] { face::sum_axis(queue, 2, 0, deep, context.Wrap(host, y.data(), {2, 1})); });
  Show("over the second", y,
       [&] { face::sum_axis(queue, 2, 1, deep, context.Wrap(host, y.data(), {2, 1})); });
  Show("over the third", y, [&] { face::sum_axis(queue, 2, 2, deep, to); });
  Show("over a fourth", y, [&] { face::sum_axis(queue, 2, 3, deep, to); });
  Show("before the first", y, [&] { face::sum_axis(queue, 2, -1, deep, to); });
  Show("by name, over the first", y,
       [&] { CallByName("sum_axis<rank_A=0>", deep, context.Wrap(host, y.data(), {2, 1})); });
  Show("by name, over the third", y, [&] { CallByName("sum_axis<rank_A=2>", deep, to); });
  Show("by name, over a fourth", y, [&] { CallByName("sum_axis<rank_A=3>", deep, to); });
  Show("by name, of no number", y, [&] { CallByName("sum_axis<rank_A=x>", deep, to); });
  Show("by name, twice", y, [&] { CallByName("sum_axis<rank_A=1, rank_A=2>", deep, to); });
  Show("a row in all rows", y, [&] { face::plus(queue, 2, from, two, to); });
  Show("transposed", y, [&] { face::plus(queue, 2, from, kdl::Permuted(from, {1, 0}), to); });
  Show("both", y,
       [&] { face::plus(queue, 2, two, kdl::Permuted(from, {1, 0}), kdl::Permuted(to, {0, 1})); });
  Show("too many rows", y, [&] { face::plus(queue, 2, from, one, to); });
  Show("an output with gaps", y,
       [&] { face::plus(queue, 2, from, two, kdl::Permuted(to, {1, 0})); });
  Show("no permutation", y, [&] { face::plus(queue, 2, kdl::Permuted(from, {1, 1}), two, to); });
  any_shape_close(kernels);
  return 0;
}
