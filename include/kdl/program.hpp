// Types that compiled programs use: the floating-point state, numbers of cores, sizes, and ranges of loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "kdl/errors.hpp"

namespace kdl::inline KDL_VERSIONED {

// Sets the floating-point state in which programs compute: rounding to nearest, with subnormal numbers. The
// destructor restores the caller's state.
class FloatState {
 public:
  FloatState() : before_(kdl_float_enter()) {}
  ~FloatState() { kdl_float_leave(before_); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
  std::uint64_t before_;
};

// The number of cores of a launch. If a caller passes KDL_CORES_AUTO, the launch uses as many cores as the
// device runs at once. A program passes a number that it has computed as Cores(n). In this case, the value
// KDL_CORES_AUTO has no special meaning.
struct CoreNum {
  CoreNum(std::int64_t core_num) : number(core_num) {}  // NOLINT: implicit
  std::int64_t number;
  bool is_computed = false;
};
inline CoreNum Cores(std::int64_t core_num) {
  CoreNum computed(core_num);
  computed.is_computed = true;
  return computed;
}

// A size that is being computed. An expression such as `Extent(M) * K + 1` records whether it divided by zero
// or overflowed 64 bits.
class Extent {
 public:
  Extent(std::int64_t value) : value_(value) {}  // NOLINT: implicit

  // Returns the value. If the computation divided by zero or overflowed, throws an error with the message
  // `trap`.
  std::int64_t Get(const char* trap) const {
    if (is_valid_) return value_;
    throw Error(KDL_ERROR_TRAP, trap);
  }

  friend Extent Min(Extent a, Extent b) {
    if (b.value_ < a.value_) a.value_ = b.value_;
    return a.Then(b, true);
  }
  friend Extent operator+(Extent a, Extent b) {
    return a.Then(b, !__builtin_add_overflow(a.value_, b.value_, &a.value_));
  }
  friend Extent operator-(Extent a, Extent b) {
    return a.Then(b, !__builtin_sub_overflow(a.value_, b.value_, &a.value_));
  }
  friend Extent operator*(Extent a, Extent b) {
    return a.Then(b, !__builtin_mul_overflow(a.value_, b.value_, &a.value_));
  }
  friend Extent operator/(Extent a, Extent b) {
    if (!a.Divides(b)) return a.Then(b, false);
    const bool inexact = a.value_ % b.value_ != 0 && (a.value_ < 0) != (b.value_ < 0);
    a.value_ = a.value_ / b.value_ - (inexact ? 1 : 0);
    return a.Then(b, true);
  }
  friend Extent operator%(Extent a, Extent b) {
    if (!a.Divides(b)) return a.Then(b, false);
    const std::int64_t rest = a.value_ % b.value_;
    a.value_ = rest != 0 && (rest < 0) != (b.value_ < 0) ? rest + b.value_ : rest;
    return a.Then(b, true);
  }

 private:
  bool Divides(Extent b) const { return b.value_ != 0 && (b.value_ != -1 || value_ != INT64_MIN); }
  Extent Then(Extent b, bool ok) const {
    Extent result = *this;
    result.is_valid_ = is_valid_ && b.is_valid_ && ok;
    return result;
  }

  std::int64_t value_;
  bool is_valid_ = true;
};

// Returns the text with each occurrence of `mark` replaced by the number.
inline std::string Filled(std::string text, const std::string& mark, std::int64_t number) {
  const std::string digits = std::to_string(number);
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), digits);
  return text;
}

// Checks a `where` clause of the source. Throws if the comparison fails. In `message`, {index} and {bound}
// are replaced by the values of the left and the right side.
template <class Compare>
void Require(std::int64_t left, Compare compare, std::int64_t right, const char* place,
             const char* message) {
  if (compare(left, right)) return;
  throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: " +
                                  Filled(Filled(message, "{index}", left), "{bound}", right));
}

// Checks an assertion of the source. Throws if it fails.
inline void Assert(bool holds, const char* place, const char* text) {
  if (holds) return;
  throw Error(KDL_ERROR_TRAP, std::string(place) + ": error: assertion failed: " + text);
}

// A range of the numbers lo, lo + step, … that are less than hi, for loops such as `for (const std::int64_t r
// : kdl::Steps(lo, hi, step))`.
class Steps {
 public:
  Steps(std::int64_t lo, std::int64_t hi, std::int64_t step = 1) : lo_(lo), step_(step) {
    if (step <= 0) {
      throw Error(KDL_ERROR_TRAP, "step " + std::to_string(step) + " of a loop is not positive");
    }
    if (lo < hi)
      count_ = (static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) - 1) /
                   static_cast<std::uint64_t>(step) +
               1;
  }

  struct Iterator {
    std::int64_t value;
    std::int64_t step;
    std::uint64_t left;

    std::int64_t operator*() const { return value; }
    Iterator& operator++() {
      __builtin_add_overflow(value, step, &value);  // the value may wrap after the last step
      --left;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left != other.left; }
  };
  Iterator begin() const { return {lo_, step_, count_}; }
  Iterator end() const { return {lo_, step_, 0}; }

 private:
  std::int64_t lo_;
  std::int64_t step_;
  std::uint64_t count_ = 0;
};

}  // namespace kdl::inline KDL_VERSIONED
