// Hand-written loops that no kernel can beat, compiled once for each processor level.
#pragma once

#include <cstdint>

namespace kdl::measure {

struct CeilingLoops {
  const char* name;  // of the level
  int lanes;         // f32 numbers in a vector
  // `steps` times kTerms fused multiply-adds on vectors of `lanes`, in as many chains as the registers hold.
  void (*multiply_add)(std::int64_t steps);
  // The same, and in each step the quotient of two of their results.
  void (*divide)(std::int64_t steps);
  // `count` is a multiple of 64 floats, the addresses are aligned to 64 bytes.
  float (*read)(const float* from, std::int64_t count);
  float (*read_ahead)(const float* from, std::int64_t count);  // prefetches
  float (*read_parts)(const float* from,
                      std::int64_t count);  // a line of each of several parts in turn
  void (*copy)(float* to, const float* from, std::int64_t count);
  void (*async_copy)(float* to, const float* from, std::int64_t count);
  void (*copy_parts)(float* to, const float* from, std::int64_t count);
  // Stores past the caches.
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
