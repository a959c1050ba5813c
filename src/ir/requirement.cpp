#include "ir/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/op_info.h"
#include "ir/packs.h"
#include "ir/type.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

void CollectSymbols(Size size, std::vector<Name>& symbols) {
  if (IsConstant(size)) return;
  if (size->kind == SizeKind::Symbol) {
    if (std::find(symbols.begin(), symbols.end(), size->symbol) == symbols.end())
      symbols.push_back(size->symbol);
    return;
  }
  CollectSymbols(size->lhs, symbols);
  CollectSymbols(size->rhs, symbols);
}

/// Returns text about a dimension whose size is just this size name, such as `dimension 1 of x`. Parameters
/// that are not `out` are searched first, because size names are bound to their dimensions first. Returns an
/// empty string if there is no such dimension.
std::string DimensionText(const Function& function, Name symbol) {
  for (bool out : {false, true}) {
    for (const Param& param : function.params) {
      Type type = param.value->type();
      if (type->kind != TypeKind::Tensor || (param.direction == Direction::Out) != out) continue;
      std::vector<SourceDim> dims = SourceDims(function, param);
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d].text == symbol.text() || dims[d].text == fmt::format("{}..", symbol.text()))
          return fmt::format("dimension {} of {}", d, param.value->name().text());
      }
    }
  }
  return "";
}

/// Returns text about one side of a requirement, such as `N is 21 (dimension 0 of x)` or `(2*H) is 20 (H is
/// dimension 0 of y)`. For a constant, the text is `the other side is 8`, because the source may contain a
/// name instead of this number.
std::string SideText(const Function& function, Size side, std::string_view value) {
  if (IsConstant(side)) return fmt::format("the other side is {}", ToString(side));
  SizeTable sizes;
  Names names;
  side = WithPacks(function, side, sizes, names);
  std::vector<Name> symbols;
  CollectSymbols(side, symbols);
  std::string sources;
  for (Name symbol : symbols) {
    std::string source = DimensionText(function, symbol);
    if (source.empty()) continue;
    if (!sources.empty()) sources += ", ";
    if (side->kind != SizeKind::Symbol) sources += fmt::format("{} is ", symbol.text());
    sources += source;
  }
  std::string text = fmt::format("{} is {}", ToString(side), value);
  return sources.empty() ? text : fmt::format("{} ({})", text, sources);
}

std::string_view Comparison(CompareKind compare) {
  switch (compare) {
    case CompareKind::Eq:
      return " == ";
    case CompareKind::Ne:
      return " != ";
    case CompareKind::Lt:
      return " < ";
    case CompareKind::Le:
      return " <= ";
    case CompareKind::Gt:
      return " > ";
    case CompareKind::Ge:
      return " >= ";
  }
  KDL_UNREACHABLE("unknown comparison {}", static_cast<int>(compare));
}

}  // namespace

std::string_view SideSource(const Op* require, bool is_right) {
  std::string_view text = require->attr<AttrKey::Text>().text();
  std::string_view sign = Comparison(require->attr<AttrKey::Compare>());
  size_t at = text.find(sign);
  bool is_clear =
      at != text.npos && text.find(sign, at + 1) == text.npos && text.find(" where ") == text.npos;
  if (!is_clear) return text;
  return is_right ? text.substr(at + sign.size()) : text.substr(0, at);
}

std::string RequirementMessage(const Function& function, const Op* require, std::string_view left,
                               std::string_view right) {
  std::string_view text = require->attr<AttrKey::Text>().text();
  if (const Attr* dimension = require->FindAttr(AttrKey::Dimension)) {
    return fmt::format("'{}' reaches index {} of dimension {}, whose size is {}", text, left,
                       std::get<int64_t>(dimension->value), right);
  }
  std::string sides;
  auto add = [&](Size side, std::string_view value) {
    if (IsConstant(side) && text.find(ToString(side)) != text.npos) return;
    if (!sides.empty()) sides += ", ";
    sides += SideText(function, side, value);
  };
  add(require->attr<AttrKey::Left>(), left);
  add(require->attr<AttrKey::Right>(), right);
  if (sides.empty()) return fmt::format("'{}' does not hold", text);
  return fmt::format("'{}' does not hold: {}", text, sides);
}

std::string RequirementTemplate(const Function& function, const Op* require) {
  return RequirementMessage(function, require, "{index}", "{bound}");
}

std::vector<const Op*> RequirementsOf(const Function& function) {
  std::vector<const Op*> found;
  for (const Op* op : *function.body) {
    if (op->kind() == OpKind::Require) {
      found.push_back(op);
    } else if (function.kind == FunctionKind::Program && op->kind() != OpKind::Workspace &&
               !op->info().has(kPure)) {
      break;
    }
  }
  return found;
}

bool MayBeNegative(const Function& function, Size size) {
  if (IsConstant(size)) return size->value < 0;
  if (size->kind == SizeKind::Symbol)
    return std::ranges::find(function.dims, size->symbol) == function.dims.end();
  return size->kind == SizeKind::Sub || MayBeNegative(function, size->lhs) ||
         MayBeNegative(function, size->rhs);
}

bool Holds(CompareKind compare, int64_t left, int64_t right) {
  switch (compare) {
    case CompareKind::Eq:
      return left == right;
    case CompareKind::Ne:
      return left != right;
    case CompareKind::Lt:
      return left < right;
    case CompareKind::Le:
      return left <= right;
    case CompareKind::Gt:
      return left > right;
    case CompareKind::Ge:
      return left >= right;
  }
  KDL_UNREACHABLE("unknown comparison {}", static_cast<int>(compare));
}

}  // namespace kdl::ir
