#include <algorithm>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/kernel_shape.h"
#include "targets/cpu/analysis/steps.h"

// Finds groups of results. In the sum of 2 by 2 elements, for example, the elements of two rows are added before they
// are taken apart, so that two shuffles suffice:
//
//   %a = load %x[0, 2*%j] ; %b = load %x[1, 2*%j] ; %s = add %a, %b              a group: %s, %t
//   %c = load %x[0, 2*%j + 1] ; %d = load %x[1, 2*%j + 1] ; %t = add %c, %d

namespace kdl::cpu {

namespace {

class ResultGroups {
 public:
  ResultGroups(const Op* elementwise, std::vector<StepGroup>& groups)
      : elementwise_(elementwise), groups_(groups) {}

  void Add() {
    size_t accesses = groups_.size();
    while (AddOnce()) {
    }
    for (size_t number = groups_.size(); number-- > accesses;) {
      if (!Saves(number)) groups_[number].members.clear();
    }
  }

 private:
  /// Whether fewer elements are taken apart because of the group: it, or a group that uses it, combines several groups.
  bool Saves(size_t number) const {
    const StepGroup& group = groups_[number];
    auto operands =
        std::ranges::count_if(group.operands, [](const auto& o) { return o.has_value(); });
    return operands > 1 || std::ranges::any_of(groups_, [&](const StepGroup& user) {
             return !user.members.empty() && Contains(user.operands, std::optional(number));
           });
  }

  bool AddOnce() {
    std::vector<StepGroup> found;
    for (const Op* op : *elementwise_->region()) {
      if (GroupOf(op)) continue;
      if (std::optional<StepGroup> group = GroupOfResult(op)) Join(found, *group);
    }
    size_t before = groups_.size();
    for (StepGroup& group : found) {
      if (group.IsFull() && group.members.size() == static_cast<size_t>(group.step))
        groups_.push_back(std::move(group));
    }
    return groups_.size() > before;
  }

  /// Adds the only member of `group` to a group of the same op and operands.
  void Join(std::vector<StepGroup>& found, const StepGroup& group) const {
    auto fits = std::ranges::find_if(found, [&](const StepGroup& other) {
      return other.step == group.step && other.operands == group.operands &&
             AreAlike(other.members[0].op, group.members[0].op, group);
    });
    if (fits == found.end()) {
      found.push_back(group);
    } else {
      fits->members.push_back(group.members[0]);
    }
  }

  static bool AreAlike(const Op* a, const Op* b, const StepGroup& group) {
    if (a->kind() != b->kind() || a->result()->type() != b->result()->type()) return false;
    for (size_t i = 0; i < group.operands.size(); ++i) {
      if (!group.operands[i] && a->operand(i) != b->operand(i)) return false;
    }
    return true;
  }

  std::optional<size_t> GroupOf(const Op* op) const {
    for (size_t number = 0; number < groups_.size(); ++number) {
      if (op && groups_[number].OffsetOf(op)) return number;
    }
    return std::nullopt;
  }

  /// Returns a group with only this op if its operands are members with equal offsets.
  std::optional<StepGroup> GroupOfResult(const Op* op) const {
    bool computes = op->info().is_computed() && !WidensTwofold(op) && op->attrs().empty() &&
                    !MayTrap(op) && op->results().size() == 1;
    if (!computes) return std::nullopt;
    StepGroup result;
    for (const Value* operand : op->operands()) {
      std::optional<size_t> number = GroupOf(operand->def());
      result.operands.push_back(number);
      if (!number) {
        if (operand->def() && IsInside(operand->def(), elementwise_)) return std::nullopt;
        continue;
      }
      const StepGroup& group = groups_[*number];
      int64_t offset = *group.OffsetOf(operand->def());
      // Code generators only split whole vectors of three or four elements well right after they are loaded.
      bool splits = group.step == 2 || !group.is_whole;
      bool fits = result.members.empty() ||
                  (result.step == group.step && result.is_whole == group.is_whole &&
                   result.members[0].offset == offset);
      if (!fits || !splits || !group.IsFull() || operand->uses().size() != 1) return std::nullopt;
      result.step = group.step;
      result.is_whole = group.is_whole;
      result.members = {{op, offset}};
    }
    return result.members.empty() ? std::nullopt : std::optional(result);
  }

  const Op* elementwise_;
  std::vector<StepGroup>& groups_;
};

}  // namespace

bool WidensTwofold(const Op* op) {
  if (op->kind() != OpKind::Cast) return false;
  Scalar from = op->operand(0)->type()->scalar;
  Scalar to = op->result()->type()->scalar;
  return IsInteger(from) && IsInteger(to) && Bytes(to) == 2 * Bytes(from);
}

void AddResultGroups(const Op* elementwise, std::vector<StepGroup>& groups) {
  ResultGroups(elementwise, groups).Add();
}

}  // namespace kdl::cpu
