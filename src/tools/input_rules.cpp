#include "tools/input_rules.h"

#include <algorithm>
#include <optional>
#include <set>

#include "support/check.h"

namespace kdl::tools {

namespace {

using interp::ContractValue;
using ir::ContractId;
using ir::ContractKind;
using ir::ContractMap;
using ir::ContractNode;

bool IsComparison(ContractMap map) { return map >= ContractMap::Eq && map <= ContractMap::Ge; }

/// The comparison with its sides exchanged.
ContractMap Mirrored(ContractMap map) {
  switch (map) {
    case ContractMap::Lt:
      return ContractMap::Gt;
    case ContractMap::Le:
      return ContractMap::Ge;
    case ContractMap::Gt:
      return ContractMap::Lt;
    case ContractMap::Ge:
      return ContractMap::Le;
    default:
      return map;
  }
}

class Reader {
 public:
  Reader(const ir::Contract& contract, const interp::ContractData& data)
      : contract_(contract), evaluator_(contract, data) {}

  std::map<uint32_t, InputRule> Read() {
    for (const ir::ContractCondition& condition : contract_.requirements) Visit(condition.value);
    for (auto& [argument, rule] : rules_) KeepBetweenFixed(rule);
    return std::move(rules_);
  }

 private:
  /// What ascends lies between its fixed elements: the first and the last as a rule.
  static void KeepBetweenFixed(InputRule& rule) {
    if (!rule.ascending) return;
    auto less = [](const auto& a, const auto& b) {
      return std::pair(a.second.integer, a.second.real) <
             std::pair(b.second.integer, b.second.real);
    };
    auto [least, most] = std::minmax_element(rule.fixed.begin(), rule.fixed.end(), less);
    if (least == most) return;
    if (!rule.low) rule.low = Limit{least->second, false};
    if (!rule.high) rule.high = Limit{most->second, false};
  }

  const ContractNode& Node(ContractId id) const { return contract_.nodes[id]; }

  /// `a && b` is a selection of b or false, `a || b` one of true or b.
  void Visit(ContractId id) {
    const ContractNode& node = Node(id);
    if (node.kind == ContractKind::Select && node.scalar == Scalar::Bool) {
      const ContractNode& then = Node(node.operands[1]);
      if (then.kind == ContractKind::Constant && then.bits != 0)
        return Pairs(Node(node.operands[0]), Node(node.operands[2]));
      const ContractNode& otherwise = Node(node.operands[2]);
      if (otherwise.kind != ContractKind::Constant || otherwise.bits != 0) return;
      Visit(node.operands[0]);
      Visit(node.operands[1]);
    } else if (node.kind == ContractKind::Map && IsComparison(node.map)) {
      Compare(node.map, node.operands[0], node.operands[1]);
      Compare(Mirrored(node.map), node.operands[1], node.operands[0]);
    }
  }

  /// `i == j || x[i] != x[j]`, `i >= j || x[i] < x[j]`: of all pairs.
  void Pairs(const ContractNode& unless, const ContractNode& then) {
    if (unless.kind != ContractKind::Map || then.kind != ContractKind::Map) return;
    if (unless.operands.size() != 2 || then.operands.size() != 2) return;
    std::optional<ContractId> i = AloneIn(Node(unless.operands[0]));
    std::optional<ContractId> j = AloneIn(Node(unless.operands[1]));
    std::optional<ContractId> a = LastOf(Node(then.operands[0]));
    std::optional<ContractId> b = LastOf(Node(then.operands[1]));
    bool same_tensor = a && b && Node(then.operands[0]).id == Node(then.operands[1]).id;
    if (!i || !j || i == j || !same_tensor) return;
    if (!(a == i && b == j) && !(a == j && b == i)) return;
    ContractMap rises = a == i ? unless.map : Mirrored(unless.map);  // as if x[i] stood first
    InputRule& rule = RuleOf(Node(then.operands[0]));
    bool differ = unless.map == ContractMap::Eq && then.map == ContractMap::Ne;
    bool strict = rises == ContractMap::Ge && then.map == ContractMap::Lt;
    rule.distinct |= differ || strict;
    rule.ascending |= strict;
  }
  std::optional<ContractId> AloneIn(const ContractNode& node) const {
    return node.kind == ContractKind::Index ? std::optional(node.id) : std::nullopt;
  }
  /// The index name that alone is a load's last dimension.
  std::optional<ContractId> LastOf(const ContractNode& node) const {
    if (!IsOfArgument(node) || node.kind != ContractKind::Load || node.dims.empty())
      return std::nullopt;
    const ir::ContractDim& last = node.dims.back();
    bool alone = last.terms.size() == 1 && IsConstant(last.offset, 0);
    return alone ? last.terms[0].index : std::nullopt;
  }

