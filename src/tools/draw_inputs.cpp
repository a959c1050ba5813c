#include "tools/draw_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "driver/draw.h"
#include "interp/contract.h"
#include "support/float_bits.h"
#include "tools/input_rules.h"

namespace kdl::tools {

namespace {

using driver::BoundArgument;
using driver::HostTensor;

constexpr int kRounds = 60;
constexpr size_t kMostBroken = 4096;

int64_t Count(const HostTensor& tensor) {
  return static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
}

uint64_t BitsOf(Scalar scalar, const Number& value) {
  return IsFloat(scalar) ? FloatBits(scalar, value.real)
                         : driver::NumberBits(scalar, value.integer);
}

/// The largest of a type, of u64 the largest that an i64 holds.
int64_t MostOf(Scalar scalar) {
  int value_bits = Info(scalar).bits - (IsSigned(scalar) ? 1 : 0);
  return value_bits >= 63 ? INT64_MAX : (int64_t{1} << value_bits) - 1;
}

/// The integers from low on, so many; 0: all of 64 bits.
struct Interval {
  int64_t low;
  uint64_t width;
};
/// Those within the rule and the type: 101 of them where only one end is known.
Interval IntervalOf(Scalar scalar, const InputRule& rule) {
  int64_t most = MostOf(scalar);
  int64_t least = IsSigned(scalar) ? -most - 1 : 0;
  bool open = !rule.low && !rule.high;
  int64_t low = rule.low ? rule.low->value.integer : open ? -100 : rule.high->value.integer - 100;
  int64_t high = rule.high ? rule.high->value.integer : low + (open ? 200 : 100);
  low = std::clamp(low, least, most);
  high = std::clamp(high, low, most);
  return {low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1};
}

uint64_t DrawInteger(Scalar scalar, const InputRule& rule, uint64_t seed, uint64_t n) {
  if (!rule.low && !rule.high) return driver::DrawElement(scalar, seed, n);
  auto [low, width] = IntervalOf(scalar, rule);
  uint64_t x = driver::DrawElement(Scalar::U64, seed, n) +
               101 * driver::DrawElement(Scalar::U64, seed + 7, n);
  x += 10201 * driver::DrawElement(Scalar::U64, seed + 11, n);
  return driver::NumberBits(scalar, low + static_cast<int64_t>(width == 0 ? x : x % width));
}

uint64_t DrawFloat(Scalar scalar, const InputRule& rule, uint64_t seed, uint64_t n) {
  uint64_t drawn = driver::DrawElement(scalar, seed, n);
  bool low = rule.low && std::isfinite(rule.low->value.real);
  bool high = rule.high && std::isfinite(rule.high->value.real);
  if (!low && !high) return drawn;
  double from = low ? rule.low->value.real : std::min(-1.0, rule.high->value.real - 2);
  double to = high ? rule.high->value.real : std::max(1.0, rule.low->value.real + 2);
  double unit = driver::ElementValue(Scalar::F64, driver::DrawElement(Scalar::F64, seed, n));
  return FloatBits(scalar, from + (to - from) * (0.5 + 0.49 * unit));
}

class Drawer {
 public:
  Drawer(const driver::BoundContract& contract, uint64_t seed, driver::BoundProgram& bound)
      : contract_(contract), seed_(seed), bound_(bound), data_(DataOf(contract, bound, bound)) {
    rules_ = ReadRules(*contract.contract, data_);
  }

  /// False where nothing can fulfil the bounds.
  bool DrawAll() {
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      if (!IsInput(i)) continue;
      HostTensor& tensor = bound_.arguments[i].tensor;
      const InputRule& rule = rules_[static_cast<uint32_t>(i)];
      if (Count(tensor) > 0 && IsEmpty(tensor.scalar, rule)) return false;
      for (int64_t n = 0; n < Count(tensor); ++n) Draw(i, n, 0);
      if (rule.distinct && IsInteger(tensor.scalar) && !MakeDistinct(tensor, rule)) return false;
      if (rule.ascending) Sort(tensor);
      Fix(tensor, rule);
    }
    return true;
  }

  /// Draws what broken requirements read until all hold. What still does not, or nothing.
  std::optional<interp::ContractFailure> Repair() {
    std::optional<interp::ContractFailure> broken;
    for (uint64_t round = 1; round <= kRounds; ++round) {
      broken = RepairOnce(round);
      if (!broken) return std::nullopt;
    }
    Permute();
    auto left = interp::BrokenRequirements(*contract_.contract, data_, 1);
    return left.empty() ? std::nullopt : std::optional(left[0]);
  }

