#include "codegen/ptx/launch_memory.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "ir/lookup.h"
#include "ir/op.h"
#include "ir/op_kind.h"

namespace kdl::codegen::ptx {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

std::optional<int64_t> SizeNumber(const ir::Function& kernel, const Value* value) {
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (kernel.dim_value(i) == value) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

void Narrow(SizeRanges& ranges, const SizeRange& range) {
  auto known = std::ranges::find(ranges, range.size, &SizeRange::size);
  if (known == ranges.end()) {
    ranges.push_back(range);
    return;
  }
  known->least = std::max(known->least, range.least);
  known->most = std::min(known->most, range.most);
}

/// Adds the conditions on sizes that hold if the value is true. Returns whether the value depends on nothing else.
bool AddConditions(const ir::Function& kernel, const Value* value, SizeRanges& ranges) {
  const Op* test = value->def();
  if (!test) return false;
  if (test->kind() == OpKind::And) {
    bool has_first = AddConditions(kernel, test->operand(0), ranges);
    return AddConditions(kernel, test->operand(1), ranges) && has_first;
  }
  if (test->kind() != OpKind::Le && test->kind() != OpKind::Lt) return false;
  const int64_t off = test->kind() == OpKind::Lt ? 1 : 0;
  std::optional<int64_t> low = ir::ConstantOf(test->operand(0));
  std::optional<int64_t> high = ir::ConstantOf(test->operand(1));
  std::optional<int64_t> size = SizeNumber(kernel, test->operand(low ? 1 : 0));
  if (!size || low.has_value() == high.has_value()) return false;
  Narrow(ranges, low ? SizeRange{*size, *low + off, kNoLimit} : SizeRange{*size, 0, *high - off});
  return true;
}

}  // namespace

bool Conditions::Exclude(const Conditions& other) const {
  bool other_sizes = std::ranges::any_of(ranges, [&](const SizeRange& range) {
    auto found = std::ranges::find(other.ranges, range.size, &SizeRange::size);
    return found != other.ranges.end() && (found->most < range.least || range.most < found->least);
  });
  return other_sizes || std::ranges::any_of(branches, [&](const auto& branch) {
           return std::ranges::any_of(other.branches, [&](const auto& another) {
             return branch.first == another.first && branch.second != another.second;
           });
         });
}

Conditions ConditionsAround(const ir::Function& kernel, const Op* op) {
  Conditions conditions;
  const ir::Region* region = op->parent_region();
  for (const Op* around = region->parent(); around; around = region->parent()) {
    bool is_then = around->region(0) == region;
    SizeRanges none;
    if (around->kind() == OpKind::If &&
        AddConditions(kernel, around->operand(0), is_then ? conditions.ranges : none))
      conditions.branches.emplace_back(around, is_then ? 0 : 1);
    region = around->parent_region();
  }
  std::ranges::sort(conditions.ranges, {}, &SizeRange::size);
  return conditions;
}

void LaunchMemory::Add(llvm::GetElementPtrInst* place, int64_t bytes,
                       const Conditions& conditions) {
  auto part = std::ranges::find(parts_, conditions, &Part::conditions);
  if (part == parts_.end()) part = parts_.insert(part, {conditions, {}, 0});
  part->buffers.emplace_back(place, bytes);
}

bool LaunchMemory::CanShare(const Conditions& conditions) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.conditions.Exclude(conditions); });
}

int64_t LaunchMemory::Reserve(int64_t bytes, int64_t alignment) {
  int64_t offset = (reserved_ + alignment - 1) / alignment * alignment;
  reserved_ = offset + bytes;
  return offset;
}

std::vector<LaunchMemory::Need> LaunchMemory::Finish() {
  std::vector<Need> needs = {{reserved_, {}}};
  for (Part& part : parts_) {
    part.end = reserved_;
    for (const Part& before : parts_) {
      if (&before == &part) break;
      if (!before.conditions.Exclude(part.conditions)) part.end = std::max(part.end, before.end);
    }
    for (auto [place, bytes] : part.buffers) {
      place->setOperand(place->getNumOperands() - 1,
                        llvm::ConstantInt::get(llvm::Type::getInt64Ty(place->getContext()),
                                               static_cast<uint64_t>(part.end)));
      part.end += bytes;
    }
    auto known = std::ranges::find(needs, part.conditions.ranges, &Need::ranges);
    if (known == needs.end()) known = needs.insert(known, {0, part.conditions.ranges});
    known->bytes = std::max(known->bytes, part.end);
  }
  return needs;
}

}  // namespace kdl::codegen::ptx
