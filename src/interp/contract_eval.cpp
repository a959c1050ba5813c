#include "interp/contract_eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

using ir::ContractId;
using ir::ContractKind;
using ir::ContractNode;

constexpr int64_t kMostKept = int64_t{1} << 24;  ///< values that one reduction keeps

int64_t NumberOf(Size size, const ContractData& data) {
  std::optional<int64_t> value = Evaluate(size, data.size);
  KDL_CHECK(value, "the size {} of a contract is not known", ToString(size));
  return *value;
}

int64_t IntegerOf(Scalar scalar, uint64_t bits) {
  if (!IsSigned(scalar)) return static_cast<int64_t>(bits);
  int unused = 64 - Info(scalar).bits;
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace

bool Advance(std::vector<int64_t>& at, const std::vector<ContractId>& indices,
             const std::vector<int64_t>& extents) {
  for (size_t i = indices.size(); i-- > 0;) {
    if (++at[indices[i]] < extents[indices[i]]) return true;
    at[indices[i]] = 0;
  }
  return false;
}

std::set<ContractId> FreeIn(const ir::Contract& contract, ContractId id) {
  const ContractNode& node = contract.nodes[id];
  std::set<ContractId> free;
  if (node.kind == ContractKind::Index) free.insert(node.id);
  auto add = [&](ContractId operand) { free.merge(FreeIn(contract, operand)); };
  for (ContractId operand : node.operands) add(operand);
  for (const ir::ContractDim& dim : node.dims) {
    for (const ir::ContractTerm& term : dim.terms) {
      if (term.index) free.insert(*term.index);
      if (!term.index) add(term.node);
    }
  }
  if (node.scan != ir::ContractScan::None) free.insert(node.over[0]);
  if (node.scan == ir::ContractScan::None) {
    for (ContractId index : node.over) free.erase(index);
  }
  return free;
}

uint64_t ElementAt(const void* memory, Scalar scalar, int64_t place) {
  uint64_t bits = 0;
  auto bytes = static_cast<size_t>(Bytes(scalar));
  std::memcpy(&bits, static_cast<const std::byte*>(memory) + place * Bytes(scalar), bytes);
  return bits;
}

ContractValue ValueOfBits(Scalar scalar, uint64_t bits) {
  if (IsFloat(scalar)) return RealValue(FloatValue(scalar, bits), 0);
  return IntegerValue(IntegerOf(scalar, bits));
}

ContractEvaluator::ContractEvaluator(const ir::Contract& contract, const ContractData& data)
    : contract_(contract), data_(data), at_(contract.indices.size(), 0) {
  for (const ir::ContractIndex& index : contract.indices)
    extents_.push_back(std::max<int64_t>(NumberOf(index.extent, data), 0));
  for (const ir::ContractTensor& tensor : contract.tensors) arrays_.push_back(Read(tensor));
  for (const ContractNode& node : contract.nodes) plans_.push_back(Plan(node));
}

ContractArray ContractEvaluator::Read(const ir::ContractTensor& tensor) const {
  ContractArray array;
  int64_t count = 1;
  for (Size size : tensor.dims) {
    array.sizes.push_back(std::max<int64_t>(NumberOf(size, data_), 0));
    count *= array.sizes.back();
  }
  auto add = [&](Scalar scalar, uint64_t bits) {
    ContractValue value = ValueOfBits(scalar, bits);
    if (IsFloat(scalar)) array.real.push_back(value.real);
    if (!IsFloat(scalar)) array.integer.push_back(value.integer);
  };
  for (uint64_t bits : tensor.elements) add(tensor.scalar, bits);
  if (!tensor.IsOfArgument()) return array;
  const TensorArgument& from = data_.now[tensor.argument];
  bool is_old = tensor.kind == ir::ContractTensorKind::Old;
  const void* memory = is_old ? data_.old[tensor.argument] : from.data;
  std::vector<int64_t> index(array.sizes.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d) place += index[d] * from.strides[d];
    add(from.scalar, ElementAt(memory, from.scalar, place));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < array.sizes[d]) break;
      index[d] = 0;
    }
  }
  return array;
}

ContractPlan ContractEvaluator::Plan(const ContractNode& node) const {
  ContractPlan plan;
  plan.node = &node;
  if (!node.operands.empty()) plan.operand = contract_.nodes[node.operands[0]].scalar;
  if (node.kind == ContractKind::Constant) plan.constant = ValueOfBits(node.scalar, node.bits);
  if (node.kind == ContractKind::Size) {
    int64_t size = NumberOf(node.size, data_);
    plan.constant = {static_cast<double>(size), size, 0};
  }
  if (node.kind == ContractKind::Argument) {
    const TensorArgument& argument = data_.now[node.id];
    plan.constant = ValueOfBits(argument.scalar, ElementAt(argument.data, argument.scalar, 0));
  }
  for (const ir::ContractDim& dim : node.dims) {
    ContractDimPlan made;
    made.offset = NumberOf(dim.offset, data_);
    for (const ir::ContractTerm& term : dim.terms)
      made.terms.push_back({NumberOf(term.coefficient, data_), term.index, term.node});
    plan.dims.push_back(std::move(made));
  }
  return plan;
}

