#include "tools/testing/input_rules.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "driver/run/draw.h"
#include "ir/comparisons.h"
#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "support/float_bits.h"

namespace kdl::tools {

namespace {

using ir::OpKind;
using ir::Value;

/// Returns the value that the given region of an `if` yields for this result.
const Value* Yielded(const Value* result, size_t region) {
  return result->def()->region(region)->terminator()->operand(result->index());
}

bool IsConstant(const Value* value, bool expected) {
  const ir::Op* def = value->def();
  return def && def->kind() == OpKind::Const && value->type()->scalar == Scalar::Bool &&
         (def->attr<ir::AttrKey::Bits>() != 0) == expected;
}

/// Returns the value in memory from which this value was converted to one of the contract's number
/// types. Returns the value itself if it is not a conversion.
const Value* InMemory(const Value* value) {
  const ir::Op* def = value->def();
  if (!def || def->kind() != OpKind::Cast) return value;
  const Value* operand = def->operand(0);
  bool wide = value->type()->scalar == Scalar::F64 || value->type()->scalar == Scalar::I64;
  bool is_source = !operand->def() || operand->def()->kind() == OpKind::Load;
  return wide && is_source ? operand : value;
}

/// An element of a tensor argument, or a scalar argument.
struct Source {
  uint32_t argument = 0;
  const ir::Op* load = nullptr;  ///< null for a scalar
};

class Reader {
 public:
  Reader(const ir::Contract& contract, const interp::ContractData& data)
      : contract_(contract), data_(data) {}

  std::map<uint32_t, InputRule> Read() {
    for (const ir::Clause& clause : contract_.requirements) {
      clause_ = &clause;
      Visit(clause.function->body->terminator()->operand(0));
    }
    return std::move(rules_);
  }

 private:
  /// Visits a condition. `a && b` is represented by an `if` that yields b or false, and `a || b` by
  /// an `if` that yields true or b.
  void Visit(const Value* value) {
    const ir::Op* def = value->def();
    if (!def) return;
    if (def->kind() == OpKind::If) {
      if (IsConstant(Yielded(value, 0), true)) return Pairs(def->operand(0), Yielded(value, 1));
      if (!IsConstant(Yielded(value, 1), false)) return;
      Visit(def->operand(0));
      Visit(Yielded(value, 0));
    } else if (ir::IsComparison(def->kind())) {
      Compare(def->kind(), def->operand(0), def->operand(1));
      Compare(ir::Mirrored(def->kind()), def->operand(1), def->operand(0));
    }
  }

  /// Handles conditions on all pairs of elements: `i == j || x[i] != x[j]` and `i >= j || x[i] <
  /// x[j]`.
  void Pairs(const Value* unless, const Value* then) {
    const ir::Op* first = unless->def();
    const ir::Op* second = then->def();
    if (!first || !second || first->operands().size() != 2 || second->operands().size() != 2)
      return;
    std::optional<uint32_t> i = FreeName(first->operand(0));
    std::optional<uint32_t> j = FreeName(first->operand(1));
    std::optional<Source> left = ArgumentSource(second->operand(0));
    std::optional<Source> right = ArgumentSource(second->operand(1));
    if (!left || !right || left->argument != right->argument || !i || !j || i == j) return;
    std::optional<uint32_t> a = LastDimensionName(*left);
    std::optional<uint32_t> b = LastDimensionName(*right);
    if (!(a == i && b == j) && !(a == j && b == i)) return;
    if (!AreOfAnyRow(left->load, right->load, {*i, *j})) return;
    // The comparison of the two indices, with the index of the left element as its left operand.
    OpKind rises = a == i ? first->kind() : ir::Mirrored(first->kind());
    InputRule& rule = rules_[left->argument];
    bool differ = first->kind() == OpKind::Eq && second->kind() == OpKind::Ne;
    bool strict = rises == OpKind::Ge && second->kind() == OpKind::Lt;
    rule.distinct |= differ || strict;
    rule.ascending |= strict;
  }

