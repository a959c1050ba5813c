#include "ceiling.h"

#include <algorithm>
#include <cstdio>

#include "share.h"

namespace bench {

using kdl::measure::ArithmeticSides;
using kdl::measure::ArithmeticSlots;
using kdl::measure::Loops;
using kdl::measure::Median;
using kdl::measure::Series;
using kdl::measure::StreamSides;

namespace {

constexpr std::int64_t kLargeCount = std::int64_t{256} << 20;

std::string Rate(double units, const std::vector<double>& seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", units / Median(seconds) * 1e-9);
  return text;
}

}  // namespace

kdl::measure::Share SharedBy(int threads) {
  return [threads](std::int64_t count, std::int64_t grain, const auto& part) {
    Share(threads, count, grain, part);
  };
}

void PrintCeilings(int threads, kdl::measure::TrialLimits limits) {
  limits.seconds = std::min(limits.seconds, 10.0);
  const double bytes = static_cast<double>(kLargeCount) * 4;
  std::vector<Side> sides = {ArithmeticSides(threads, SharedBy(threads))[0]};
  const std::vector<Side> reads = StreamSides({bytes, 0}, SharedBy(threads));
  sides.insert(sides.end(), reads.begin(), reads.end());
  for (Side& side : StreamSides({bytes / 2, bytes / 2}, SharedBy(threads))) sides.push_back(side);
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
  const std::vector<Series> series = kdl::measure::MeasureInTurns(sides, limits);
  const auto rate = [&](double work, std::size_t side) { return Rate(work, series[side]); };
  const std::size_t copies = 1 + reads.size();
  const std::size_t triad = copies + reads.size();
  std::printf(
      "ceilings, %d thread%s, %s: fma %s GFLOP/s; read %s, prefetching %s, copy %s, past the "
      "caches %s, prefetching, too, %s, triad %s GB/s\n",
      threads, threads == 1 ? "" : "s", Loops().name, rate(2 * ArithmeticSlots(threads), 0).c_str(),
      rate(bytes, 1).c_str(), rate(bytes, 2).c_str(), rate(bytes, copies).c_str(),
      rate(bytes, copies + 2).c_str(), rate(bytes, copies + 3).c_str(),
      rate(bytes * 1.5, triad).c_str());
}

}  // namespace bench
