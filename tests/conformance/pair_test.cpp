// Tests two devices at once. A pipeline on both devices must give the results of a single device, report
// which data was moved, and overlap work.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {
namespace {

constexpr std::int64_t kBatches = 8;
constexpr std::int64_t kSize = 12;

struct Pair {
  const char* first;
  const char* second;
};
constexpr Pair kPairs[] = {{"host?threads=1", "host?threads=2"},
                           {"host", "debug"},
                           {"debug", "debug[1]?seed=5"},
                           {"debug", "plugin:" KDL_SAMPLE_DEVICE},
                           {"plugin:" KDL_SAMPLE_DEVICE, "host"}};

std::vector<float> Numbers(std::int64_t seed) {
  std::vector<float> numbers(kSize * kSize);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>((static_cast<std::int64_t>(i) * 37 + seed * 11) % 101) / 7.0f;
  }
  return numbers;
}

// Runs layer 1 of all batches on one device and layer 2 on the other device. Each layer starts as soon as
// possible.
class Pipeline {
 public:
  Pipeline(const Context& context, const Device& first, const Device& second)
      : context_(context), first_(first), second_(second) {}

  std::vector<std::vector<float>> RunBatches() {
    const Tensor w1 = Put(first_, Numbers(100), "w1");
    const Tensor w2 = Put(second_, Numbers(200), "w2");
    std::vector<Tensor> results;
    for (std::int64_t batch = 0; batch < kBatches; ++batch) {
      const Tensor x = Put(first_, Numbers(batch), "x");
      const Tensor h = Make(first_, "h");
      const Event made = first_.queue().Launch("matmul", 3, {x, w1, h});
      const auto [there, moved] = second_.queue(1).Transfer(h, "layer 2 reads h", {made});
      results.push_back(Make(second_, "y"));
      second_.queue().Launch("matmul", 3, {there, w2, results.back()}, {moved});
    }
    second_.queue().Wait();
    std::vector<std::vector<float>> values;
    for (const Tensor& result : results) values.push_back(Bench::Download<float>(result));
    return values;
  }

 private:
  Tensor Make(const Device& device, const char* name) const {
    return context_.Allocate(device, f32, {kSize, kSize}, name);
  }
  Tensor Put(const Device& device, const std::vector<float>& values, const char* name) const {
    const Tensor tensor = Make(device, name);
    Mapping<float> mapping = tensor.Map<float>(KDL_MAP_WRITE);
    std::copy(values.begin(), values.end(), mapping.begin());
    mapping.Close();
    return tensor;
  }

  const Context& context_;
  Device first_;
  Device second_;
};

TEST_CASE(
    "Pair: a pipeline on two devices gives the same bits as on one, and reports what it moves") {
  std::vector<std::vector<float>> expected;
  {
    Context context;
    context.Register(kImages);
    const Device host = context.Select("host?threads=1");
    expected = Pipeline(context, host, host).RunBatches();
    CHECK(context.transfers().empty());
  }
  for (const Pair& pair : kPairs) {
    CAPTURE(std::string(pair.first));
    CAPTURE(std::string(pair.second));
    Context context;
    context.Register(kImages);
    const Device first = context.Select(pair.first);
    const Device second = context.Select(pair.second);
    CHECK(Pipeline(context, first, second).RunBatches() == expected);
    std::int64_t bytes = 0;
    for (const kdl_transfer& transfer : context.transfers()) {
      if (transfer.cause == std::string("map")) continue;
      CHECK(transfer.cause == std::string("layer 2 reads h"));
      CHECK(transfer.from == first.uri());
      CHECK(transfer.to == second.uri());
      CHECK(transfer.tensor == std::string("h"));
      CHECK(transfer.count == kBatches);
      bytes += transfer.bytes;
    }
    // If the devices share memory, nothing is moved.
    CHECK(bytes == (first.SharesMemoryWith(second) ? 0 : kBatches * kSize * kSize * 4));
  }
}

// Each of two kernels ends after the other kernel has started, or traps after a long time.
std::atomic<int> g_begun = 0;

std::int32_t Meet(const kdl_args*, kdl_core* core) {
  using Clock = std::chrono::steady_clock;
  ++g_begun;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
  while (g_begun < 2 && Clock::now() < end) std::this_thread::yield();
  if (g_begun == 2) return KDL_DONE;
  core->trap.code = KDL_TRAP_STUCK;
  core->trap.location = -1;
  return KDL_TRAPPED;
}

constexpr kdl_variant kMeetVariant = [] {
  kdl_variant variant = {};
  variant.entry = Meet;
  variant.symbol = "meet";
  variant.constants = "";
  return variant;
}();
constexpr kdl_kernel kMeet = {"meet", &kMeetVariant, 1, 0};

TEST_CASE("Pair: launches on two devices run at the same time") {
  kdl_image image = *kImages[0];  // a copy of an image of the right architecture
  image.module = "pair";
  image.kernels = &kMeet;
  image.kernel_count = 1;
  const kdl_image* const images[] = {&image, nullptr};
  for (const Pair& pair : kPairs) {
    CAPTURE(std::string(pair.first));
    CAPTURE(std::string(pair.second));
    g_begun = 0;
    Context context;
    context.Register(images);
    const Device first = context.Select(pair.first);
    const Device second = context.Select(pair.second);
    const Event one = first.queue().Launch("meet", 1, {});
    const Event other = second.queue().Launch("meet", 1, {});
    one.Wait();
    other.Wait();
  }
}

}  // namespace
}  // namespace kdl::conformance
