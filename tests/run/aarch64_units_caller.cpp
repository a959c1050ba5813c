// Runs one program of the file that shared/aarch64_units.py generates. Its arguments are PROGRAM DEVICE CORES
// M N K; tensors are read from NAME.in and written to NAME.out.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "orchestration_caller.h"
#include "units.h"

namespace {

using Tensor = kdl::Tensor;

struct Program {
  std::string_view name;
  kdl::Element a;
  kdl::Element b;
  kdl::Element c;
  void (*run)(const kdl::Context&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
              const Tensor&, const Tensor&, const Tensor&, std::int64_t, const units::Devices&);
};

const Program kPrograms[] = {
#define PROGRAM(A, B, C) {#A "_" #B, kdl::A, kdl::B, kdl::C, units::A##_##B},
#include "programs.inc"
};

void RunProgram(const Program& program, const char* device, std::int64_t cores, std::int64_t m,
                std::int64_t n, std::int64_t k) {
  kdl::Context context;
  context.Register(kdl_images_units);
  auto in = [&](kdl::Element element, std::int64_t rows, std::int64_t columns, const char* name) {
    return MoveIn(context, device, element, {rows, columns}, name, Direction::In);
  };
  auto out = [&](const char* name) {
    return MoveIn(context, device, program.c, {m, n}, name, Direction::Out);
  };
  const Tensor c = out("c"), d = out("d"), e = out("e");
  program.run(context, in(program.a, m, k, "a"), in(program.b, k, n, "b"),
              in(program.a, k, m, "at"), in(program.b, n, k, "bt"), c, d, e, cores, {device});
  MoveOut(c, "c");
  MoveOut(d, "d");
  MoveOut(e, "e");
}

}  // namespace

int main(int, char** argv) {
  for (const Program& program : kPrograms) {
    if (program.name != argv[1]) continue;
    try {
      RunProgram(program, argv[2], std::atoll(argv[3]), std::atoll(argv[4]), std::atoll(argv[5]),
                 std::atoll(argv[6]));
      return 0;
    } catch (const kdl::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 3;
    }
  }
  return 2;
}
