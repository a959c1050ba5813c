#include "interp/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "interp/contract_eval.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

using ir::ContractId;
using ir::ContractKind;
using ir::ContractNode;

/// What rounding an element type costs.
struct Precision {
  double epsilon;   ///< the step above 1
  double smallest;  ///< the smallest normal number
  double largest;
  double step;  ///< between subnormal numbers
};
Precision PrecisionOf(Scalar scalar) {
  switch (scalar) {
    case Scalar::F16:
      return {0x1p-10, 0x1p-14, 65504, 0x1p-24};
    case Scalar::BF16:
      return {0x1p-7, 0x1p-126, 0x1.FEp127, 0x1p-133};
    case Scalar::F32:
      return {0x1p-23, 0x1p-126, std::numeric_limits<float>::max(), 0x1p-149};
    default:
      return {0x1p-52, 0x1p-1022, std::numeric_limits<double>::max(), 0x1p-1074};
  }
}

/// What a node reaches, auxiliaries' definitions included.
struct Reached {
  double longest = 1;    ///< terms of the longest reduction
  bool only_f64 = true;  ///< every float tensor is f64
};

class Reach {
 public:
  Reach(const ir::Contract& contract, const std::function<double(ContractId)>& extent)
      : contract_(contract), extent_(extent) {}

  Reached Of(ContractId node) {
    Visit(node);
    return reached_;
  }

 private:
  void Visit(ContractId id) {
    const ContractNode& node = contract_.nodes[id];
    if (node.kind == ContractKind::Load) VisitTensor(node.id);
    if (node.kind == ContractKind::Reduce || node.kind == ContractKind::Fold) {
      double terms = 1;
      for (ContractId index : node.over) terms *= extent_(index);
      reached_.longest = std::max(reached_.longest, terms);
    }
    for (ContractId operand : node.operands) Visit(operand);
    for (const ir::ContractDim& dim : node.dims) {
      for (const ir::ContractTerm& term : dim.terms) {
        if (!term.index) Visit(term.node);
      }
    }
  }
  void VisitTensor(ContractId id) {
    if (!tensors_.insert(id).second) return;
    const ir::ContractTensor& tensor = contract_.tensors[id];
    if (tensor.kind != ir::ContractTensorKind::Auxiliary) {
      if (IsFloat(tensor.scalar) && tensor.scalar != Scalar::F64) reached_.only_f64 = false;
      return;
    }
    for (const ir::ContractEquation& equation : contract_.equations) {
      if (equation.defines == id) Visit(equation.value);
    }
  }

  const ir::Contract& contract_;
  const std::function<double(ContractId)>& extent_;
  std::set<ContractId> tensors_;
  Reached reached_;
};

/// ` at i = 3, j = 4`; empty where there are no indices.
std::string At(const ContractEvaluator& evaluator, const std::vector<ContractId>& indices) {
  std::string text;
  for (ContractId index : indices) {
    text += fmt::format("{}{} = {}", text.empty() ? " at " : ", ",
                        evaluator.contract().indices[index].name.text(), evaluator.at(index));
  }
  return text;
}

