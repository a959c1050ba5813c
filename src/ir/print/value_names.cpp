#include "ir/print/value_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ir/format.h"
#include "ir/op_table.h"
#include "ir/print/literals.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

/// Returns the suffix for a property of a block: `%i.size` is the size of block %i.
std::string_view BlockFactSuffix(OpKind kind) {
  switch (kind) {
    case OpKind::BlockStart:
      return ".start";
    case OpKind::BlockSize:
      return ".size";
    case OpKind::BlockIndex:
      return ".index";
    default:
      return "";
  }
}

bool LoadsFirstOperand(OpKind kind) {
  return kind == OpKind::Load || kind == OpKind::LoadTile || kind == OpKind::BufferLoad ||
         kind == OpKind::HostLoad;
}

bool IsAccessIndex(const Use& use) {
  const Op* user = use.user;
  if (!user->HasAttr(AttrKey::Access)) return false;
  size_t begin = user->SegmentBegin(AccessOperands(user->kind()));
  return use.operand >= begin &&
         use.operand < begin + user->Segment(AccessOperands(user->kind())).size();
}

}  // namespace

std::string NameText(std::string_view name) {
  return IsPlainName(name) ? std::string(name) : Quoted(name);
}

std::string DerivedName(const Value* value) {
  const Op* op = value->def();
  if (!op || op->kind() == OpKind::Const) return "";
  std::string_view suffix = BlockFactSuffix(op->kind());
  bool follows_operand = !suffix.empty() || LoadsFirstOperand(op->kind());
  if (follows_operand && !op->operand(0)->name().empty())
    return fmt::format("{}{}", op->operand(0)->name().text(), suffix);
  return std::string(op->info().spelling);
}

std::string BaseName(const Value* value) {
  std::string name(value->name().text());
  return name.empty() ? DerivedName(value) : name;
}

bool IsUnnamedConstant(const Op* op) {
  return op->kind() == OpKind::Const && op->result()->name().text().empty();
}

bool IsInlineConstant(const Op* op) {
  if (!IsUnnamedConstant(op)) return false;
  Type type = op->result()->type();
  auto bits = static_cast<uint64_t>(op->attr<AttrKey::Bits>());
  bool has_text = type->kind == TypeKind::Tile && type->axes.empty() &&
                  ConstantBits(type->scalar, ConstantText(type->scalar, bits)) == bits;
  return has_text && std::ranges::none_of(op->result()->uses(), IsAccessIndex);
}

std::string InlineConstantText(Scalar scalar, uint64_t bits) {
  std::string text = ConstantText(scalar, bits);
  bool is_plain = scalar == Scalar::I64 || scalar == Scalar::Bool;
  return is_plain ? text : fmt::format("{}_{}", text, Spelling(scalar));
}

namespace {

/// Returns the operator that an expression writes between two numbers, or an empty string.
std::string_view InfixOperator(OpKind kind) {
  switch (kind) {
    case OpKind::Add:
      return "+";
    case OpKind::Sub:
      return "-";
    case OpKind::Mul:
      return "*";
    case OpKind::Div:
      return "/";
    case OpKind::Rem:
      return "rem";
    case OpKind::Lt:
      return "<";
    case OpKind::Le:
      return "<=";
    case OpKind::Gt:
      return ">";
    case OpKind::Ge:
      return ">=";
    case OpKind::Eq:
      return "==";
    case OpKind::Ne:
      return "!=";
    case OpKind::And:
      return "and";
    case OpKind::Or:
      return "or";
    default:
      return "";
  }
}

constexpr size_t kLongestExpression = 100;  // longer ones are hard to read

/// Returns whether the op computes a number that is used at most once, without attributes. So a reader knows the type of its
/// result, and it does not matter where the op is.
bool IsExpression(const Op* op) {
  auto is_number = [](const Value* value) {
    return value->type()->kind == TypeKind::Tile && value->type()->axes.empty();
  };
  bool is_pure = op->info().has(kPure) && op->regions().empty() && op->attrs().empty() &&
                 op->kind() != OpKind::Cast && !op->operands().empty() && op->results().size() == 1;
  return is_pure && op->result()->uses().size() <= 1 && is_number(op->result()) &&
         std::ranges::all_of(op->operands(), is_number);
}

}  // namespace