  void Compare(ContractMap map, ContractId left, ContractId right) {
    const ContractNode& node = Node(left);
    if (IsNextOf(left, right) && (map == ContractMap::Le || map == ContractMap::Lt)) {
      RuleOf(node).ascending = true;
      if (map == ContractMap::Lt) RuleOf(node).distinct = true;
    } else if (IsOfArgument(node) && IsClosed(right)) {
      IsFixedElement(node) ? Fix(map, left, right) : Bound(map, node, evaluator_.Eval(right));
    }
  }

  bool IsOfArgument(const ContractNode& node) const {
    if (node.kind == ContractKind::Argument) return true;
    return node.kind == ContractKind::Load && node.operands.empty() &&
           contract_.tensors[node.id].IsOfArgument();
  }
  InputRule& RuleOf(const ContractNode& node) {
    bool scalar = node.kind == ContractKind::Argument;
    return rules_[scalar ? node.id : contract_.tensors[node.id].argument];
  }

  /// Made of constants and sizes only.
  bool IsClosed(ContractId id) const {
    const ContractNode& node = Node(id);
    bool leaf = node.kind == ContractKind::Constant || node.kind == ContractKind::Size;
    return leaf || (node.kind == ContractKind::Map &&
                    std::all_of(node.operands.begin(), node.operands.end(),
                                [&](ContractId operand) { return IsClosed(operand); }));
  }

  bool IsFixedElement(const ContractNode& node) const {
    return node.kind == ContractKind::Load &&
           std::all_of(node.dims.begin(), node.dims.end(),
                       [](const ir::ContractDim& dim) { return dim.terms.empty(); });
  }

  void Fix(ContractMap map, ContractId left, ContractId right) {
    if (map != ContractMap::Eq) return;
    RuleOf(Node(left)).fixed.emplace_back(evaluator_.IndexOf(left), evaluator_.Eval(right));
  }

  void Bound(ContractMap map, const ContractNode& node, const ContractValue& value) {
    InputRule& rule = RuleOf(node);
    bool is_float = IsFloat(node.scalar);
    ContractValue limit = value;
    bool open = map == ContractMap::Lt || map == ContractMap::Gt;
    bool low = map == ContractMap::Gt || map == ContractMap::Ge || map == ContractMap::Eq;
    bool high = map == ContractMap::Lt || map == ContractMap::Le || map == ContractMap::Eq;
    if (open && !is_float) limit.integer += low ? 1 : -1;
    auto less = [&](const ContractValue& a, const ContractValue& b) {
      return is_float ? a.real < b.real : a.integer < b.integer;
    };
    if (low && (!rule.low || less(rule.low->value, limit))) rule.low = Limit{limit, open};
    if (high && (!rule.high || less(limit, rule.high->value))) rule.high = Limit{limit, open};
  }

  /// t[…, i] and t[…, i + 1].
  bool IsNextOf(ContractId left, ContractId right) const {
    const ContractNode& a = Node(left);
    const ContractNode& b = Node(right);
    if (!IsOfArgument(a) || a.kind != ContractKind::Load || b.kind != ContractKind::Load)
      return false;
    if (a.id != b.id || a.dims.empty()) return false;
    const ir::ContractDim& here = a.dims.back();
    const ir::ContractDim& next = b.dims.back();
    bool bare = here.terms.size() == 1 && next.terms.size() == 1 && here.terms[0].index &&
                here.terms[0].index == next.terms[0].index;
    return bare && IsConstant(here.offset) && IsConstant(next.offset) &&
           next.offset->value == here.offset->value + 1;
  }

  const ir::Contract& contract_;
  interp::ContractEvaluator evaluator_;
  std::map<uint32_t, InputRule> rules_;
};

}  // namespace

std::map<uint32_t, InputRule> ReadRules(const ir::Contract& contract,
                                        const interp::ContractData& data) {
  return Reader(contract, data).Read();
}

}  // namespace kdl::tools
