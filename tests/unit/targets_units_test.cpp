#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "targets/builtin_instructions.h"

// Compares the steps of matrix instructions with the results of real machines.

namespace kdl::targets {

TEST_CASE("units: every row of the tables is usable and has a unique name") {
  for (const ir::MatrixInstruction* instruction : BuiltinInstructions()) {
    CHECK_MESSAGE(ir::IsSound(*instruction), instruction->name);
    CHECK(std::ranges::count(BuiltinInstructions(), instruction->name,
                             &ir::MatrixInstruction::name) == 1);
  }
}

TEST_CASE("units: BFDOT rounds to odd, flushes subnormal numbers, and overflows to infinity") {
  struct Step {
    uint64_t a[2];
    uint64_t b[2];
    uint64_t acc;
    uint64_t after;  ///< the result, as an emulator of the architecture computes it
  };
  constexpr Step kSteps[] = {
      {{0x3f81, 0x3f83}, {0x3f85, 0x3f87}, 0x00000000, 0x40081a00},
      {{0x3f80, 0x3380}, {0x3f80, 0x3380}, 0x3f800000, 0x40000001},
      {{0x3f80, 0x0000}, {0x3f80, 0x0000}, 0xb3000000, 0x3f7fffff},
      {{0x7f7f, 0x3f80}, {0x7f7f, 0x3f80}, 0x00000000, 0x7f800000},
      {{0x7f7f, 0x0000}, {0x3f80, 0x0000}, 0x7f7fffff, 0x7f800000},
      {{0x0080, 0x0000}, {0x3f00, 0x0000}, 0x00000000, 0x00000000},
      {{0x007f, 0x0000}, {0x4000, 0x0000}, 0x007fffff, 0x00000000},
      {{0x3f80, 0xbf80}, {0x3f80, 0x3f80}, 0x80000000, 0x00000000},
      {{0x3f81, 0xbf81}, {0x3f83, 0x3f83}, 0x33800001, 0x33800001},
      {{0x7f00, 0xff00}, {0x4080, 0x4080}, 0x3f800000, 0x7fc00000},
      {{0x0100, 0x0000}, {0x3f7f, 0x0000}, 0x80ffff00, 0x80000000},
  };
  for (const Step& step : kSteps) {
    uint64_t a[] = {step.a[0] << 16, step.a[1] << 16};
    uint64_t b[] = {step.b[0] << 16, step.b[1] << 16};
    CHECK(ir::RunStep(cpu::kBf16Dot, step.acc, a, b) == step.after);
  }
}

TEST_CASE("units: BFMMLA adds two pairs, one after another") {
  // An emulator of the architecture gave this result: the second sum is added after the first sum was
  // rounded, not together with it.
  uint64_t a[] = {0x3f810000, 0x3f830000, 0x33800000, 0x00000000};
  uint64_t b[] = {0x3f850000, 0x3f870000, 0x3f800000, 0x00000000};
  CHECK(ir::RunStep(cpu::kBf16Matrix, 0, a, b) == 0x40081a01);
  uint64_t small[] = {0x3f800000, 0x33000000, 0xbf800000, 0x33000000};
  uint64_t ones[] = {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000};
  CHECK(ir::RunStep(cpu::kBf16Matrix, 0x80000000, small, ones) == 0x34400000);
}

}  // namespace kdl::targets
