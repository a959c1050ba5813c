// Hand-written loops that are as fast as the processor allows. They are compiled once for each
// processor level.
#pragma once

#include <cstdint>

namespace kdl::measure {

struct CeilingLoops {
  const char* name;  // name of the processor level
  int lanes;         // number of f32 values in a vector
  // Performs `steps` * kTerms fused multiply-adds on vectors of `lanes` values. They form as many
  // independent chains as fit in registers.
  void (*multiply_add)(std::int64_t steps);
  // Performs the same operations as multiply_add, and in each step also divides two of the results.
  void (*divide)(std::int64_t steps);
  // In the following loops, `count` is a multiple of 64 floats, and addresses are aligned to 64
  // bytes.
  float (*read)(const float* from, std::int64_t count);
  float (*read_ahead)(const float* from, std::int64_t count);  // like `read`, but with prefetches
  // Reads several regions in turn, one cache line at a time.
  float (*read_parts)(const float* from, std::int64_t count);
  void (*copy)(float* to, const float* from, std::int64_t count);
  void (*async_copy)(float* to, const float* from, std::int64_t count);
  void (*copy_parts)(float* to, const float* from, std::int64_t count);
  // The loops whose names end in `past_cache` use non-temporal stores.
  void (*copy_past_cache)(float* to, const float* from, std::int64_t count);
  void (*async_copy_past_cache)(float* to, const float* from, std::int64_t count);
  void (*copy_parts_past_cache)(float* to, const float* from, std::int64_t count);
  void (*write)(float* to, std::int64_t count);
  void (*write_past_cache)(float* to, std::int64_t count);
  // to = a + 3 b
  void (*triad)(float* to, const float* a, const float* b, std::int64_t count);
};

inline constexpr int kTerms = 24;

extern const CeilingLoops kLoopsBase;
extern const CeilingLoops kLoopsV3;
extern const CeilingLoops kLoopsV4;

}  // namespace kdl::measure
