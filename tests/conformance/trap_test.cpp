// Tests traps: their messages, their scope, and that the device remains usable.
#include "conformance/conformance.h"

namespace kdl::conformance {
namespace {

constexpr const char* kIndexTrap =
    "suite.kdl:12:9: error: index 164 is outside dimension 0 of size 100 in 'y[i + N]'";

CONFORMANCE_TEST(TrapsReadLikeDiagnostics) {
  for (std::int64_t cores : {1, 3, 100, 5000}) {
    const Tensor y = bench.Upload(std::vector<std::int32_t>(100, 0), "y");
    std::string message;
    const Event event = bench.queue.Launch("trap_at", cores, {std::int64_t{64}, y});
    CHECK(CodeOf([&] { event.Wait(); }, &message) == KDL_ERROR_TRAP);
    CHECK(message.starts_with(kIndexTrap));
  }
}

CONFORMANCE_TEST(DevicesStayUsableAfterATrap) {
  const Tensor y = bench.Upload(std::vector<std::int32_t>(100, 0), "y");
  for (int round = 0; round < 5; ++round) {
    const Event trapped = bench.queue.Launch("trap_at", 4, {std::int64_t{64}, y});
    CHECK(CodeOf([&] { trapped.Wait(); }) == KDL_ERROR_TRAP);
    bench.queue.Fill(y, 0);
    bench.queue.Launch("trap_at", 4, {std::int64_t{-1}, y}).Wait();
    REQUIRE(Bench::Download<std::int32_t>(y) == std::vector<std::int32_t>(100, 1));
  }
}

CONFORMANCE_TEST(TrapsFailWhatFollows) {
  const Tensor y = bench.Upload(std::vector<std::int32_t>(100, 0), "y");
  const Tensor z = bench.Upload(std::vector<std::int32_t>(100, 7), "z");
  const Event trapped = bench.queue.Launch("trap_at", 4, {std::int64_t{64}, y});
  const Event copied = bench.sibling().queue().Copy(z, y, "result", {trapped});
  std::string message;
  CHECK(CodeOf([&] { copied.Wait(); }, &message) == KDL_ERROR_TRAP);
  CHECK(message.starts_with(kIndexTrap));
  CHECK(Bench::Download<std::int32_t>(z) == std::vector<std::int32_t>(100, 7));
}

CONFORMANCE_TEST(TrapsEndWaitingAtBarriers) {
  for (std::int64_t cores : {1, 2, 200}) {
    const Tensor x = bench.Upload<std::int64_t>({0}, "x");
    std::string message;
    const Event event = bench.queue.Launch("endless", cores, {x});
    CHECK(CodeOf([&] { event.Wait(); }, &message) == KDL_ERROR_TRAP);
    CHECK(message.starts_with("suite.kdl:30:5: error: assertion failed: enough"));
  }
}

}  // namespace
}  // namespace kdl::conformance
