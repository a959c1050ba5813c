// The floating-point state for which results are defined: rounding to nearest, subnormal numbers preserved,
// exceptions masked. A caller may use another state. A thread starts with the state of its creator.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace kdl::runtime {

#if defined(__x86_64__)

// kFloatControl selects the bits of a state that have to be equal to kFloatDefault. They do not include the
// exception flags.
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

// EnterFloatDefault sets the default state if another state is set, and returns the previous state.
// LeaveFloatDefault restores the previous state. That is necessary even if the previous state was the
// default, because loading a library that was linked with fast-math changes the state.
inline bool IsFloatDefault(std::uint64_t state) { return (state & kFloatControl) == kFloatDefault; }
inline std::uint64_t EnterFloatDefault() {
  const std::uint64_t before = FloatState();
  if (!IsFloatDefault(before)) SetFloatState(kFloatDefault);
  return before;
}
inline void LeaveFloatDefault(std::uint64_t before) {
  // Compare before writing, because reading a state that was just written takes 100 ns.
  if (!IsFloatDefault(before) || !IsFloatDefault(FloatState())) SetFloatState(before);
}

// Gives the calling thread the default state during its lifetime, and restores the previous state, unless that was
// the default. So the code that runs meanwhile must preserve the state. Reading the state at the end, as FloatScope
// does, would wait for all floating-point operations before it: 5 ns after a short kernel.
class FloatEntry {
 public:
  FloatEntry() : before_(EnterFloatDefault()) {}
  ~FloatEntry() {
    if (!IsFloatDefault(before_)) SetFloatState(before_);
  }
  FloatEntry(const FloatEntry&) = delete;
  FloatEntry& operator=(const FloatEntry&) = delete;

 private:
  std::uint64_t before_;
};

// Gives the calling thread the default state during its lifetime, whatever the code that runs meanwhile does.
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