  const ir::ContractParam* FindParam(const Value* value) const {
    const std::vector<ir::Param>& params = clause_->function->params;
    auto found =
        std::ranges::find_if(params, [&](const ir::Param& param) { return param.value == value; });
    return found == params.end() ? nullptr
                                 : &clause_->params[static_cast<size_t>(found - params.begin())];
  }
  bool IsArgument(const Value* value) const {
    const ir::ContractParam* param = FindParam(value);
    return param &&
           (param->input == ir::ContractInput::Argument || param->input == ir::ContractInput::Old);
  }
  /// If the value is a free index name of the clause, returns that name.
  std::optional<uint32_t> FreeName(const Value* value) const {
    const ir::ContractParam* param = FindParam(value);
    if (!param || param->input != ir::ContractInput::Index) return std::nullopt;
    return param->number;
  }
  std::optional<Source> ArgumentSource(const Value* computed) const {
    const Value* value = InMemory(computed);
    if (IsArgument(value)) return Source{FindParam(value)->number, nullptr};
    const ir::Op* def = value->def();
    bool reads = def && def->kind() == OpKind::Load && IsArgument(def->operand(0)) &&
                 def->Segment(ir::LoadOp::at_otherwise).empty();
    if (!reads) return std::nullopt;
    return Source{FindParam(def->operand(0))->number, def};
  }
  static const std::vector<ir::AccessDim>& DimsOf(const ir::Op* load) {
    return std::get<ir::Access>(load->FindAttr(ir::AttrKey::Access)->value).dims;
  }
  /// If a dimension's index is a free name, possibly plus a constant or a size, returns that name.
  std::optional<uint32_t> NameIn(const ir::Op* load, const ir::AccessDim& dim) const {
    if (dim.terms.size() != 1 || !kdl::IsConstant(dim.terms[0].coefficient, 1)) return std::nullopt;
    return FreeName(load->Segment(ir::LoadOp::at_index)[dim.terms[0].operand]);
  }
  /// If the index in the last dimension of a load is just a free name, returns that name.
  std::optional<uint32_t> LastDimensionName(const Source& source) const {
    if (!source.load || DimsOf(source.load).empty()) return std::nullopt;
    const ir::AccessDim& last = DimsOf(source.load).back();
    return kdl::IsConstant(last.offset, 0) ? NameIn(source.load, last) : std::nullopt;
  }

  void Compare(OpKind kind, const Value* left, const Value* right) {
    std::optional<Source> source = ArgumentSource(left);
    if (!source) return;
    if (IsNextOf(*source, right) && (kind == OpKind::Le || kind == OpKind::Lt)) {
      rules_[source->argument].ascending = true;
      if (kind == OpKind::Lt) rules_[source->argument].distinct = true;
    } else if (std::optional<uint64_t> bits = Closed(right)) {
      Scalar scalar = data_.now[source->argument].scalar;
      if (std::optional<Number> number = ComparisonNumber(scalar, right->type()->scalar, *bits))
        Bound(kind, *source, *number, IsFloat(scalar));
    }
  }

  /// Returns the number that elements of the scalar type are compared with. Returns nothing if a
  /// u64 element is compared as a signed number, since that says little about its value.
  static std::optional<Number> ComparisonNumber(Scalar scalar, Scalar compared, uint64_t bits) {
    if (IsFloat(compared)) return Number{FloatValue(compared, bits), 0};
    if (scalar != Scalar::U64) return Number{0, ir::Extended(compared, bits)};
    if (compared != Scalar::U64 && ir::Extended(compared, bits) < 0) return std::nullopt;
    return Number{0, driver::OrderedInteger(scalar, bits)};
  }

  /// Evaluates the value if it is computed only from constants and sizes. Returns nothing
  /// otherwise.
  std::optional<uint64_t> Closed(const Value* value) const {
    const ir::Function& function = *clause_->function;
    const ir::Op* def = value->def();
    if (!def) {
      bool is_dim =
          value->parent_region() == function.body && value->index() < function.dims.size();
      if (!is_dim) return std::nullopt;
      return static_cast<uint64_t>(data_.size(function.dims[value->index()]).value_or(0));
    }
    if (def->kind() == OpKind::Const) return static_cast<uint64_t>(def->attr<ir::AttrKey::Bits>());
    if (!def->info().has(ir::kElementwise)) return std::nullopt;
    std::vector<uint64_t> operands;
    for (const Value* operand : def->operands()) {
      std::optional<uint64_t> bits = Closed(operand);
      if (!bits) return std::nullopt;
      operands.push_back(*bits);
    }
    return ir::Evaluate(def->kind(), def->operands().back()->type()->scalar, value->type()->scalar,
                        operands.data());
  }

