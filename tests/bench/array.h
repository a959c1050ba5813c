// Aligned memory for operands. All compared implementations read the same inputs, and their outputs have the
// same layout.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "case.h"

namespace bench {

inline float ToFloat(kdl::Bf16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float result;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}
inline float ToFloat(kdl::F16 value) {
  _Float16 half;
  __builtin_memcpy(&half, &value.bits, sizeof half);
  return half;
}
template <class T>
double ToDouble(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return ToFloat(value);
  }
}

// Converts a number in [-1, 1) to type T: floats are unchanged, integers are scaled to their range.
template <class T>
T FromUnit(float unit) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(unit * 127.0f);
  } else if constexpr (std::is_same_v<T, kdl::Bf16>) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &unit, sizeof bits);
    return {static_cast<std::uint16_t>(bits >> 16)};
  } else if constexpr (std::is_same_v<T, kdl::F16>) {
    const auto half = static_cast<_Float16>(unit);
    T result;
    __builtin_memcpy(&result, &half, sizeof result);
    return result;
  } else {
    return unit;
  }
}

// An array as a tensor of a device. Keeps the array's memory alive.
class Operand {
 public:
  Operand(kdl::Tensor tensor, std::shared_ptr<void> memory)
      : tensor_(std::move(tensor)), memory_(std::move(memory)) {}
  operator const kdl::Tensor&() const { return tensor_; }  // NOLINT: implicit

 private:
  kdl::Tensor tensor_;
  std::shared_ptr<void> memory_;
};

// A row-major array; copies share the memory.
template <class T>
class Array {
 public:
  explicit Array(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    for (std::int64_t size : sizes_) count_ *= size;
    // Large arrays use large pages, so that address translation does not slow down any implementation.
    const std::size_t alignment = bytes() >= kLargePage ? kLargePage : 4096;
    const std::size_t rounded = (bytes() + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    if (alignment == kLargePage) madvise(memory, rounded, MADV_HUGEPAGE);
    data_.reset(static_cast<T*>(memory), std::free);
  }

  // Fills the array with numbers in [-1, 1) that only depend on the seed.
  const Array& Fill(std::uint64_t seed) const {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (std::int64_t i = 0; i < count_; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      data_[i] = FromUnit<T>(static_cast<float>(state >> 40) * 0x1p-23f - 1.0f);
    }
    return *this;
  }
  // Fills the array with a value that no kernel writes, so that missing elements are noticed.
  const Array& Poison() const {
    __builtin_memset(static_cast<void*>(data()), 0x7f, bytes());
    return *this;
  }

  T* data() const { return data_.get(); }
  T& operator[](std::int64_t index) const { return data_.get()[index]; }
  std::int64_t count() const { return count_; }
  std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

  Operand On(const Host& host) const {
    return {host.context.Wrap(host.device, data(), sizes_), data_};
  }

 private:
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;

  std::vector<std::int64_t> sizes_;
  std::int64_t count_ = 1;
  std::shared_ptr<T[]> data_;
};

}  // namespace bench
