#include "tools/testing/draw_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/run/draw.h"
#include "driver/run/loop_inputs.h"
#include "interp/contract.h"
#include "support/float_bits.h"
#include "tools/testing/draw_rows.h"
#include "tools/testing/input_rules.h"

namespace kdl::tools {

namespace {

using driver::BoundArgument;
using driver::HostTensor;

constexpr int kRounds = 60;
constexpr size_t kMostBroken = 4096;

constexpr uint64_t kRound = 1000003;  ///< added to the seed in each round

int64_t Count(const HostTensor& tensor) {
  return static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
}
/// Returns the number of elements in a row, which are those along the last dimension.
int64_t Length(const HostTensor& tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }
int64_t RowOf(const HostTensor& tensor, int64_t element) { return element / Length(tensor); }

/// Returns the spread of the numbers in a round. It decreases after each third of the rounds,
/// because small numbers meet most requirements that are not solved directly, such as `begin[e] +
/// length[e] <= E`.
Spread RoundSpread(uint64_t round) {
  constexpr Spread kSpreads[] = {Spread::Small, Spread::Few, Spread::Single};
  return kSpreads[std::min<uint64_t>(2, 3 * (round - 1) / kRounds)];
}

class Drawer {
 public:
  Drawer(const DrawPlan& plan, driver::BoundProgram& bound)
      : plan_(plan),
        contract_(*plan.contract.contract),
        bound_(bound),
        data_(EvaluatorData(plan.contract, bound, bound)) {
    rules_ = ReadRules(contract_, data_);
  }

  /// Generates all arguments. Returns false if the bounds cannot be met.
  bool DrawAll() {
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      if (!IsInput(i)) continue;
      RowDrawer drawer = DrawerOf(i);
      Spread spread = plan_.loop_inputs.contains(i) ? Spread::Bounded : Spread::All;
      for (int64_t row = 0; row < drawer.rows(); ++row) {
        if (!drawer.DrawRow(row, SeedOf(i), spread)) return false;
      }
    }
    return true;
  }

  /// Regenerates the inputs of violated requirements until all requirements are met. Returns a
  /// requirement that is still violated, or nothing.
  std::optional<interp::ContractFailure> Repair() {
    std::optional<interp::ContractFailure> broken;
    for (uint64_t round = 1; round <= kRounds; ++round) {
      broken = RepairOnce(round);
      if (!broken) return std::nullopt;
    }
    Permute();
    return interp::BrokenRequirements(contract_, data_, 1).empty() ? std::nullopt : broken;
  }

  /// Stores the special values of the class in some elements of the float tensors. Returns false if
  /// that violates a requirement or if there are no floats.
  bool Sprinkle(InputClass input_class) {
    bool any = false;
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      if (!IsFloatTensor(i)) continue;
      HostTensor& tensor = bound_.arguments[i].tensor;
      int64_t count = Count(tensor);
      std::vector<uint64_t> numbers = FloatsOf(input_class, tensor.scalar);
      auto least = static_cast<int64_t>(numbers.size());
      for (int64_t k = 0; k < std::max(least, count / 16) && count > 0; ++k) {
        uint64_t at = driver::DrawBits(plan_.seed + 31 * i, static_cast<uint64_t>(k));
        at = at * 40503 + static_cast<uint64_t>(k) * 17;
        auto place = static_cast<int64_t>(at % static_cast<uint64_t>(count));
        if (input_class == InputClass::NaN) place -= RowOf(tensor, place) % 4 * Length(tensor);
        driver::SetElementBits(tensor, place, numbers[static_cast<size_t>(k % least)]);
        any = true;
      }
    }
    return any && interp::BrokenRequirements(contract_, data_, 1).empty();
  }