std::string ElementName(const ir::ContractTensor& tensor, const std::vector<int64_t>& index) {
  std::string name = tensor.kind == ir::ContractTensorKind::Old
                         ? fmt::format("old({})", tensor.name.text())
                         : tensor.name.str();
  if (index.empty()) return name;
  return fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

std::string TextOf(Scalar scalar, const ContractValue& value) {
  if (scalar == Scalar::Bool) return value.integer != 0 ? "true" : "false";
  if (scalar == Scalar::U64) return fmt::format("{}", static_cast<uint64_t>(value.integer));
  if (!IsFloat(scalar)) return fmt::format("{}", value.integer);
  if (std::isnan(value.real)) return "nan";
  return scalar == Scalar::F64 ? fmt::format("{}", value.real)
                               : fmt::format("{}", static_cast<float>(value.real));
}

/// Names and values of all that a condition reads at the present indices.
class ReadValues {
 public:
  ReadValues(ContractEvaluator& evaluator, ContractFailure& failure)
      : evaluator_(evaluator), failure_(failure) {}

  void Visit(ContractId id) {
    const ir::Contract& contract = evaluator_.contract();
    const ContractNode& node = contract.nodes[id];
    for (ContractId operand : node.operands) Visit(operand);
    if (node.kind == ContractKind::Size && node.size->kind != SizeKind::Constant)
      Add(ToString(node.size), TextOf(Scalar::I64, evaluator_.Eval(id)));
    if (node.kind == ContractKind::Argument) {
      Add(node.name.str(), TextOf(node.scalar, evaluator_.Eval(id)));
      failure_.elements.push_back({node.id, {}});
    }
    if (node.kind != ContractKind::Load) return;
    const ir::ContractTensor& tensor = contract.tensors[node.id];
    std::vector<int64_t> index = evaluator_.IndexOf(id);
    Scalar scalar = tensor.kind == ir::ContractTensorKind::Auxiliary ? node.scalar : tensor.scalar;
    Add(ElementName(tensor, index), TextOf(scalar, evaluator_.Eval(id)));
    if (tensor.IsOfArgument()) failure_.elements.push_back({tensor.argument, std::move(index)});
  }

  const std::string& text() const { return text_; }

 private:
  void Add(const std::string& name, const std::string& value) {
    std::string item = fmt::format("{} is {}", name, value);
    if (text_.find(item) != std::string::npos) return;
    text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", item);
  }

  ContractEvaluator& evaluator_;
  ContractFailure& failure_;
  std::string text_;
};

/// One equation that compares.
class Comparison {
 public:
  Comparison(ContractEvaluator& evaluator, const ir::ContractEquation& equation)
      : evaluator_(evaluator),
        equation_(equation),
        target_(evaluator.contract().nodes[equation.target]),
        tensor_(evaluator.contract().tensors[target_.id]),
        output_(PrecisionOf(tensor_.scalar)) {
    std::function<double(ContractId)> extent = [&](ContractId index) {
      return static_cast<double>(evaluator.extent(index));
    };
    Reached reached = Reach(evaluator.contract(), extent).Of(equation.value);
    bool f64 = reached.only_f64 && tensor_.scalar == Scalar::F64;
    accumulator_ = PrecisionOf(f64 ? Scalar::F64 : Scalar::F32);
    growth_ = std::max(4.0, std::sqrt(reached.longest));
  }

  std::optional<ContractFailure> Check() {
    evaluator_.KeepIn(equation_);
    int64_t elements = 0;
    int64_t wrong = 0;
    evaluator_.Walk(equation_.free, [&] {
      ++elements;
      double excess = Excess();
      if (excess > 1) ++wrong;
      if (excess > worst_) Remember(excess);
      return true;
    });
    if (wrong == 0) return std::nullopt;
    ContractFailure failure;
    failure.span = equation_.span;
    failure.text = elements == 1
                       ? text_
                       : fmt::format("{}; {} of {} elements are wrong", text_, wrong, elements);
    return failure;
  }

 private:
  /// How far the present element is off, in tolerances; more than 1 is wrong.
  double Excess() {
    found_ = evaluator_.Eval(equation_.target);
    expected_ = evaluator_.Eval(equation_.value);
    if (!IsFloat(target_.scalar)) {
      expected_.integer = Fitted(expected_.integer);
      return found_.integer == expected_.integer ? 0 : kWrong;
    }
    double x = found_.real;
    double y = expected_.real;
    if (std::fabs(y) > output_.largest) y = std::copysign(HUGE_VAL, y);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? 0 : kWrong;
    if (x == y) return 0;
    tolerance_ = Tolerance(y);
    if (std::isinf(x) || std::isinf(y)) return kWrong;
    double off = std::fabs(x - y);
    return off <= tolerance_ ? 0 : (tolerance_ > 0 ? off / tolerance_ : kWrong);
  }

  double Tolerance(double reference) {
    double size = std::fabs(reference);
    if (equation_.rtol || equation_.atol) {
      double relative = equation_.rtol ? evaluator_.Eval(*equation_.rtol).real : 0;
      double absolute = equation_.atol ? evaluator_.Eval(*equation_.atol).real : 0;
      return absolute + relative * size;
    }
    // What is too small for a normal number is rounded to a step, or flushed to 0 by exp and its like.
    return 4 * output_.epsilon * size + growth_ * accumulator_.epsilon * expected_.error +
           output_.step + accumulator_.smallest;
  }

  /// As the output's type holds it: wrapped. The identity of an empty max or min, that of 64 bits, is the type's own.
  int64_t Fitted(int64_t value) const {
    Scalar scalar = tensor_.scalar;
    if (scalar == Scalar::U64) return value;
    int64_t wrapped = Wrapped(scalar, value);
    bool least = value == INT64_MIN;
    if ((!least && value != INT64_MAX) || !IsInteger(scalar) || found_.integer == wrapped)
      return wrapped;
    int bits = Info(scalar).bits - (IsSigned(scalar) ? 1 : 0);
    auto top = static_cast<int64_t>(~uint64_t{0} >> (64 - bits));
    return !least ? top : IsSigned(scalar) ? -top - 1 : 0;
  }

  void Remember(double excess) {
    worst_ = excess;
    std::string name = ElementName(tensor_, evaluator_.IndexOf(equation_.target));
    text_ = fmt::format("{} is {}, the contract says {}", name, TextOf(tensor_.scalar, found_),
                        TextOf(IsFloat(target_.scalar) ? Scalar::F64 : target_.scalar, expected_));
    bool finite =
        IsFloat(target_.scalar) && std::isfinite(found_.real) && std::isfinite(expected_.real);
    if (finite) text_ += fmt::format(", tolerance {:.3g}", tolerance_);
  }

  static constexpr double kWrong = std::numeric_limits<double>::infinity();

  ContractEvaluator& evaluator_;
  const ir::ContractEquation& equation_;
  const ContractNode& target_;
  const ir::ContractTensor& tensor_;
  Precision output_;
  Precision accumulator_{};
  double growth_ = 4;
  ContractValue found_;
  ContractValue expected_;
  double tolerance_ = 0;
  double worst_ = 0;
  std::string text_;
};

}  // namespace