  /// Puts the value into some elements of the floats; false where that breaks a requirement, or there are none.
  bool Sprinkle(double value) {
    bool any = false;
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      HostTensor& tensor = bound_.arguments[i].tensor;
      if (!IsInput(i) || !IsFloat(tensor.scalar) || !bound_.arguments[i].is_tensor) continue;
      int64_t count = Count(tensor);
      for (int64_t k = 0; k < std::max<int64_t>(1, count / 16) && count > 0; ++k) {
        uint64_t at = driver::DrawElement(Scalar::I32, seed_ + 31 * i, static_cast<uint64_t>(k));
        at = at * 40503 + static_cast<uint64_t>(k) * 17;
        driver::SetElementBits(tensor, static_cast<int64_t>(at % static_cast<uint64_t>(count)),
                               FloatBits(tensor.scalar, value));
        any = true;
      }
    }
    return any && interp::BrokenRequirements(*contract_.contract, data_, 1).empty();
  }

  /// Puts 0, or 1, -1 and the ends of their types, into some elements of the integers, each where no requirement breaks;
  /// false where nothing takes any. How long a loop walks is often a scalar: of all these it takes 0 alone.
  bool SprinkleIntegers(InputClass input_class) {
    bool any = false;
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      const BoundArgument& argument = bound_.arguments[i];
      bool takes = argument.is_tensor || input_class == InputClass::Zero;
      if (!IsInput(i) || !IsInteger(argument.tensor.scalar) || !takes) continue;
      uint64_t number = 0;
      for (int64_t value : IntegersOf(input_class, argument.tensor.scalar)) {
        any = PutInteger(i, number++, value) || any;
      }
    }
    return any;
  }

 private:
  static std::vector<int64_t> IntegersOf(InputClass input_class, Scalar scalar) {
    if (input_class == InputClass::Zero) return {0};
    int64_t most = MostOf(scalar);
    if (IsSigned(scalar)) return {1, -1, -most - 1, most};
    return {1, Info(scalar).bits == 64 ? -1 : most};  // all bits
  }

  /// Into one element of 32, at least one; false where a requirement breaks, and then nothing is changed. `number`: which of
  /// several values it is.
  bool PutInteger(size_t argument, uint64_t number, int64_t value) {
    HostTensor& tensor = bound_.arguments[argument].tensor;
    auto count = static_cast<uint64_t>(Count(tensor));
    std::vector<std::byte> before = tensor.bytes;
    for (uint64_t k = 0; k < std::max<uint64_t>(1, count / 32) && count > 0; ++k) {
      uint64_t drawn = driver::DrawElement(Scalar::U64, seed_ + 31 * argument, k);
      uint64_t at = (drawn * 40503 + k * 17 + number) % count;
      driver::SetElementBits(tensor, static_cast<int64_t>(at),
                             driver::NumberBits(tensor.scalar, value));
    }
    if (count > 0 && interp::BrokenRequirements(*contract_.contract, data_, 1).empty()) return true;
    std::ranges::copy(before, tensor.bytes.begin());  // in place: the contract reads this memory
    return false;
  }

  bool IsInput(size_t argument) const {
    return bound_.arguments[argument].direction != ir::Direction::Out;
  }

  static bool IsEmpty(Scalar scalar, const InputRule& rule) {
    if (!rule.low || !rule.high) return false;
    if (IsFloat(scalar)) return rule.low->value.real > rule.high->value.real;
    return rule.low->value.integer > rule.high->value.integer;
  }

  void Draw(size_t argument, int64_t n, uint64_t round) {
    HostTensor& tensor = bound_.arguments[argument].tensor;
    const InputRule& rule = rules_[static_cast<uint32_t>(argument)];
    uint64_t seed = seed_ + 1000003 * round + 101 * argument;
    auto element = static_cast<uint64_t>(n);
    bool real = IsFloat(tensor.scalar);
    driver::SetElementBits(tensor, n,
                           real ? DrawFloat(tensor.scalar, rule, seed, element)
                                : DrawInteger(tensor.scalar, rule, seed, element));
  }

  /// What is there already becomes the next number that is not; false where there are too few.
  static bool MakeDistinct(HostTensor& tensor, const InputRule& rule) {
    Interval interval = IntervalOf(tensor.scalar, rule);
    int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (interval.width != 0 && static_cast<uint64_t>(row) > interval.width) return false;
    std::set<uint64_t> taken;
    for (int64_t n = 0; n < Count(tensor); ++n) {
      if (n % row == 0) taken.clear();
      auto drawn =
          static_cast<int64_t>(driver::ElementValue(tensor.scalar, driver::ElementBits(tensor, n)));
      uint64_t place = static_cast<uint64_t>(drawn) - static_cast<uint64_t>(interval.low);
      if (interval.width != 0) place %= interval.width;
      while (!taken.insert(place).second) place = place + 1 == interval.width ? 0 : place + 1;
      driver::SetElementBits(
          tensor, n, driver::NumberBits(tensor.scalar, interval.low + static_cast<int64_t>(place)));
    }
    return true;
  }

  static void Sort(HostTensor& tensor) {
    int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    for (int64_t first = 0; row > 0 && first < Count(tensor); first += row) {
      std::vector<uint64_t> bits;
      for (int64_t n = first; n < first + row; ++n) bits.push_back(driver::ElementBits(tensor, n));
      std::sort(bits.begin(), bits.end(), [&](uint64_t a, uint64_t b) {
        return driver::ElementValue(tensor.scalar, a) < driver::ElementValue(tensor.scalar, b);
      });
      for (int64_t n = 0; n < row; ++n)
        driver::SetElementBits(tensor, first + n, bits[static_cast<size_t>(n)]);
    }
  }

  static std::optional<int64_t> Place(const HostTensor& tensor, const std::vector<int64_t>& index) {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= tensor.shape[d]) return std::nullopt;
      place = place * tensor.shape[d] + index[d];
    }
    return place;
  }

  static void Fix(HostTensor& tensor, const InputRule& rule) {
    for (const auto& [index, value] : rule.fixed) {
      if (std::optional<int64_t> place = Place(tensor, index))
        driver::SetElementBits(tensor, *place, BitsOf(tensor.scalar, value));
    }
  }

  std::optional<interp::ContractFailure> RepairOnce(uint64_t round) {
    auto broken = interp::BrokenRequirements(*contract_.contract, data_, kMostBroken);
    for (const interp::ContractFailure& failure : broken) {
      for (const interp::ContractElement& element : failure.elements) {
        if (!IsInput(element.argument)) continue;
        const HostTensor& tensor = bound_.arguments[element.argument].tensor;
        if (std::optional<int64_t> place = Place(tensor, element.index))
          Draw(element.argument, *place, round);
      }
    }
    return broken.empty() ? std::nullopt : std::optional(broken[0]);
  }

  /// Numbers without repetition: each integer tensor holds 0, 1, 2 … in another order.
  void Permute() {
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      HostTensor& tensor = bound_.arguments[i].tensor;
      if (!IsInput(i) || !IsInteger(tensor.scalar) || !bound_.arguments[i].is_tensor) continue;
      for (int64_t n = 0; n < Count(tensor); ++n) {
        uint64_t drawn = driver::DrawElement(Scalar::U64, seed_ + i, static_cast<uint64_t>(n));
        auto other = static_cast<int64_t>(drawn % static_cast<uint64_t>(n + 1));
        driver::SetElementBits(tensor, n, driver::ElementBits(tensor, other));
        driver::SetElementBits(tensor, other, driver::NumberBits(tensor.scalar, n));
      }
    }
  }

  const driver::BoundContract& contract_;
  uint64_t seed_;
  driver::BoundProgram& bound_;
  interp::ContractData data_;
  std::map<uint32_t, InputRule> rules_;
};

