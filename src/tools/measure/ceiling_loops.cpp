// Compiled once for each processor level. KDL_LEVEL is the suffix of the level's table in
// ceiling_loops.h.
#include "tools/measure/ceiling_loops.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define KDL_JOIN2(a, b) a##b
#define KDL_JOIN(a, b) KDL_JOIN2(a, b)
#define KDL_TEXT2(a) #a
#define KDL_TEXT(a) KDL_TEXT2(a)

namespace kdl::measure {

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

// All chains of dependent operations and two constants must fit in registers. Without AVX-512, x86
// has only 16 vector registers.
#if defined(__SSE2__) && !defined(__AVX512F__)
constexpr int kIndependentSums = 12;
#else
constexpr int kIndependentSums = 24;
#endif
static_assert(kTerms % kIndependentSums == 0);

typedef float Vector __attribute__((vector_size(kLanes * 4)));

// Returns the value, but hides it from the compiler's optimizations.
Vector Hide(Vector value) {
#if defined(__SSE2__)
  asm volatile("" : "+v"(value));
#else
  asm volatile("" : "+w"(value));
#endif
  return value;
}

Vector Load(const float* from) { return *reinterpret_cast<const Vector*>(from); }
void Store(float* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }

void Stream(float* to, Vector value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, value);
#elif defined(__AVX__)
  _mm256_stream_ps(to, value);
#elif defined(__SSE2__)
  _mm_stream_ps(to, value);
#else
  Store(to, value);
#endif
}

void FinishStreams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <bool divides>
void MultiplyAdd(std::int64_t steps) {
  const Vector scale = Hide(Vector{} + 0.5f);
  const Vector shift = Hide(Vector{} + 1.0f);
  Vector sums[kIndependentSums];
#pragma GCC unroll 24
  for (Vector& sum : sums) sum = Hide(Vector{});
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
    for (int term = 0; term < kTerms; ++term) {
      Vector& sum = sums[term % kIndependentSums];
      sum = sum * scale + shift;
    }
    if constexpr (divides) Hide(sums[0] / sums[1]);
  }
#pragma GCC unroll 24
  for (Vector& sum : sums) Hide(sum);
}

constexpr int kUnroll = 8;

constexpr int kLineFloats = 16;

// Prefetches one cache line, for processors whose hardware prefetcher does not reach far enough
// ahead.
template <bool ahead>
void LookAhead(const float* from) {
  constexpr int kBytes = 2048;
  if constexpr (ahead) __builtin_prefetch(reinterpret_cast<const char*>(from) + kBytes);
}

template <bool ahead>
float Read(const float* from, std::int64_t count) {
  Vector sums[kUnroll] = {};
  std::int64_t i = 0;
  for (; i + kUnroll * kLanes <= count; i += kUnroll * kLanes) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnroll; ++u) {
      if (u * kLanes % kLineFloats == 0) LookAhead<ahead>(from + i + u * kLanes);
      sums[u] += Load(from + i + u * kLanes);
    }
  }
  for (; i < count; i += kLanes) sums[0] += Load(from + i);
  Vector sum = sums[0];
  for (int u = 1; u < kUnroll; ++u) sum += sums[u];
  return Hide(sum)[0];
}

// Stores value(i) for each vector, and calls begin(i) before each cache line. If `past_cache`, uses
// non-temporal stores.
template <bool past_cache, class Begin, class Value>
void Fill(float* to, std::int64_t count, Begin begin, Value value) {
  if constexpr (past_cache) {
    // Process one cache line at a time, because bursts of four lines take a seventh longer.
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < count; i += kLineFloats) {
      begin(i);
#pragma GCC unroll 4
      for (int u = 0; u < kLineFloats; u += kLanes) Stream(to + i + u, value(i + u));
    }
    FinishStreams();
  } else {
    for (std::int64_t i = 0; i < count; i += 64) {
#pragma GCC unroll 16
      for (int u = 0; u < 64; u += kLanes) {
        if (u % kLineFloats == 0) begin(i + u);
        Store(to + i + u, value(i + u));
      }
    }
  }
}

constexpr auto kBeginNothing = [](std::int64_t) {};

template <bool past_cache, bool ahead>
void Copy(float* to, const float* from, std::int64_t count) {
  const auto begin = [from](std::int64_t i) { LookAhead<ahead>(from + i); };
  // Without Hide, GCC would replace the loop with a call to memcpy.
  Fill<past_cache>(to, count, begin, [from](std::int64_t i) { return Hide(Load(from + i)); });
}

// Processors prefetch several streams at once. In total, that reaches further ahead than
// prefetching a single stream.
constexpr int kReadParts = 8;
constexpr int kCopyParts = 4;

constexpr std::int64_t PartLength(std::int64_t count, int parts) {
  return count / parts / kLineFloats * kLineFloats;
}

float ReadParts(const float* from, std::int64_t count) {
  const std::int64_t part = PartLength(count, kReadParts);
  Vector sums[kReadParts] = {};
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < part; i += kLineFloats) {
#pragma GCC unroll 8
    for (int p = 0; p < kReadParts; ++p) {
#pragma GCC unroll 4
      for (int u = 0; u < kLineFloats; u += kLanes) sums[p] += Load(from + p * part + i + u);
    }
  }
  Vector sum = {};
  for (const Vector& one : sums) sum += one;
  const std::int64_t taken = kReadParts * part;
  return Hide(sum)[0] + Read<false>(from + taken, count - taken);
}

template <bool past_cache>
void CopyParts(float* to, const float* from, std::int64_t count) {
  const std::int64_t part = PartLength(count, kCopyParts);
#pragma GCC unroll 1
  for (std::int64_t i = 0; i < part; i += kLineFloats) {
#pragma GCC unroll 4
    for (int p = 0; p < kCopyParts; ++p) {
      const std::int64_t line = p * part + i;
#pragma GCC unroll 4

      for (int u = 0; u < kLineFloats; u += kLanes) {
        const Vector value = Hide(Load(from + line + u));
        if constexpr (past_cache) {
          Stream(to + line + u, value);
        } else {
          Store(to + line + u, value);
        }
      }
    }
  }
  const std::int64_t taken = kCopyParts * part;
  Copy<past_cache, false>(to + taken, from + taken, count - taken);
}

template <bool past_cache>
void Write(float* to, std::int64_t count) {
  const Vector value = Hide(Vector{});
  Fill<past_cache>(to, count, kBeginNothing, [value](std::int64_t) { return value; });
}

void Triad(float* to, const float* a, const float* b, std::int64_t count) {
  Fill<false>(to, count, kBeginNothing,
              [a, b](std::int64_t i) { return Load(a + i) + Load(b + i) * 3.0f; });
}

}  // namespace

const CeilingLoops KDL_JOIN(kLoops, KDL_LEVEL) = {
    KDL_TEXT(KDL_LEVEL), kLanes,           MultiplyAdd<false>, MultiplyAdd<true>,
    Read<false>,         Read<true>,       ReadParts,          Copy<false, false>,
    Copy<false, true>,   CopyParts<false>, Copy<true, false>,  Copy<true, true>,
    CopyParts<true>,     Write<false>,     Write<true>,        Triad};

}  // namespace kdl::measure
