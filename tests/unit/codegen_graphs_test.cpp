#include <doctest/doctest.h>

#include "codegen_run.h"
#include "drawn_count.h"
#include "interp/run.h"
#include "interp_run.h"
#include "stage_graph_text.h"
#include "stage_graphs.h"

namespace kdl::codegen {

namespace {

/// Returns the prefix of messages about a location: `FILE:LINE:COLUMN: `.
std::string PlaceOf(const kdl_variant& variant, int32_t location) {
  const kdl_location& place = variant.locations[location];
  return fmt::format("{}:{}:{}: ", place.file, place.line, place.column);
}

std::string WaitsOf(const kdl_variant& variant, const kdl_trap& trap) {
  std::string text;
  for (int32_t wait : trap.waits) {
    if (wait == 0) continue;
    text +=
        (text.empty() ? "" : "; ") + PlaceOf(variant, wait - 1) + variant.locations[wait - 1].text;
  }
  return text;
}

void CheckSameTrap(const interp::Trap& expected, const kdl_variant& variant, const kdl_trap& trap) {
  CHECK(trap.code == expected.code);
  CHECK(PlaceOf(variant, trap.location) == interp::ToString(expected.op->loc()) + ": ");
  if (expected.code == KDL_TRAP_STUCK) {
    CHECK(WaitsOf(variant, trap) == expected.text);
  } else {
    CHECK(trap.index == expected.index);
    CHECK(trap.bound == expected.bound);
    CHECK(std::string(variant.locations[trap.location].text) == interp::QuotedText(*expected.op));
  }
}

struct Results {
  interp::Array<int64_t> y;
  interp::Array<float> z;
  explicit Results(int64_t cores)
      : y({cores, test::kMostStages}, -1), z({cores, test::kMostStages, test::kLanes}, -1) {}
};

/// Compares one launch of a kernel with the interpreter: results must have the same bits, and traps the same
/// text.
void CheckGraph(const interp::TestModule& reference, const LoadedModule& compiled, size_t kernel,
                int64_t blocks, int64_t cores) {
  const std::string name = reference.function(kernel).name.str();
  CAPTURE(name);
  CAPTURE(blocks);
  CAPTURE(cores);
  Results expected(cores);
  interp::KernelArguments arguments{
      {Argument(expected.y), Argument(expected.z)}, {static_cast<uint64_t>(blocks)}, {}};
  auto ran =
      interp::RunKernel(reference.module(), reference.function(kernel), arguments, cores, {});
  REQUIRE_MESSAGE(ran.ok(), ran.failure().message);
  Results found(cores);
  Outcome outcome = compiled.LaunchKernel(name, {{cores},
                                                 {TensorOf(found.y.data.data(), found.y.sizes),
                                                  TensorOf(found.z.data.data(), found.z.sizes)},
                                                 {static_cast<uint64_t>(blocks)},
                                                 cores});
  CHECK(outcome.code == (ran->has_value() ? KDL_TRAPPED : KDL_DONE));
  CHECK(outcome.stopped == ran->has_value());
  if (ran->has_value() && outcome.code == KDL_TRAPPED)
    CheckSameTrap(**ran, compiled.variant(name), outcome.trap);
  CHECK(interp::SameBits(expected.y, found.y));
  CHECK(interp::SameBits(expected.z, found.z));
}

void Checgraphs(uint64_t first_seed, uint64_t count, int opt_level, const Processor& processor) {
  std::string text;
  for (uint64_t seed = first_seed; seed < first_seed + count; ++seed)
    text += test::GraphText(test::GraphDraw(seed).Draw()).Write(fmt::format("k{}", seed));
  interp::TestModule reference(text);
  LoadedModule compiled(text, opt_level, processor);
  for (size_t kernel = 0; kernel < count; ++kernel) {
    for (auto [blocks, cores] : {std::pair<int64_t, int64_t>{7, 1}, {11, 3}, {0, 1}})
      CheckGraph(reference, compiled, kernel, blocks, cores);
  }
}

}  // namespace

TEST_CASE("compiled stages and pipes of random graphs give the interpreter's results") {
  const uint64_t graphs = test::DrawnCount(15);
  Checgraphs(1, graphs, 0, X86Processor());
  Checgraphs(1001, graphs, 1, X86Processor());
  Checgraphs(2001, graphs, 2, X86Processor());
  Checgraphs(3001, graphs, 3, X86Processor());
  if (__builtin_cpu_supports("avx512f") != 0) Checgraphs(4001, graphs, 3, Avx512Processor());
}

}  // namespace kdl::codegen