  /// Replaces all elements of the float tensors by numbers of the class. Returns false if that violates a
  /// requirement or if there are no floats.
  bool FillFloats(InputClass input_class) {
    bool any = false;
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      if (!IsFloatTensor(i)) continue;
      HostTensor& tensor = bound_.arguments[i].tensor;
      for (int64_t n = 0; n < Count(tensor); ++n) {
        uint64_t drawn = driver::DrawBits(plan_.seed + 31 * i, static_cast<uint64_t>(n));
        double value = NumberOf(input_class, RowOf(tensor, n), drawn);
        driver::SetElementBits(tensor, n, FloatBits(tensor.scalar, value));
        any = true;
      }
    }
    return any && interp::BrokenRequirements(contract_, data_, 1).empty();
  }

  /// For the class Zero, stores 0 in some elements of the integer arguments. For Ends, stores 1, -1
  /// and the limits of the type. Keeps a value only where no requirement is violated. Returns false
  /// if no value was kept. A scalar that determines how often a loop runs can only become 0.
  bool SprinkleIntegers(InputClass input_class) {
    bool any = false;
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      const BoundArgument& argument = bound_.arguments[i];
      bool takes =
          argument.is_tensor || input_class == InputClass::Zero || !plan_.loop_inputs.contains(i);
      if (!IsInput(i) || !IsInteger(argument.tensor.scalar) || !takes) continue;
      uint64_t number = 0;
      for (int64_t value : IntegersOf(input_class, argument.tensor.scalar)) {
        any = PutInteger(i, number++, value) || any;
      }
    }
    return any;
  }

 private:
  /// Returns the bits of the class's special floats.
  static std::vector<uint64_t> FloatsOf(InputClass input_class, Scalar scalar) {
    auto bits = [&](double value) { return FloatBits(scalar, value); };
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // By itself, this is the smallest subnormal number. Combined with the bits of infinity, it
    // gives a signaling NaN.
    constexpr uint64_t kLeast = 1;
    switch (input_class) {
      case InputClass::MinusInfinity:
        return {bits(-kInfinity)};
      case InputClass::PlusInfinity:
        return {bits(kInfinity)};
      case InputClass::Tiny:
        return {bits(-0.0), bits(0.0), kLeast, bits(-0.0) | kLeast};
      default:
        return {bits(std::nan("")), bits(kInfinity) | kLeast, bits(-kInfinity) | kLeast};
    }
  }

  /// Returns the number of the class that random bits select for an element of a row.
  static double NumberOf(InputClass input_class, int64_t row, uint64_t drawn) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kTies[] = {0.5, 1.0, 2.0};
    switch (input_class) {
      case InputClass::SignedZeros:
        return drawn % 2 == 0 ? 0.0 : -0.0;
      case InputClass::Infinities: {
        // The first row has both infinities, the next ones have only one of them.
        constexpr double kMixed[] = {-kInfinity, kInfinity, 1.0};
        return row % 3 == 0 ? kMixed[drawn % 3] : row % 3 == 1 ? -kInfinity : kInfinity;
      }
      default:
        return kTies[drawn % 3];
    }
  }

  static std::vector<int64_t> IntegersOf(InputClass input_class, Scalar scalar) {
    if (input_class == InputClass::Zero) return {0};
    driver::IntegerRange all = driver::AllIntegers(scalar);
    if (IsSigned(scalar)) return {1, -1, all.low, all.high};
    return {1, -1};  // -1 has all bits set
  }

  /// Stores the value in one of every 32 elements, and in at least one element. If that violates a
  /// requirement, returns false and changes nothing. `number` is the position of the value among
  /// the values of its class.
  bool PutInteger(size_t argument, uint64_t number, int64_t value) {
    HostTensor& tensor = bound_.arguments[argument].tensor;
    auto count = static_cast<uint64_t>(Count(tensor));
    std::vector<std::byte> before = tensor.bytes;
    for (uint64_t k = 0; k < std::max<uint64_t>(1, count / 32) && count > 0; ++k) {
      uint64_t drawn = driver::DrawBits(plan_.seed + 31 * argument, k);
      uint64_t at = (drawn * 40503 + k * 17 + number) % count;
      driver::SetElementBits(tensor, static_cast<int64_t>(at),
                             driver::NumberBits(tensor.scalar, value));
    }
    if (count > 0 && interp::BrokenRequirements(contract_, data_, 1).empty()) return true;
    // Restore the bytes in place, because the contract reads this memory.
    std::ranges::copy(before, tensor.bytes.begin());
    return false;
  }

  bool IsInput(size_t argument) const { return bound_.arguments[argument].is_drawn; }
  bool IsFloatTensor(size_t argument) const {
    const BoundArgument& bound = bound_.arguments[argument];
    return bound.is_drawn && bound.is_tensor && IsFloat(bound.tensor.scalar);
  }

  RowDrawer DrawerOf(size_t argument) {
    return {bound_.arguments[argument].tensor, rules_[static_cast<uint32_t>(argument)]};
  }
  /// Returns the seed for an argument. For a scalar, the seed also depends on the shape.
  uint64_t SeedOf(size_t argument) const {
    uint64_t seed = plan_.seed + plan_.seed_step * argument;
    if (bound_.arguments[argument].is_tensor) return seed;
    for (int64_t size : bound_.dims) seed = driver::DrawBits(seed, static_cast<uint64_t>(size));
    return seed;
  }

  static std::optional<int64_t> Place(const HostTensor& tensor, const std::vector<int64_t>& index) {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d] < 0 || index[d] >= tensor.shape[d]) return std::nullopt;
      place = place * tensor.shape[d] + index[d];
    }
    return place;
  }

  std::optional<interp::ContractFailure> RepairOnce(uint64_t round) {
    auto broken = interp::BrokenRequirements(contract_, data_, kMostBroken);
    std::set<std::pair<uint32_t, int64_t>> seen;
    for (const interp::ContractFailure& failure : broken) {
      for (const interp::ContractElement& element : failure.elements) {
        if (!IsInput(element.argument)) continue;
        std::optional<int64_t> place =
            Place(bound_.arguments[element.argument].tensor, element.index);
        if (!place || !seen.insert({element.argument, *place}).second) continue;
        DrawerOf(element.argument)
            .Redraw(*place, SeedOf(element.argument) + kRound * round, RoundSpread(round));
      }
    }
    return broken.empty() ? std::nullopt : std::optional(broken[0]);
  }

  /// Makes the elements of each integer tensor distinct: the tensor becomes a random permutation of
  /// 0, 1, 2, ….
  void Permute() {
    for (size_t i = 0; i < bound_.arguments.size(); ++i) {
      HostTensor& tensor = bound_.arguments[i].tensor;
      if (!IsInput(i) || !IsInteger(tensor.scalar) || !bound_.arguments[i].is_tensor) continue;
      for (int64_t n = 0; n < Count(tensor); ++n) {
        uint64_t drawn = driver::DrawBits(plan_.seed + i, static_cast<uint64_t>(n));
        auto other = static_cast<int64_t>(drawn % static_cast<uint64_t>(n + 1));
        driver::SetElementBits(tensor, n, driver::ElementBits(tensor, other));
        driver::SetElementBits(tensor, other, driver::NumberBits(tensor.scalar, n));
      }
    }
  }

  const DrawPlan& plan_;
  const ir::Contract& contract_;
  driver::BoundProgram& bound_;
  interp::ContractData data_;
  std::map<uint32_t, InputRule> rules_;
};