std::vector<ContractFailure> BrokenRequirements(const ir::Contract& contract,
                                                const ContractData& data, size_t most) {
  ContractEvaluator evaluator(contract, data);
  std::vector<ContractFailure> broken;
  for (const ir::ContractCondition& condition : contract.requirements) {
    evaluator.Walk(condition.free, [&] {
      bool holds = evaluator.Eval(condition.value).integer != 0;
      if (std::optional<ContractFailure> fault = evaluator.TakeFault()) {
        broken.push_back(*std::move(fault));
        return false;
      }
      if (holds || broken.size() >= most) return broken.size() < most;
      ContractFailure failure;
      failure.span = condition.span;
      ReadValues values(evaluator, failure);
      values.Visit(condition.value);
      evaluator.TakeFault();  // of what stands in a reduction, whose indices have no values here
      failure.text = fmt::format("{}{}{}", At(evaluator, condition.free),
                                 values.text().empty() ? "" : ": ", values.text());
      broken.push_back(std::move(failure));
      return true;
    });
  }
  return broken;
}

std::optional<ContractFailure> BrokenEquation(const ir::Contract& contract,
                                              const ContractData& data) {
  ContractEvaluator evaluator(contract, data);
  for (const ir::ContractEquation& equation : contract.equations) {
    std::optional<ContractFailure> wrong;
    if (equation.defines) {
      evaluator.Define(equation);
    } else {
      wrong = Comparison(evaluator, equation).Check();
    }
    if (std::optional<ContractFailure> fault = evaluator.TakeFault()) return fault;
    if (wrong) return wrong;
  }
  return std::nullopt;
}

namespace {

/// How often the reductions of a node evaluate a term; each keeps its values for the indices that decide it.
double TermsIn(const ir::Contract& contract, ContractId id,
               const std::function<double(ContractId)>& extent) {
  const ContractNode& node = contract.nodes[id];
  double terms = 0;
  if (node.kind == ContractKind::Reduce || node.kind == ContractKind::Fold) {
    terms = 1;
    std::set<ContractId> walked = FreeIn(contract, id);  // a scan keeps its index
    walked.insert(node.over.begin(), node.over.end());
    for (ContractId index : walked) terms *= extent(index);
  }
  for (ContractId operand : node.operands) terms += TermsIn(contract, operand, extent);
  return terms;
}

}  // namespace

double TermsOf(const ir::Contract& contract,
               const std::function<std::optional<int64_t>(Name)>& size) {
  std::function<double(ContractId)> extent = [&](ContractId index) {
    return static_cast<double>(Evaluate(contract.indices[index].extent, size).value_or(1));
  };
  double terms = 0;
  for (const ir::ContractEquation& equation : contract.equations) {
    double elements = 1;
    for (ContractId index : equation.free) elements *= extent(index);
    terms += elements + TermsIn(contract, equation.value, extent);
  }
  return terms;
}

}  // namespace kdl::interp