  /// Returns the range of elements that are compared, for each dimension. A constant index selects
  /// one element. An index `i + c` selects the elements from c on. Any other index selects all.
  std::vector<IndexRange> ComparedElements(const Source& source) const {
    std::vector<IndexRange> index;
    if (!source.load) return index;
    for (const ir::AccessDim& dim : DimsOf(source.load)) {
      IndexRange& range = index.emplace_back();
      std::optional<int64_t> offset = Evaluate(dim.offset, data_.size);
      if (!offset) continue;
      if (dim.terms.empty()) range = {*offset, *offset};
      if (NameIn(source.load, dim)) range.first = std::max<int64_t>(*offset, 0);
    }
    return index;
  }

  void Bound(OpKind kind, const Source& source, const Number& value, bool is_float) {
    bool open = kind == OpKind::Lt || kind == OpKind::Gt;
    bool low = kind == OpKind::Gt || kind == OpKind::Ge || kind == OpKind::Eq;
    bool high = kind == OpKind::Lt || kind == OpKind::Le || kind == OpKind::Eq;
    // Generated floats are always finite, so an infinite bound has no effect.
    if (is_float && !std::isfinite(value.real)) return;
    Number limit = value;
    if (open && is_float)
      limit.real = std::nextafter(limit.real, low ? HUGE_VAL : -HUGE_VAL);
    else if (open && limit.integer != (low ? INT64_MAX : INT64_MIN))
      limit.integer += low ? 1 : -1;
    BoundRule rule{ComparedElements(source), {}};
    if (low) rule.bounds.low = limit;
    if (high) rule.bounds.high = limit;
    if (low || high) rules_[source.argument].bounds.push_back(std::move(rule));
  }

  /// Returns the load that computes the value if its index is in bounds, or null if there is no
  /// such load.
  static const ir::Op* LoadInside(const Value* computed) {
    const ir::Op* def = computed->def();
    if (def && def->kind() == OpKind::If) computed = Yielded(computed, 0);
    const ir::Op* load = InMemory(computed)->def();
    return load && load->kind() == OpKind::Load ? load : nullptr;
  }

  /// Whether both loads read from the same arbitrary row: in each dimension except the last, the
  /// indices of both loads are the same free name, and each dimension has a name of its own.
  bool AreOfAnyRow(const ir::Op* a, const ir::Op* b, std::set<uint32_t> names) const {
    const std::vector<ir::AccessDim>& of_a = DimsOf(a);
    const std::vector<ir::AccessDim>& of_b = DimsOf(b);
    for (size_t d = 0; d + 1 < of_a.size(); ++d) {
      std::optional<uint32_t> name = NameIn(a, of_a[d]);
      bool alike = name && name == NameIn(b, of_b[d]) && kdl::IsConstant(of_a[d].offset, 0) &&
                   kdl::IsConstant(of_b[d].offset, 0);
      if (!alike || !names.insert(*name).second) return false;
    }
    return true;
  }

  /// Whether `a` is t[…, i] and `right` is t[…, i + 1], possibly with an `else`, for all rows and
  /// from the first element on.
  bool IsNextOf(const Source& a, const Value* right) const {
    const ir::Op* b = LoadInside(right);
    if (!b || !a.load || a.load->operand(0) != b->operand(0) || DimsOf(b).empty()) return false;
    const ir::AccessDim& here = DimsOf(a.load).back();
    const ir::AccessDim& next = DimsOf(b).back();
    std::optional<uint32_t> name = NameIn(a.load, here);
    bool from_first = kdl::IsConstant(here.offset) && here.offset->value <= 0;
    return name && name == NameIn(b, next) && from_first && kdl::IsConstant(next.offset) &&
           next.offset->value == here.offset->value + 1 && AreOfAnyRow(a.load, b, {*name});
  }

  const ir::Contract& contract_;
  const interp::ContractData& data_;
  const ir::Clause* clause_ = nullptr;
  std::map<uint32_t, InputRule> rules_;
};

}  // namespace

std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data) {
  return Reader(contract, data).Read();
}

}  // namespace kdl::tools
