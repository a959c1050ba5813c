// The floating-point state that results are defined in: rounding to nearest, subnormal numbers kept, no exception that ends
// the process. A caller may have another one, and threads begin with that of the thread that starts them.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace kdl::runtime {

#if defined(__x86_64__)

// Exceptions that have been noted are no part of it.
constexpr std::uint64_t kFloatDefault = 0x1F80;
constexpr std::uint64_t kFloatControl = ~std::uint64_t{0x3F};

inline std::uint64_t FloatState() { return __builtin_ia32_stmxcsr(); }
inline void SetFloatState(std::uint64_t state) {
  __builtin_ia32_ldmxcsr(static_cast<unsigned>(state));
}

#elif defined(__aarch64__)

constexpr std::uint64_t kFloatDefault = 0;
constexpr std::uint64_t kFloatControl = ~std::uint64_t{0};

inline std::uint64_t FloatState() {
  std::uint64_t state = 0;
  asm volatile("mrs %0, fpcr" : "=r"(state)::"memory");
  return state;
}
inline void SetFloatState(std::uint64_t state) {
  asm volatile("msr fpcr, %0" ::"r"(state) : "memory");
}

#else

constexpr std::uint64_t kFloatDefault = FE_TONEAREST;
constexpr std::uint64_t kFloatControl = ~std::uint64_t{0};

inline std::uint64_t FloatState() { return static_cast<std::uint64_t>(std::fegetround()); }
inline void SetFloatState(std::uint64_t state) { std::fesetround(static_cast<int>(state)); }

#endif

// Sets the default state where there is another one, and gives what there was; and sets that again, whatever has been called
// meanwhile: a library that is linked with fast-math changes the state of the thread that loads it.
inline bool IsFloatDefault(std::uint64_t state) { return (state & kFloatControl) == kFloatDefault; }
inline std::uint64_t EnterFloatDefault() {
  const std::uint64_t before = FloatState();
  if (!IsFloatDefault(before)) SetFloatState(kFloatDefault);
  return before;
}
inline void LeaveFloatDefault(std::uint64_t before) {
  // To look at a state that has just been set takes 100 ns.
  if (!IsFloatDefault(before) || !IsFloatDefault(FloatState())) SetFloatState(before);
}

// The calling thread has the default state while it lives.
class FloatScope {
 public:
  FloatScope() : before_(EnterFloatDefault()) {}
  ~FloatScope() { LeaveFloatDefault(before_); }
  FloatScope(const FloatScope&) = delete;
  FloatScope& operator=(const FloatScope&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace kdl::runtime
