// Runs one program of the file that aarch64.py generates. Its arguments are PROGRAM CORES SIZE...; tensors
// are read from NAME.in and written to NAME.out.
#include <cstdlib>
#include <string_view>

#include "kernels.h"
#include "orchestration_caller.h"

namespace {

void Product(const kdl::Context& context, std::string_view program, const std::int64_t* size,
             std::int64_t cores) {
  const kdl::Element element = program == "product_bf16" ? kdl::bf16 : kdl::f32;
  const std::int64_t m = size[0], n = size[1], k = size[2];
  const kdl::Tensor a = MoveIn(context, "host", element, {m, k}, "a", Direction::In);
  const kdl::Tensor b = MoveIn(context, "host", element, {k, n}, "b", Direction::In);
  const kdl::Tensor c = MoveIn(context, "host", element, {m, n}, "c", Direction::Out);
  if (program == "piped_product") {
    kernels::piped_product(context, a, b, c, cores);
  } else if (element == kdl::f32) {
    kernels::product_f32(context, a, b, c, cores);
  } else {
    kernels::product_bf16(context, a, b, c, cores);
  }
  MoveOut(c, "c");
}

void Halves(const kdl::Context& context, std::int64_t n, std::int64_t cores) {
  auto at = [&](const char* name, Direction direction) {
    return MoveIn(context, "host", kdl::f16, {n}, name, direction);
  };
  auto out = [&](const char* name) { return at(name, Direction::Out); };
  const kdl::Tensor s = out("s"), d = out("d"), p = out("p"), q = out("q"), r = out("r");
  kernels::half(context, at("x", Direction::In), at("y", Direction::In), s, d, p, q, r, cores);
  MoveOut(s, "s");
  MoveOut(d, "d");
  MoveOut(p, "p");
  MoveOut(q, "q");
  MoveOut(r, "r");
}

}  // namespace

int main(int, char** argv) {
  kdl::Context context;
  context.Register(kdl_images_kernels);
  const std::string_view program = argv[1];
  const std::int64_t cores = std::atoll(argv[2]);
  std::int64_t size[3] = {};
  for (int i = 0; i < 3; ++i) size[i] = std::atoll(argv[3 + i]);
  if (program == "line" || program == "claims" || program == "negated") {
    const kdl::Tensor x = MoveIn(context, "host", kdl::f32, {size[0]}, "x", Direction::In);
    const kdl::Tensor y = MoveIn(context, "host", kdl::f32, {size[0]}, "y", Direction::In);
    if (program == "line") {
      kernels::line(context, 2.5F, x, y, cores);
    } else if (program == "negated") {
      kernels::negated(context, 2.5F, x, y, cores);
    } else {
      kernels::claims(context, 2.5F, x, y, cores);
    }
    MoveOut(y, "y");
  } else if (program == "soft") {
    const kdl::Tensor x = MoveIn(context, "host", kdl::f32, {size[0], size[1]}, "x", Direction::In);
    const kdl::Tensor y =
        MoveIn(context, "host", kdl::f32, {size[0], size[1]}, "y", Direction::Out);
    kernels::soft(context, x, y, cores);
    MoveOut(y, "y");
  } else if (program == "half") {
    Halves(context, size[0], cores);
  } else {
    Product(context, program, size, cores);
  }
}
