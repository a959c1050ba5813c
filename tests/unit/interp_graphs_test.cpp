#include <doctest/doctest.h>

#include "drawn_count.h"
#include "interp_run.h"
#include "stage_graph_text.h"
#include "stage_graphs.h"

namespace kdl::interp {

namespace {

struct GraphRun {
  std::string trap;  ///< empty if the kernel has run to completion
  Array<int64_t> y;
  Array<float> z;
};

GraphRun RunGraph(const TestModule& test, size_t kernel, int64_t blocks, int64_t cores,
                  uint64_t seed = 0) {
  GraphRun run{"", Array<int64_t>({cores, test::kMostStages}, -1),
               Array<float>({cores, test::kMostStages, test::kLanes}, -1)};
  KernelArguments arguments{
      {Argument(run.y), Argument(run.z)}, {static_cast<uint64_t>(blocks)}, {}};
  auto ran = RunKernel(test.module(), test.function(kernel), arguments, cores, {seed});
  REQUIRE_MESSAGE(ran.ok(), ran.failure().message);
  if (ran->has_value()) run.trap = ToString(**ran);
  return run;
}

void CheckModel(const test::StageGraph& graph, int64_t blocks, int64_t cores, const GraphRun& run) {
  test::GraphModel model(graph, blocks, cores);
  for (int64_t core = 0; core < cores; ++core) {
    std::vector<test::StageEnd> ends = model.RunCore(core);
    for (size_t s = 0; s < ends.size(); ++s) {
      size_t at = static_cast<size_t>(core * test::kMostStages) + s;
      CHECK(run.y.data[at] == static_cast<int64_t>(ends[s].number));
      CHECK(std::memcmp(&run.z.data[at * test::kLanes], ends[s].vector.data(),
                        sizeof ends[s].vector) == 0);
    }
  }
}

}  // namespace

TEST_CASE("random stages and pipes give the results of a model, for all depths and orders") {
  uint64_t plain = 0;
  uint64_t stuck = 0;
  uint64_t other_traps = 0;
  const uint64_t graphs = test::DrawnCount(1000);
  for (uint64_t seed = 1; seed <= graphs; ++seed) {
    CAPTURE(seed);
    test::StageGraph graph = test::GraphDraw(seed).Draw();
    TestModule test(test::GraphText(graph).Write("k"));
    for (auto [blocks, cores] : {std::pair<int64_t, int64_t>{7, 1}, {11, 3}, {1, 2}}) {
      GraphRun run = RunGraph(test, 0, blocks, cores);
      if (graph.plain()) {
        CHECK(run.trap == "");
        CheckModel(graph, blocks, cores, run);
        ++plain;
      } else if (!run.trap.empty()) {
        ++(Contains(run.trap, "no stage can continue") ? stuck : other_traps);
      }
      if (!run.trap.empty()) continue;
      GraphRun mixed = RunGraph(test, 0, blocks, cores, seed);
      CHECK(mixed.trap == "");
      CHECK(SameBits(run.y, mixed.y));
      CHECK(SameBits(run.z, mixed.z));
    }
  }
  // The random kernels cover all outcomes.
  CHECK(plain > graphs / 2);
  CHECK(stuck > graphs / 40);
  CHECK(other_traps > graphs / 40);
}

}  // namespace kdl::interp
