#include "tools/suite/suite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "driver/run/npy.h"
#include "support/float_bits.h"

namespace kdl::tools {

namespace {

using driver::HostTensor;

/// The bound is this number of times the differences between the peer's results, and roundings.
constexpr double kFactor = 16;

size_t CountOf(const HostTensor& tensor) {
  return tensor.bytes.size() / static_cast<size_t>(Bytes(tensor.scalar));
}

double ValueOf(const HostTensor& tensor, size_t n) {
  return driver::ElementValue(tensor.scalar, driver::ElementBits(tensor, static_cast<int64_t>(n)));
}

std::vector<double> ValuesOf(const HostTensor& tensor) {
  std::vector<double> values(CountOf(tensor));
  if (tensor.scalar == Scalar::F64) {
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  } else {
    for (size_t n = 0; n < values.size(); ++n) values[n] = ValueOf(tensor, n);
  }
  return values;
}

/// Returns the relative rounding error of the type.
double RoundingOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::F16:
      return 0x1p-11;
    case Scalar::F32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

/// Returns `y[1, 2]` for the element n in row-major order.
std::string PlaceText(const CheckedOutput& output, size_t n) {
  std::string text;
  for (size_t d = output.ours.shape.size(); d-- > 0;) {
    auto size = static_cast<size_t>(output.ours.shape[d]);
    text = fmt::format("{}{}{}", n % size, text.empty() ? "" : ", ", text);
    n /= size;
  }
  return fmt::format("{}[{}]", output.name, text);
}

/// What is known about an output before it is compared, so that controls are compared quickly.
class ExpectedOutput {
 public:
  explicit ExpectedOutput(const CheckedOutput& output)
      : output_(output),
        is_float_(IsFloat(output.ours.scalar)),
        wide_(ValuesOf(output.wide)),
        perturbed_(ValuesOf(output.perturbed)),
        same_(ValuesOf(output.same)) {
    if (!is_float_) return;
    for (size_t n = 0; n < wide_.size(); ++n) {
      for (double other : {perturbed_[n], same_[n]}) {
        double difference = std::abs(other - wide_[n]);
        if (std::isfinite(difference)) noise_ = std::max(noise_, difference);
      }
    }
  }

  /// Returns the worst error. Without `whole`, stops at the first wrong element.
  std::pair<double, size_t> Worst(const HostTensor& tensor, bool whole) const {
    double worst = 0;
    size_t at = 0;
    std::vector<double> values = ValuesOf(tensor);
    for (size_t n = 0; n < values.size(); ++n) {
      double error = is_float_ ? FloatError(values[n], n) : WholeError(tensor, n);
      if (error <= worst) continue;
      worst = error;
      at = n;
      if (!whole && worst > 1) break;
    }
    return {worst, at};
  }

  const std::vector<double>& wide() const { return wide_; }

 private:
  static constexpr double kWrong = std::numeric_limits<double>::infinity();

  double FloatError(double value, size_t n) const {
    double wanted = wide_[n];
    if (std::isnan(wanted)) return std::isnan(value) ? 0 : kWrong;
    if (std::isinf(wanted)) return value == wanted ? 0 : kWrong;
    double difference = std::abs(value - wanted);
    if (difference == 0) return 0;
    double bound = kFactor * (noise_ + RoundingOf(output_.ours.scalar) * std::abs(wanted));
    double error = difference / bound;
    return std::isnan(error) ? kWrong : error;
  }

  double WholeError(const HostTensor& tensor, size_t n) const {
    auto index = static_cast<int64_t>(n);
    uint64_t bits = driver::ElementBits(tensor, index);
    for (const HostTensor* one : {&output_.wide, &output_.perturbed, &output_.same}) {
      if (driver::ElementBits(*one, index) == bits) return 0;
    }
    return kWrong;
  }

