#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "interp/machine.h"
#include "interp/run.h"
#include "ir_text.h"

namespace kdl::interp {

/// A row-major tensor of a test.
template <class T>
struct Array {
  std::vector<int64_t> sizes;
  std::vector<T> data;

  explicit Array(std::vector<int64_t> s, T value = T{}) : sizes(std::move(s)) {
    size_t count = 1;
    for (int64_t size : sizes) count *= static_cast<size_t>(size);
    data.assign(count, value);
  }
  T& operator()(int64_t i) { return data[static_cast<size_t>(i)]; }
  T& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i * sizes[1] + j)]; }
};

inline Array<float> RandomFloats(std::vector<int64_t> sizes, uint64_t seed) {
  Array<float> made(std::move(sizes));
  std::mt19937_64 random(seed);
  for (float& value : made.data) {
    value = static_cast<float>(static_cast<int64_t>(random() >> 40) - (1 << 23)) * 0x1p-23F;
  }
  return made;
}

template <class T>
constexpr Scalar ScalarOf() {
  if constexpr (std::is_same_v<T, float>) return Scalar::F32;
  if constexpr (std::is_same_v<T, double>) return Scalar::F64;
  if constexpr (std::is_same_v<T, int32_t>) return Scalar::I32;
  if constexpr (std::is_same_v<T, int64_t>) return Scalar::I64;
  if constexpr (std::is_same_v<T, uint8_t>) return Scalar::Bool;
  return Scalar::BF16;  // uint16_t
}

template <class T>
TensorArgument Argument(Array<T>& array) {
  return {array.data.data(), ScalarOf<T>(), array.sizes, RowMajorStrides(array.sizes)};
}

/// A module that was read from KIR text and verified. Tests run its first function.
struct TestModule {
  ir::ReadText read;
  explicit TestModule(std::string text) : read(std::move(text)) {
    REQUIRE_MESSAGE(read.module, read.Errors());
  }
  const ir::Module& module() const { return *read.module; }
  const ir::Function& function(size_t i = 0) const { return *read.module->functions()[i]; }

  Result<std::optional<Trap>> TryRun(KernelArguments arguments, int64_t core_num = 1,
                                     uint64_t seed = 0) const {
    return RunKernel(module(), function(), arguments, core_num, {seed});
  }
  /// Runs the first function, which must end without failure or trap.
  void RunToEnd(KernelArguments arguments, int64_t core_num = 1, uint64_t seed = 0) const {
    Result<std::optional<Trap>> result = TryRun(std::move(arguments), core_num, seed);
    REQUIRE_MESSAGE(result.ok(), result.failure().message);
    REQUIRE_MESSAGE(!result->has_value(), ToString(**result));
  }
  /// Runs the first function, which must trap. Returns the trap's text.
  std::string TrapOf(KernelArguments arguments) const {
    Result<std::optional<Trap>> result = TryRun(std::move(arguments));
    REQUIRE_MESSAGE(result.ok(), result.failure().message);
    REQUIRE(result->has_value());
    return ToString(**result);
  }
  /// Runs the first function with arguments that it must reject. Returns the reason.
  std::string FailureOf(KernelArguments arguments, int64_t core_num = 1) const {
    Result<std::optional<Trap>> result = TryRun(std::move(arguments), core_num);
    REQUIRE(!result.ok());
    return result.failure().message;
  }
};

/// Runs the first function on one core step by step. `tensors` are the values of its tensor parameters, in
/// order.
struct SingleCore {
  TestModule test;
  Result<Image> image;
  Machine machine;

  SingleCore(std::string text, std::vector<TensorArgument> tensors)
      : test(std::move(text)),
        image(Prepare(test.module(), test.function(), [](Name) { return std::nullopt; })),
        machine(Checked(image), {}) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const TensorArgument& t = tensors[i];
      machine.BindTensor(
          i, {static_cast<std::byte*>(t.data), t.scalar, t.sizes, t.strides, TensorId()});
    }
  }
  static const Image& Checked(const Result<Image>& image) {
    REQUIRE_MESSAGE(image.ok(), image.failure().message);
    return *image;
  }
  std::string FaultAtEnd() {
    REQUIRE(machine.RunToEnd() == MachineState::Broken);
    return machine.fault();
  }
};

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline uint64_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

template <class T>
bool SameBits(const Array<T>& a, const Array<T>& b) {
  if (a.sizes != b.sizes) return false;
  for (size_t n = 0; n < a.data.size(); ++n) {
    if (std::memcmp(&a.data[n], &b.data[n], sizeof(T)) != 0) return false;
  }
  return true;
}

}  // namespace kdl::interp
