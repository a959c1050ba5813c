#include "interp/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "interp/clause_run.h"
#include "interp/elements.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

/// The rounding properties of an element type.
struct Precision {
  double epsilon;   ///< the distance from 1 to the next number
  double smallest;  ///< the smallest normal number
  double largest;
  double step;  ///< the distance between neighbouring subnormal numbers
};
Precision PrecisionOf(Scalar scalar) {
  const FloatFormat& format = Info(IsFloat(scalar) ? scalar : Scalar::F64).format;
  double epsilon = std::ldexp(1, -format.fraction);
  double smallest = std::ldexp(1, format.least_exponent());
  return {epsilon, smallest, LargestValue(IsFloat(scalar) ? scalar : Scalar::F64),
          std::ldexp(1, format.least_exponent() - format.fraction)};
}

std::string TextOfNumber(double value, bool is_f64) {
  if (std::isnan(value)) return "nan";
  return is_f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

std::string ValueText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::Bool) return bits != 0 ? "true" : "false";
  if (scalar == Scalar::U64) return fmt::format("{}", bits);
  if (!IsFloat(scalar)) return fmt::format("{}", ir::Extended(scalar, bits));
  return TextOfNumber(FloatValue(scalar, bits), scalar == Scalar::F64);
}

/// Returns the current indices as ` at i = 3, j = 4`, or an empty string if there are no indices.
std::string At(const ClauseRun& run) {
  std::string text;
  for (size_t i = 0; i < run.clause().free.size(); ++i) {
    text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ", run.clause().free[i].name.text(),
                        run.at(i));
  }
  return text;
}