  const CheckedOutput& output_;
  bool is_float_;
  std::vector<double> wide_;
  std::vector<double> perturbed_;
  std::vector<double> same_;
  double noise_ = 0;
};

HostTensor FilledWith(HostTensor tensor, uint64_t bits) {
  for (size_t n = 0; n < CountOf(tensor); ++n)
    driver::SetElementBits(tensor, static_cast<int64_t>(n), bits);
  return tensor;
}

/// Returns the bits, as an f64, of the element rounded to half of the binary digits of its type.
uint64_t HalfOfDigits(Scalar scalar, double value) {
  int digits = scalar == Scalar::F64 ? 26 : scalar == Scalar::F32 ? 12 : 6;
  int exponent = 0;
  double fraction = std::frexp(value, &exponent);
  double rounded = std::ldexp(std::round(std::ldexp(fraction, digits)), exponent - digits);
  return FloatBits(scalar, std::isfinite(value) ? rounded : value);
}

HostTensor Rounded(HostTensor tensor) {
  for (size_t n = 0; n < CountOf(tensor); ++n)
    driver::SetElementBits(tensor, static_cast<int64_t>(n),
                           HalfOfDigits(tensor.scalar, ValueOf(tensor, n)));
  return tensor;
}

/// Changes the element in the middle by a quarter of the largest element.
HostTensor WithOneWrong(HostTensor tensor, const std::vector<double>& wide) {
  auto at = static_cast<int64_t>(CountOf(tensor) / 2);
  uint64_t bits = driver::ElementBits(tensor, at);
  double largest = 0;
  for (double value : wide)
    largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  double changed = driver::ElementValue(tensor.scalar, bits) + (largest > 0 ? largest / 4 : 1);
  bool is_whole = !IsFloat(tensor.scalar);
  uint64_t other =
      is_whole ? bits ^ 1 : FloatBits(tensor.scalar, std::isfinite(changed) ? changed : 1);
  driver::SetElementBits(tensor, at, other);
  return tensor;
}

HostTensor WithoutLastPart(HostTensor tensor) {
  size_t count = CountOf(tensor);
  for (size_t n = count - (count + 7) / 8; n < count; ++n)
    driver::SetElementBits(tensor, static_cast<int64_t>(n), driver::NumberBits(tensor.scalar, 0));
  return tensor;
}

HostTensor Shifted(HostTensor tensor) {
  auto bytes = static_cast<std::ptrdiff_t>(Bytes(tensor.scalar));
  if (!tensor.bytes.empty())
    std::rotate(tensor.bytes.begin(), tensor.bytes.begin() + bytes, tensor.bytes.end());
  return tensor;
}

/// Fills the tensor with the elements of an input of the same type, from the beginning again after its end.
HostTensor CopyOf(HostTensor tensor, const HostTensor& input) {
  for (size_t n = 0; n < tensor.bytes.size(); ++n)
    tensor.bytes[n] = input.bytes[n % input.bytes.size()];
  return tensor;
}

}  // namespace

SuiteError WorstError(const CheckedOutput& output) {
  const HostTensor& ours = output.ours;
  for (const HostTensor* other : {&output.wide, &output.perturbed, &output.same}) {
    if (other->shape != ours.shape)
      return {std::numeric_limits<double>::infinity(),
              fmt::format("'{}' has another shape", output.name)};
  }
  auto [worst, at] = ExpectedOutput(output).Worst(ours, true);
  if (worst <= 1) return {worst, {}};
  return {worst, fmt::format("{} is {}, not {}", PlaceText(output, at), ValueOf(ours, at),
                             ValueOf(output.wide, at))};
}

std::vector<std::string> AcceptedControls(const CheckedOutput& output,
                                          const std::vector<HostTensor>& inputs, bool& constant) {
  const HostTensor& ours = output.ours;
  ExpectedOutput expected(output);
  std::vector<std::pair<std::string, HostTensor>> controls;
  HostTensor constants = FilledWith(ours, CountOf(ours) > 0 ? driver::ElementBits(ours, 0) : 0);
  constant = CountOf(ours) > 1 && constants.bytes == ours.bytes;
  std::vector<std::string> accepted;
  auto try_one = [&](std::string_view name, const HostTensor& wrong) {
    // A control that is equal to the output is not wrong.
    if (wrong.bytes == ours.bytes || expected.Worst(wrong, false).first > 1) return;
    accepted.emplace_back(name);
  };
  if (CountOf(ours) == 0) return accepted;
  try_one("zeros", FilledWith(ours, driver::NumberBits(ours.scalar, 0)));
  try_one("ones", FilledWith(ours, driver::NumberBits(ours.scalar, 1)));
  try_one("one constant", constants);
  try_one("one wrong element", WithOneWrong(ours, expected.wide()));
  try_one("an unwritten part", WithoutLastPart(ours));
  try_one("shifted elements", Shifted(ours));
  if (IsFloat(ours.scalar)) try_one("half of the digits", Rounded(ours));
  for (const HostTensor& input : inputs) {
    if (input.scalar == ours.scalar && !input.bytes.empty())
      try_one("a copy of an input", CopyOf(ours, input));
  }
  return accepted;
}

}  // namespace kdl::tools
