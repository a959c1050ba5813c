// Splits work into even shares for threads.
#pragma once

#include <cstdint>

namespace bench {

// Calls part(first, count) on each thread. Shares start at multiples of `grain`. If there is only one grain,
// the caller does all the work.
template <class Part>
void Share(int threads, std::int64_t count, std::int64_t grain, Part part) {
  if (count <= grain) return part(0, count);
  const std::int64_t grains = (count + grain - 1) / grain;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t first = grains * t / threads * grain;
    const std::int64_t end = grains * (t + 1) / threads * grain;
    if (first < end) part(first, (end < count ? end : count) - first);
  }
}

}  // namespace bench