/// Puts the special values of a class into the inputs. Returns false if `requires` excludes them.
bool Puts(Drawer& drawer, InputClass input_class) {
  switch (input_class) {
    case InputClass::Zero:
    case InputClass::Ends:
      return drawer.SprinkleIntegers(input_class);
    case InputClass::SignedZeros:
    case InputClass::Infinities:
    case InputClass::Ties:
      return drawer.FillFloats(input_class);
    default:
      return drawer.Sprinkle(input_class);
  }
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
    case InputClass::Tiny:
      return "with zeros of both signs and subnormal numbers among the inputs";
    case InputClass::SignedZeros:
      return "with only zeros of both signs as floats";
    case InputClass::Infinities:
      return "with rows of infinities among the inputs";
    case InputClass::Ties:
      return "with many equal floats among the inputs";
    case InputClass::Zero:
      return "with 0 among the integers";
    case InputClass::Ends:
      return "with 1, -1 and the limits of their types among the integers";
  }
  return "";
}

DrawResult DrawInputs(const DrawPlan& plan, InputClass input_class, driver::BoundProgram& bound) {
  Drawer drawer(plan, bound);
  if (!drawer.DrawAll()) return {DrawEnd::Excluded, {}};
  std::optional<interp::ContractFailure> broken = drawer.Repair();
  // If the violation depends on no element, the sizes alone violate the requirement.
  if (broken && broken->elements.empty() && !broken->malformed) return {DrawEnd::Excluded, {}};
  if (broken) return {DrawEnd::Failed, std::move(broken)};
  if (input_class == InputClass::Ordinary) return {};
  bool holds = Puts(drawer, input_class);
  return {holds ? DrawEnd::Done : DrawEnd::Excluded, {}};
}

void ReportNotDrawn(const interp::ContractFailure& broken, const SourceManager& sources,
                    DiagnosticEngine& report) {
  report
      .Report(driver::diag::InputsNotDrawn, driver::FailureSpan(broken, sources),
              (broken.malformed ? ": " : "") + broken.text)
      .Help(
          "state bounds as `0 <= x[i] && x[i] < N`, order as `x[i] <= x[i + 1]`, fixed elements as "
          "`x[0] == 0`");
}

bool DrawUngiven(const driver::BoundContract& contract, const ir::Function& kernel,
                 const SourceManager& sources, driver::BoundProgram& bound,
                 DiagnosticEngine& report) {
  auto is_drawn = [&](size_t argument) { return bound.arguments[argument].is_drawn; };
  bool any = std::ranges::any_of(bound.arguments, &BoundArgument::is_drawn);
  if (!any || contract.contract->requirements.empty()) return true;
  DrawPlan plan{contract, driver::LoopInputs(*contract.module, kernel), 1, 1};
  DrawResult drawn = DrawInputs(plan, InputClass::Ordinary, bound);
  if (drawn.end != DrawEnd::Failed) return true;
  const interp::ContractFailure& broken = *drawn.broken;
  bool by_given = !broken.malformed && std::ranges::none_of(broken.elements, is_drawn,
                                                            &interp::ContractElement::argument);
  if (by_given) return true;
  ReportNotDrawn(broken, sources, report);
  return false;
}

}  // namespace kdl::tools
