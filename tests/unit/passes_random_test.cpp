#include "passes_random.h"

#include "passes_run.h"

namespace kdl::passes {

TEST_CASE("random kernels do the same before and after every pass of the lowering") {
  int trapped = 0;
  int ended = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed ", seed);
    std::string text = RandomKernel(seed).Text();
    LoweringRuns runs =
        CheckLowering(text, {{{"M", 5}, {"N", 9}}, {{"M", 1}, {"N", 0}}, {{"M", 9}, {"N", 75}}});
    trapped += runs.trapped;
    ended += runs.ended;
  }
  CHECK(trapped > 50);
  CHECK(ended > 500);
}

}  // namespace kdl::passes