/// A reduction keeps its values where the indices around it are more than those that decide it, a scan always.
void ContractEvaluator::Keep(ContractId id, std::set<ContractId> around) {
  const ContractNode& node = contract_.nodes[id];
  bool folds = node.kind == ContractKind::Reduce || node.kind == ContractKind::Fold;
  if (folds && !plans_[id].memo) {
    std::set<ContractId> free = FreeIn(contract_, id);
    int64_t values = 1;
    for (ContractId index : free) values = std::min(values * extents_[index], kMostKept + 1);
    bool again = free.size() < around.size() || node.scan != ir::ContractScan::None;
    if (again && values <= kMostKept) {
      plans_[id].memo = ContractMemo{{free.begin(), free.end()},
                                     std::vector<ContractValue>(static_cast<size_t>(values)),
                                     std::vector<bool>(static_cast<size_t>(values))};
    }
  }
  around.insert(node.over.begin(), node.over.end());
  for (ContractId operand : node.operands) Keep(operand, around);
  for (const ir::ContractDim& dim : node.dims) {
    for (const ir::ContractTerm& term : dim.terms) {
      if (!term.index) Keep(term.node, around);
    }
  }
}

void ContractEvaluator::KeepIn(const ir::ContractEquation& equation) {
  Keep(equation.value, {equation.free.begin(), equation.free.end()});
}

void ContractEvaluator::Define(const ir::ContractEquation& equation) {
  KeepIn(equation);
  ContractArray& array = arrays_[*equation.defines];
  bool is_float = IsFloat(contract_.nodes[equation.value].scalar);
  Walk(equation.free, [&] {
    ContractValue value = Eval(equation.value);
    if (is_float) {
      array.real.push_back(value.real);
      array.error.push_back(value.error);
    } else {
      array.integer.push_back(value.integer);
    }
    return !fault_;
  });
}

std::vector<int64_t> ContractEvaluator::IndexOf(ContractId load) {
  std::vector<int64_t> index;
  for (const ContractDimPlan& dim : plans_[load].dims) index.push_back(IndexIn(dim));
  return index;
}

int64_t ContractEvaluator::IndexIn(const ContractDimPlan& dim) {
  int64_t index = dim.offset;
  for (const ContractTermPlan& term : dim.terms)
    index += term.coefficient * (term.index ? at_[*term.index] : Eval(term.node).integer);
  return index;
}

ContractValue ContractEvaluator::Eval(ContractId id) {
  ContractPlan& plan = plans_[id];
  const ContractNode& node = *plan.node;
  switch (node.kind) {
    case ContractKind::Constant:
    case ContractKind::Size:
    case ContractKind::Argument:
      return plan.constant;
    case ContractKind::Index:
      return IntegerValue(at_[node.id]);
    case ContractKind::Load:
      return Load(plan);
    case ContractKind::Map:
      return Map(plan);
    case ContractKind::Select:
      return Eval(node.operands[Eval(node.operands[0]).integer != 0 ? 1 : 2]);
    case ContractKind::Reduce:
    case ContractKind::Fold:
      return plan.memo ? Remembered(plan) : Reduce(plan);
    case ContractKind::Call:
      return Call(node.id, EvalEach(node.operands))[node.part];
    case ContractKind::Slot:
      return slots_[frame_ + node.id];
  }
  KDL_UNREACHABLE();
}

ContractValue ContractEvaluator::Load(const ContractPlan& plan) {
  const ContractArray& array = arrays_[plan.node->id];
  int64_t place = 0;
  for (size_t d = 0; d < plan.dims.size(); ++d) {
    int64_t index = IndexIn(plan.dims[d]);
    if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(array.sizes[d])) {
      if (!plan.node->operands.empty()) return Eval(plan.node->operands[0]);
      Fault(plan.node->span,
            fmt::format("index {} of '{}' is {}, outside its size {}", d,
                        contract_.tensors[plan.node->id].name.text(), index, array.sizes[d]));
      return {};
    }
    place = place * array.sizes[d] + index;
  }
  auto n = static_cast<size_t>(place);
  if (!IsFloat(plan.node->scalar)) return IntegerValue(array.integer[n]);
  return RealValue(array.real[n], array.error.empty() ? 0 : array.error[n]);
}

ContractValue ContractEvaluator::Map(const ContractPlan& plan) {
  const ContractNode& node = *plan.node;
  ContractValue operands[3];
  for (size_t i = 0; i < node.operands.size(); ++i) operands[i] = Eval(node.operands[i]);
  bool divides = node.map == ir::ContractMap::Div || node.map == ir::ContractMap::Rem;
  if (divides && !IsFloat(node.scalar) && operands[1].integer == 0) {
    Fault(node.span, "this divides by 0");
    return {};
  }
  if (node.map == ir::ContractMap::Bits) return PatternOf(node.pattern, operands[0]);
  if (node.map == ir::ContractMap::FromBits) return OfPattern(node.pattern, operands[0]);
  return EvaluateMap(node.map, plan.operand, node.scalar, operands);
}

size_t ContractEvaluator::PlaceIn(const ContractMemo& memo) const {
  size_t place = 0;
  for (ContractId index : memo.indices)
    place = place * static_cast<size_t>(extents_[index]) + static_cast<size_t>(at_[index]);
  return place;
}

ContractValue ContractEvaluator::Remembered(ContractPlan& plan) {
  size_t place = PlaceIn(*plan.memo);
  if (!plan.memo->known[place]) {
    plan.memo->values[place] = Reduce(plan);
    plan.memo->known[place] = true;
  }
  return plan.memo->values[place];
}

void ContractEvaluator::Fault(Span span, std::string text) {
  if (!fault_) fault_ = ContractFailure{span, std::move(text), true, {}};
}

std::optional<ContractFailure> ContractEvaluator::TakeFault() {
  return std::exchange(fault_, std::nullopt);
}

}  // namespace kdl::interp