std::string ElementName(const std::string& name, const std::vector<int64_t>& index) {
  return index.empty() ? name : fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

/// The names and values that a condition reads for the current indices, as text for a message.
class ReadValues {
 public:
  ReadValues(ClauseRun& run, ContractFailure& failure) : run_(run), failure_(failure) {
    for (ElementRead& read : run.Reads()) {
      const ir::ContractParam* param = run.FindParam(read.load->operand(0));
      bool of_argument = param && (param->input == ir::ContractInput::Argument ||
                                   param->input == ir::ContractInput::Old);
      if (of_argument) failure_.elements.push_back({param->number, read.index});
      reads_.push_back(std::move(read));
    }
    Visit(run.clause().function->body, false);
  }

  const std::string& text() const { return text_; }

 private:
  /// Omits elements that a reduction reads, because there would be too many for one sentence.
  void Visit(const ir::Region* region, bool in_loop) {
    for (const ir::Op* op : *region) {
      bool loops = op->kind() == ir::OpKind::Loop || op->kind() == ir::OpKind::While;
      if (op->kind() == ir::OpKind::Load && !in_loop) AddElement(op);
      for (const ir::Value* operand : op->operands()) {
        if (!loops) AddScalar(operand);
      }
      for (const ir::Region* nested : op->regions()) Visit(nested, in_loop || loops);
    }
  }
  void AddElement(const ir::Op* load) {
    const ir::ContractParam* param = run_.FindParam(load->operand(0));
    if (param && param->input >= ir::ContractInput::Kept) return;
    for (const ElementRead& read : reads_) {
      if (read.load != load) continue;
      Add(ElementName(run_.TensorName(load->operand(0)), read.index),
          ValueText(load->result()->type()->scalar, read.bits));
      return;
    }
  }
  void AddScalar(const ir::Value* value) {
    const ir::Function& function = *run_.clause().function;
    if (value->parent_region() != function.body || value->type()->kind != ir::TypeKind::Tile)
      return;
    if (value->index() < function.dims.size()) {
      Name dim = function.dims[value->index()];
      return Add(dim.str(), fmt::format("{}", run_.SizeAt(dim)));
    }
    const ir::ContractParam& param = *run_.FindParam(value);
    if (param.input != ir::ContractInput::Argument) return;
    const TensorArgument& argument = run_.data().now[param.number];
    Add(value->name().str(),
        ValueText(argument.scalar,
                  ReadElement(static_cast<const std::byte*>(argument.data), argument.scalar)));
    failure_.elements.push_back({param.number, {}});
  }
  void Add(const std::string& name, const std::string& value) {
    std::string item = fmt::format("{} is {}", name, value);
    if (text_.find(item) != std::string::npos) return;
    text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", item);
  }

  ClauseRun& run_;
  ContractFailure& failure_;
  std::vector<ElementRead> reads_;
  std::string text_;
};

/// Checks one equation that compares two values.
class Comparison {
 public:
  Comparison(const ir::Contract& contract, const ir::Clause& clause, const ContractData& data,
             std::vector<AuxiliaryValues>& auxiliaries)
      : clause_(clause),
        data_(data),
        run_(contract, clause, data, auxiliaries),
        rank_(data.now[*clause.compares].sizes.size()),
        memory_(data.now[*clause.compares].scalar),
        scalar_(clause.function->results[0]->scalar),
        output_(PrecisionOf(memory_)) {
    bool f64 = !clause.reads_narrow && memory_ == Scalar::F64;
    accumulator_ = PrecisionOf(f64 ? Scalar::F64 : Scalar::F32);
    double longest = 1;
    for (Size terms : clause.folded)
      longest = std::max(longest, static_cast<double>(Evaluate(terms, data.size).value_or(1)));
    growth_ = std::max(4.0, std::sqrt(longest));
  }

  std::optional<ContractFailure> Check() {
    run_.Walk([&](const std::vector<uint64_t>& results) { return Compare(results); });
    return Outcome();
  }

  /// Compares the output with a list. `selected` says for each combination of the first `listed` index values whether the
  /// list has an element, or a row, for it.
  std::optional<ContractFailure> CheckList(const std::vector<std::byte>& selected, size_t listed) {
    const TensorArgument& counter = data_.now[clause_.counter];
    auto found = static_cast<int64_t>(
        ReadElement(static_cast<const std::byte*>(counter.data), counter.scalar));
    int64_t count =
        std::ranges::count_if(selected, [](std::byte one) { return one != std::byte{}; });
    if (found != count) {
      return ContractFailure{clause_.span, fmt::format("{} has {} elements, but must have {}",
                                                       clause_.compared.text(), found, count)};
    }
    int64_t place = -1;
    size_t before = selected.size();
    run_.Walk(
        [&] {
          size_t number = 0;
          for (size_t i = 0; i < listed; ++i)
            number = number * static_cast<size_t>(run_.extent(i)) + static_cast<size_t>(run_.at(i));
          if (selected[number] == std::byte{}) return false;
          if (number != before) ++place;
          before = number;
          return true;
        },
        [&](const std::vector<uint64_t>& results) {
          std::vector<int64_t> index = {place};
          for (size_t i = listed; i < clause_.free.size(); ++i) index.push_back(run_.at(i));
          return Compare(WithFound(index, results));
        });
    std::optional<ContractFailure> outcome = Outcome();
    return outcome ? outcome : CheckRest(count);
  }

 private:
  bool Compare(const std::vector<uint64_t>& results) {
    ++elements_;
    double excess = Excess(results);
    if (excess > 1) ++wrong_;
    if (excess > worst_) Remember(excess, results);
    return true;
  }

  std::optional<ContractFailure> Outcome() const {
    if (run_.fault()) return run_.fault();
    if (wrong_ == 0) return std::nullopt;
    return ContractFailure{
        clause_.span,
        elements_ == 1 ? text_
                       : fmt::format("{}; {} of {} elements are wrong", text_, wrong_, elements_)};
  }

  /// Returns the bits of an element of the output.
  uint64_t BitsAt(const std::vector<int64_t>& index) const {
    const TensorArgument& output = data_.now[*clause_.compares];
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d) place += index[d] * output.strides[d];
    return ReadElement(static_cast<const std::byte*>(output.data) + place * Bytes(memory_),
                       memory_);
  }

  /// Returns the results of the clause's function after the element of the output and its index, as if the function had
  /// returned them.
  std::vector<uint64_t> WithFound(const std::vector<int64_t>& index,
                                  const std::vector<uint64_t>& results) const {
    uint64_t bits = BitsAt(index);
    std::vector<uint64_t> all = {
        IsFloat(memory_) ? std::bit_cast<uint64_t>(FloatValue(memory_, bits)) : Extended(bits)};
    for (int64_t number : index) all.push_back(static_cast<uint64_t>(number));
    all.insert(all.end(), results.begin(), results.end());
    return all;
  }

  /// Checks that the elements of the output after the first `count` ones are 0.
  std::optional<ContractFailure> CheckRest(int64_t count) const {
    const std::vector<int64_t>& sizes = data_.now[*clause_.compares].sizes;
    if (std::ranges::find(sizes, 0) != sizes.end()) return std::nullopt;
    std::vector<int64_t> index(rank_, 0);
    for (index[0] = count; index[0] < sizes[0];) {
      if (BitsAt(index) != 0) {
        return ContractFailure{clause_.span,
                               fmt::format("{} is not 0, but {} must have {} elements",
                                           ElementName(clause_.compared.str(), index),
                                           clause_.compared.text(), count)};
      }
      size_t d = rank_ - 1;
      while (++index[d] == sizes[d] && d > 0) index[d--] = 0;
    }
    return std::nullopt;
  }

  static double Real(uint64_t bits) { return std::bit_cast<double>(bits); }

  /// Returns the difference between the current element and the expected value, divided by the tolerance. A
  /// result greater than 1 is an error. `results` contains the value found, its index, the expected value,
  /// and then the bound or the stated tolerances.
  double Excess(const std::vector<uint64_t>& results) {
    expected_ = results[1 + rank_];
    if (!IsFloat(scalar_)) {
      expected_ = Fitted(results[0], expected_);
      return results[0] == expected_ ? 0 : kWrong;
    }
    double x = Real(results[0]);
    double y = Real(expected_);
    if (std::fabs(y) > output_.largest) y = std::copysign(HUGE_VAL, y);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? 0 : kWrong;
    if (x == y) return 0;
    tolerance_ = Tolerance(std::fabs(y), results);
    if (std::isinf(x) || std::isinf(y)) return kWrong;
    double off = std::fabs(x - y);
    return off <= tolerance_ ? 0 : (tolerance_ > 0 ? off / tolerance_ : kWrong);
  }

  double Tolerance(double size, const std::vector<uint64_t>& results) const {
    if (clause_.is_exact) return 0;
    size_t next = 2 + rank_;
    if (clause_.has_rtol || clause_.has_atol) {
      double relative = clause_.has_rtol ? Real(results[next++]) : 0;
      double absolute = clause_.has_atol ? Real(results[next]) : 0;
      return absolute + relative * size;
    }
    // A result that is less than the smallest normal number is rounded to a multiple of the smallest
    // subnormal number, or flushed to 0 by functions such as exp.
    double bound = Real(results[next]);
    return 4 * output_.epsilon * size + growth_ * accumulator_.epsilon * bound + output_.step +
           accumulator_.smallest;
  }

  /// Wraps the expected value to the output's type. If the expected value is the 64-bit identity of max or
  /// min (the result of reducing no elements), replaces it with the identity of the output's type.
  uint64_t Fitted(uint64_t found, uint64_t bits) const {
    if (memory_ == Scalar::U64 || memory_ == Scalar::Bool) return bits;
    uint64_t wrapped = Extended(ir::EvaluateCast(Scalar::I64, memory_, bits));
    auto value = static_cast<int64_t>(bits);
    bool least = value == INT64_MIN;
    if ((!least && value != INT64_MAX) || found == wrapped) return wrapped;
    ir::ReductionKind identity = least ? ir::ReductionKind::Max : ir::ReductionKind::Min;
    return Extended(ir::FoldIdentity(identity, memory_));
  }
  uint64_t Extended(uint64_t bits) const {
    return static_cast<uint64_t>(ir::Extended(memory_, bits));
  }

  /// Returns the shortest text from which the output's type, or f64 if the type cannot represent it, gets the value.
  std::string ShownValue(uint64_t bits) const {
    if (!IsFloat(scalar_)) return ValueText(scalar_, bits);
    double value = Real(bits);
    bool is_f32 = static_cast<double>(static_cast<float>(value)) == value || std::isnan(value);
    return TextOfNumber(value, memory_ == Scalar::F64 || !is_f32);
  }

  void Remember(double excess, const std::vector<uint64_t>& results) {
    worst_ = excess;
    std::vector<int64_t> index;
    for (size_t d = 0; d < rank_; ++d) index.push_back(static_cast<int64_t>(results[1 + d]));
    bool is_float = IsFloat(scalar_);
    text_ = fmt::format("{} is {}, but must be {}", ElementName(clause_.compared.str(), index),
                        ShownValue(results[0]), ShownValue(expected_));
    if (is_float && std::isfinite(Real(results[0])) && std::isfinite(Real(expected_)))
      text_ += fmt::format(", tolerance {:.3g}", tolerance_);
  }

  static constexpr double kWrong = std::numeric_limits<double>::infinity();

  const ir::Clause& clause_;
  const ContractData& data_;
  ClauseRun run_;
  size_t rank_;
  Scalar memory_;  ///< the output's type
  Scalar scalar_;  ///< the type in which the contract computes
  Precision output_;
  Precision accumulator_{};
  double growth_ = 4;
  uint64_t expected_ = 0;
  double tolerance_ = 0;
  double worst_ = 0;
  int64_t elements_ = 0;
  int64_t wrong_ = 0;
  std::string text_;
};

