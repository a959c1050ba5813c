#include "tools/measure/ceilings.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "support/machine.h"

namespace kdl::measure {

namespace {

constexpr std::int64_t kSteps = 20'000;

// One thread reads and writes up to this number of floats in less time than another thread needs to
// wake up.
constexpr std::int64_t kAlone = 4096;

// Rounds to a multiple of 64 floats, because the loops process 64 floats at a time.
std::int64_t Floats(double bytes) { return static_cast<std::int64_t>(bytes / 4 / 64 + 0.5) * 64; }

// Allocates an array and fills it with `value`. A large array uses large pages, to minimize the
// cost of address translation.
std::shared_ptr<float[]> Filled(std::int64_t count, float value) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 64)) * 4;
  const std::size_t alignment = bytes >= kLargePage ? kLargePage : 4096;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (alignment == kLargePage) AskForLargePages(memory, rounded);
  std::shared_ptr<float[]> floats(static_cast<float*>(memory), std::free);
  std::fill_n(floats.get(), rounded / 4, value);
  return floats;
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
  return static_cast<double>(kSteps * kTerms) * Loops().lanes * threads;
}

double ArithmeticDivisions(int threads) {
  return static_cast<double>(kSteps) * Loops().lanes * threads;
}

std::vector<Side> ArithmeticSides(int threads, const Share& share) {
  const auto side = [=](const char* name, void (*loop)(std::int64_t)) {
    return Side{name, [=] { share(threads, 1, [=](std::int64_t, std::int64_t) { loop(kSteps); }); },
                /*is_limit=*/true};
  };
  return {side("fma", Loops().multiply_add), side("fma and division", Loops().divide)};
}

std::vector<Side> StreamSides(const Traffic& bytes, const Share& share) {
  const std::int64_t reads = Floats(bytes.read);
  const std::int64_t writes = Floats(bytes.written);
  const std::int64_t both = std::min(reads, writes);
  const std::int64_t changes = Floats(bytes.changed);
  const std::shared_ptr<float[]> from = Filled(reads, 1);
  const std::shared_ptr<float[]> in_place = Filled(changes, 1);
  const std::shared_ptr<float[]> to = Filled(writes, 0);
  const CeilingLoops& loops = Loops();
  const auto spread = [=](std::int64_t count, const auto& part) {
    share(count, count <= kAlone ? kAlone : 64, part);
  };
  const auto side = [=](const char* name, auto read, auto copy, auto write) {
    return Side{name,
                [=] {
                  spread(changes, [&](std::int64_t first, std::int64_t count) {
                    copy(in_place.get() + first, in_place.get() + first, count);
                  });
                  spread(both, [&](std::int64_t first, std::int64_t count) {
                    copy(to.get() + first, from.get() + first, count);
                  });
                  spread(reads - both, [&](std::int64_t first, std::int64_t count) {
                    read(from.get() + both + first, count);
                  });
                  spread(writes - both, [&](std::int64_t first, std::int64_t count) {
                    write(to.get() + both + first, count);
                  });
                },
                /*is_limit=*/true};
  };
  // Some processors are faster with only their hardware prefetcher, others with prefetch
  // instructions.
  return {side("stream", loops.read, loops.copy, loops.write),
          side("stream ahead", loops.read_ahead, loops.async_copy, loops.write),
          side("stream in parts", loops.read_parts, loops.copy_parts, loops.write),
          side("stream past cache", loops.read, loops.copy_past_cache, loops.write_past_cache),
          side("stream ahead past cache", loops.read_ahead, loops.async_copy_past_cache,
               loops.write_past_cache),
          side("stream in parts past cache", loops.read_parts, loops.copy_parts_past_cache,
               loops.write_past_cache)};
}

}  // namespace kdl::measure
