// Tests how the header's functions get integer parameters. Those of `scale` are passed by value, and that of
// `sums` is derived from a dimension.
#include <array>
#include <cstdio>

#include "header_constants.h"
#include "shared/show_calls.h"

int main() {
  kdl::Context context;
  context.Register(kdl_images_header_constants);
  const kdl::Device host = context.Select("host");
  const kdl::Queue queue = host.queue();
  std::array<float, 4> x = {1, 2, 3, 4};
  std::array<float, 4> y = {};
  const kdl::Tensor from = context.Wrap(host, x.data(), {4});
  const kdl::Tensor rows = context.Wrap(host, x.data(), {2, 2});
  const kdl::Tensor to = context.Wrap(host, y.data(), {4});
  const kdl::Tensor two = context.Wrap(host, y.data(), {2});
  namespace face = header_constants;
  Show("3, 1", y, [&] { face::scale(queue, 2, 3, 1, from, to); });
  Show("5, 2", y, [&] { face::scale_launch(queue, 2, 5, 2, from, to).Wait(); });
  Show("4, 1", y, [&] { face::scale(queue, 2, 4, 1, from, to); });
  Show("sums of 2", y, [&] { face::sums(queue, 2, rows, two); });
  header_constants_kernels* kernels = nullptr;
  kdl::Check(header_constants_open(context.get(), "host", &kernels));
  Show("in C", y,
       [&] { kdl::Check(header_constants_scale_f32_S5_queue1(kernels, 4, x.data(), y.data())); });
  Show("sums of 4", y,
       [&] { kdl::Check(header_constants_sums_D4(kernels, 1, x.data(), y.data())); });
  header_constants_close(kernels);
  return 0;
}