/// Checks an equation that compares values or a list.
std::optional<ContractFailure> Compare(const ir::Contract& contract, const ir::Clause& clause,
                                       const ContractData& data,
                                       std::vector<AuxiliaryValues>& auxiliaries) {
  Comparison comparison(contract, clause, data, auxiliaries);
  if (!clause.selects) return comparison.Check();
  return comparison.CheckList(auxiliaries[*clause.selects].values,
                              contract.auxiliaries[*clause.selects].dims.size());
}

/// Computes the auxiliary that the equation defines.
std::optional<ContractFailure> Define(const ir::Contract& contract, const ir::Clause& clause,
                                      const ContractData& data,
                                      std::vector<AuxiliaryValues>& auxiliaries) {
  const ir::Auxiliary& auxiliary = contract.auxiliaries[*clause.defines];
  auto bytes = static_cast<size_t>(Bytes(auxiliary.scalar));
  auto count = static_cast<size_t>(TensorElementCount(auxiliary.dims, data.size));
  AuxiliaryValues& made = auxiliaries[*clause.defines];
  made.values.resize(count * bytes);
  bool has_bound = auxiliary.scalar == Scalar::F64;
  if (has_bound) made.bounds.resize(count * bytes);
  ClauseRun run(contract, clause, data, auxiliaries);
  size_t place = 0;
  run.Walk([&](const std::vector<uint64_t>& results) {
    WriteElement(made.values.data() + place, auxiliary.scalar, results[0]);
    if (has_bound) WriteElement(made.bounds.data() + place, auxiliary.scalar, results[1]);
    place += bytes;
    return true;
  });
  return run.fault();
}

}  // namespace

