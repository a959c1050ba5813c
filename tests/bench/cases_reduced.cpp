// Benchmarks of results to which all blocks contribute: a product split along k, compared with a loop that
// sums it, and histograms, compared with plain C++.
#include <algorithm>
#include <vector>

#include "array.h"
#include "case.h"
#include "exact.h"
#include "reduced.h"
#include "share.h"

namespace bench {

namespace {

constexpr std::int64_t kSize = 1024;
constexpr std::int64_t kKeys = std::int64_t{1} << 24;

Task MakeSplit(const Host& host) {
  const Array<float> a({kSize, kSize});
  const Array<float> b({kSize, kSize});
  const Array<float> ours({kSize, kSize});
  const Array<float> looped({kSize, kSize});
  a.Fill(1);
  b.Fill(2);
  ours.Poison();
  looped.Poison();
  const kdl::Queue queue = host.queue;
  Task task;
  task.ours = [=, x = a.On(host), w = b.On(host), y = ours.On(host)] {
    reduced::split(queue, KDL_CORES_AUTO, x, w, y);
  };
  task.peers = {{"looped", [=, x = a.On(host), w = b.On(host), y = looped.On(host)] {
                   reduced::looped(queue, KDL_CORES_AUTO, x, w, y);
                 }}};
  const Exact exact = ExactProduct(Matrix<float>{a}, Matrix<float>{b}, kSize, kSize);
  task.judge = [=] { return Judge(ours, looped, {1e-3}, exact); };
  return task;
}

using Run = void (*)(const kdl::Queue&, std::int64_t, const kdl::Tensor&, const kdl::Tensor&);

// Each thread has its own counts, which are added at the end. A single thread counts directly in the result.
void Count(int threads, const Array<int>& key, const Array<int>& count) {
  if (threads == 1) {
    for (std::int64_t n = 0; n < key.count(); ++n) ++count[key[n]];
    return;
  }
  Share(threads, key.count(), 1, [&](std::int64_t first, std::int64_t number) {
    std::vector<int> own(static_cast<std::size_t>(count.count()));
    const int* keys = key.data() + first;
    for (std::int64_t n = 0; n < number; ++n) ++own[static_cast<std::size_t>(keys[n])];
#pragma omp critical
    for (std::int64_t b = 0; b < count.count(); ++b) count[b] += own[static_cast<std::size_t>(b)];
  });
}

struct Histogram {
  const char* name;
  Run run;
  std::int64_t bins;
  bool equal;  // all keys are equal
};

Task MakeHistogram(const Host& host, const Histogram& h) {
  const Array<int> key({kKeys});
  const Array<int> ours({h.bins});
  const Array<int> theirs({h.bins});
  std::uint64_t state = 1;
  for (std::int64_t n = 0; n < key.count(); ++n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    key[n] = h.equal ? 7 : static_cast<int>((state >> 33) % static_cast<std::uint64_t>(h.bins));
  }
  std::fill_n(ours.data(), ours.count(), 0);
  std::fill_n(theirs.data(), theirs.count(), 0);
  Task task;
  task.ours = [=, run = h.run, queue = host.queue, k = key.On(host), y = ours.On(host)] {
    run(queue, KDL_CORES_AUTO, k, y);
  };
  task.peers = {{"plain-c", [=, threads = host.threads] { Count(threads, key, theirs); }}};
  std::vector<int> counts(static_cast<std::size_t>(h.bins));
  for (std::int64_t n = 0; n < kKeys; ++n) ++counts[static_cast<std::size_t>(key[n])];
  const auto exact = [counts](std::int64_t i) { return counts[static_cast<std::size_t>(i)]; };
  task.judge = [=] { return Judge(ours, theirs, {}, exact); };
  return task;
}

}  // namespace

std::vector<Case> ReducedCases() {
  const auto size = static_cast<double>(kSize);
  std::vector<Case> cases = {{"split-k",
                              "f32",
                              "1024x1024x1024",
                              {8 * size * size, 4 * size * size, size * size * size},
                              MakeSplit}};
  for (const bool reduces : {false, true}) {
    for (const std::int64_t bins : {std::int64_t{256}, std::int64_t{65536}}) {
      for (const bool equal : {false, true}) {
        const Histogram h = {reduces ? "histogram-reduce" : "histogram-atomic",
                             reduces ? reduced::counted : reduced::updated, bins, equal};
        cases.push_back({h.name,
                         "i32",
                         std::to_string(bins) + (equal ? "-equal" : "-uniform"),
                         {4.0 * kKeys, 0, 0},
                         [h](const Host& host) { return MakeHistogram(host, h); }});
      }
    }
  }
  return cases;
}

}  // namespace bench
