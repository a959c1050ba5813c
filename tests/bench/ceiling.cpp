#include "ceiling.h"

#include <algorithm>
#include <cstdio>

#include "share.h"

namespace bench {

namespace {

constexpr std::int64_t kSteps = 20'000;
constexpr std::int64_t kLargeCount = std::int64_t{256} << 20;

// The loops take 64 floats at a time.
std::int64_t Floats(double bytes) { return static_cast<std::int64_t>(bytes / 4 / 64 + 0.5) * 64; }

std::string Rate(double units, const std::vector<double>& seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", units / Median(seconds) * 1e-9);
  return text;
}

}  // namespace

const CeilingLoops& Loops() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return kLoopsV4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kLoopsV3;
#endif
  return kLoopsBase;
}

double ArithmeticSlots(int threads) {
  return static_cast<double>(kSteps * kChains) * Loops().lanes * threads;
}

double ArithmeticDivisions(int threads) {
  return static_cast<double>(kSteps) * Loops().lanes * threads;
}

std::vector<Side> ArithmeticSides(int threads) {
  const auto side = [threads](const char* name, void (*loop)(std::int64_t)) {
    return Side{name, [=] {
                  Share(threads, threads, 1, [=](std::int64_t, std::int64_t) { loop(kSteps); });
                }};
  };
  return {side("fma", Loops().multiply_add), side("fma and division", Loops().divide)};
}

std::vector<Side> StreamSides(const Work& work, int threads) {
  const std::int64_t reads = Floats(work.read_bytes);
  const std::int64_t writes = Floats(work.written_bytes);
  const std::int64_t both = std::min(reads, writes);
  const Array<float> from({std::max<std::int64_t>(reads, 64)});
  const Array<float> to({std::max<std::int64_t>(writes, 64)});
  from.Fill(1);
  to.Poison();
  const CeilingLoops& loops = Loops();
  const auto side = [=](const char* name, auto read, auto copy, auto write) {
    return Side{name, [=] {
                  Share(threads, both, 64, [&](std::int64_t first, std::int64_t count) {
                    copy(to.data() + first, from.data() + first, count);
                  });
                  Share(threads, reads - both, 64, [&](std::int64_t first, std::int64_t count) {
                    read(from.data() + both + first, count);
                  });
                  Share(threads, writes - both, 64, [&](std::int64_t first, std::int64_t count) {
                    write(to.data() + both + first, count);
                  });
                }};
  };
  return {
      side("stream", loops.read, loops.copy, loops.write),
      side("stream past cache", loops.read_ahead, loops.copy_past_cache, loops.write_past_cache)};
}

void PrintCeilings(int threads, TrialLimits limits) {
  limits.seconds = std::min(limits.seconds, 10.0);
  const double bytes = static_cast<double>(kLargeCount) * 4;
  std::vector<Side> sides = {ArithmeticSides(threads)[0]};
  for (Side& side : StreamSides({bytes, 0, 0}, threads)) sides.push_back(side);
  for (Side& side : StreamSides({bytes / 2, bytes / 2, 0}, threads)) sides.push_back(side);
  const Array<float> a({kLargeCount / 2});
  const Array<float> b({kLargeCount / 2});
  const Array<float> c({kLargeCount / 2});
  a.Fill(1);
  b.Fill(2);
  c.Poison();
  sides.push_back({"triad", [&] {
                     Share(threads, a.count(), 64, [&](std::int64_t first, std::int64_t count) {
                       Loops().triad(c.data() + first, a.data() + first, b.data() + first, count);
                     });
                   }});
  const std::vector<Series> series = TakeTurns(sides, limits);
  std::printf(
      "ceilings, %d thread%s, %s: fma %s GFLOP/s; read %s, prefetching %s, copy %s, "
      "prefetching and past the caches %s, triad %s GB/s\n",
      threads, threads == 1 ? "" : "s", Loops().name,
      Rate(2 * ArithmeticSlots(threads), series[0]).c_str(), Rate(bytes, series[1]).c_str(),
      Rate(bytes, series[2]).c_str(), Rate(bytes, series[3]).c_str(),
      Rate(bytes, series[4]).c_str(), Rate(bytes * 1.5, series[5]).c_str());
}

}  // namespace bench