std::vector<ContractFailure> BrokenRequirements(const ir::Contract& contract,
                                                const ContractData& data, size_t most) {
  std::vector<AuxiliaryValues> none;
  std::vector<ContractFailure> broken;
  for (const ir::Clause& clause : contract.requirements) {
    if (broken.size() >= most) break;
    ClauseRun run(contract, clause, data, none);
    run.Walk([&](const std::vector<uint64_t>& results) {
      if (results[0] != 0) return true;
      ContractFailure failure{clause.span, ""};
      ReadValues values(run, failure);
      failure.text =
          fmt::format("{}{}{}", At(run), values.text().empty() ? "" : ": ", values.text());
      broken.push_back(std::move(failure));
      return broken.size() < most;
    });
    if (run.fault()) broken.push_back(*run.fault());
  }
  return broken;
}

std::optional<ContractFailure> BrokenEquation(const ir::Contract& contract,
                                              const ContractData& data) {
  std::vector<AuxiliaryValues> auxiliaries(contract.auxiliaries.size());
  for (const ir::Clause& clause : contract.equations) {
    std::optional<ContractFailure> wrong = clause.defines
                                               ? Define(contract, clause, data, auxiliaries)
                                               : Compare(contract, clause, data, auxiliaries);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

double TermCount(const ir::Contract& contract,
                 const std::function<std::optional<int64_t>(Name)>& size) {
  double terms = 0;
  for (const ir::Clause& equation : contract.equations) {
    double elements = 1;
    for (const ir::ContractIndex& index : equation.free)
      elements *= static_cast<double>(Evaluate(index.extent, size).value_or(1));
    terms += elements;
    for (Size of_one : equation.terms)
      terms += static_cast<double>(Evaluate(of_one, size).value_or(1));
  }
  return terms;
}

}  // namespace kdl::interp