double ValueOf(InputClass input_class) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (input_class == InputClass::NaN) return std::nan("");
  return input_class == InputClass::PlusInfinity ? kInfinity : -kInfinity;
}

}  // namespace

std::string_view Describe(InputClass input_class) {
  switch (input_class) {
    case InputClass::Ordinary:
      return "";
    case InputClass::MinusInfinity:
      return "with -inf among the inputs";
    case InputClass::PlusInfinity:
      return "with inf among the inputs";
    case InputClass::NaN:
      return "with nan among the inputs";
    case InputClass::Zero:
      return "with 0 among the integers";
    case InputClass::Ends:
      return "with 1, -1 and the ends of their types among the integers";
  }
  return "";
}

DrawResult DrawInputs(const driver::BoundContract& contract, uint64_t seed, InputClass input_class,
                      driver::BoundProgram& bound) {
  Drawer drawer(contract, seed, bound);
  if (!drawer.DrawAll()) return {DrawEnd::Excluded, {}};
  std::optional<interp::ContractFailure> broken = drawer.Repair();
  // What no element decides the sizes decide.
  if (broken && broken->elements.empty() && !broken->malformed) return {DrawEnd::Excluded, {}};
  if (broken) return {DrawEnd::Failed, std::move(broken)};
  if (input_class == InputClass::Ordinary) return {};
  bool is_integer = input_class == InputClass::Zero || input_class == InputClass::Ends;
  bool holds =
      is_integer ? drawer.SprinkleIntegers(input_class) : drawer.Sprinkle(ValueOf(input_class));
  return {holds ? DrawEnd::Done : DrawEnd::Excluded, {}};
}

}  // namespace kdl::tools