bool FunctionNames::HasNoLine(const Op* op) const {
  return inlined_ != Inlined::Nothing &&
         (IsUnnamedConstant(op) ||
          (op->results().size() == 1 && expressions_.contains(op->result())));
}

std::string FunctionNames::ExpressionText(const Op* op) const {
  std::string_view infix = InfixOperator(op->kind());
  if (!infix.empty() && op->operands().size() == 2)
    return fmt::format("({} {} {})", NameOf(op->operand(0)), infix, NameOf(op->operand(1)));
  std::vector<std::string_view> operands;
  for (const Value* operand : op->operands()) operands.push_back(NameOf(operand));
  return fmt::format("{}({})", op->info().spelling, fmt::join(operands, ", "));
}

FunctionNames::FunctionNames(const Function& function, Inlined inlined) : inlined_(inlined) {
  for (const Axis& axis : function.axes) {
    axes_.push_back(axis.name.empty() ? fmt::format("{}", next_axis_++)
                                      : Distinct(axis_taken_, axis.name.text()));
  }
  if (inlined_ != Inlined::Nothing) AddSharedConstants(function.body);
  AddParams(function.body);
  AddRegion(function.body);
}

/// Names the constants that share a line at the start of the function. They are sorted by value, so that
/// their names do not depend on where passes have created them.
void FunctionNames::AddSharedConstants(const Region* body) {
  std::map<std::pair<Scalar, uint64_t>, std::string> names;
  auto key = [](const Op* op) {
    return std::pair(op->result()->type()->scalar,
                     static_cast<uint64_t>(op->attr<AttrKey::Bits>()));
  };
  std::vector<const Op*> shared;
  Walk(body, [&](const Op* op) {
    if (!IsUnnamedConstant(op) || IsInlineConstant(op)) return;
    shared.push_back(op);
    names[key(op)];
  });
  for (auto& [constant, name] : names) {
    name = fmt::format("%{}", next_value_++);
    shared_constants_.push_back({name, constant.first, constant.second});
  }
  for (const Op* op : shared) values_[op->result()] = names[key(op)];
}

std::string_view FunctionNames::NameOf(const Value* value) const {
  auto found = values_.find(value);
  return found == values_.end() ? std::string_view("%?") : std::string_view(found->second);
}

std::string_view FunctionNames::NameOf(AxisId axis) const {
  return axis.value < axes_.size() ? std::string_view(axes_[axis.value]) : std::string_view("?");
}

std::string FunctionNames::Distinct(Taken& taken, std::string_view name) {
  std::string text = NameText(name);
  int before = taken[text]++;
  return before == 0 ? text : fmt::format("{}.{}", text, before);
}

void FunctionNames::Add(const Value* value) {
  if (values_.contains(value)) return;  // a shared constant
  const Op* def = value->def();
  if (inlined_ == Inlined::Expressions && def && IsExpression(def)) {
    std::string text = ExpressionText(def);
    if (text.size() <= kLongestExpression) {
      values_[value] = std::move(text);
      expressions_.insert(value);
      return;
    }
  }
  if (inlined_ != Inlined::Nothing && def && IsInlineConstant(def)) {
    auto bits = static_cast<uint64_t>(def->attr<AttrKey::Bits>());
    values_[value] = InlineConstantText(value->type()->scalar, bits);
    return;
  }
  std::string name = BaseName(value);
  values_[value] =
      "%" + (name.empty() ? fmt::format("{}", next_value_++) : Distinct(value_taken_, name));
}

void FunctionNames::AddParams(const Region* region) {
  for (const Value* param : region->params()) Add(param);
}

void FunctionNames::AddRegion(const Region* region) {
  for (const Op* op : *region) {
    for (const Value* result : op->results()) Add(result);
    for (const Region* nested : op->regions()) {
      AddParams(nested);
      AddRegion(nested);
    }
  }
}

}  // namespace kdl::ir
