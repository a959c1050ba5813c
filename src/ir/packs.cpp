#include "ir/packs.h"

#include <fmt/format.h>

#include <algorithm>

namespace kdl::ir {

namespace {

bool HasGeneric(const Function& function, std::string_view name) {
  return std::ranges::any_of(function.generics,
                             [&](const Generic& generic) { return generic.name.text() == name; });
}

}  // namespace

std::string PackMark(Name size) { return fmt::format("rank_{}", size.text()); }

std::string StrideMark(Name param) { return fmt::format("strides_{}", param.text()); }

std::string BroadcastMark(Name param) { return fmt::format("broadcast_{}", param.text()); }

std::string CountMark(Name param) { return fmt::format("counted_{}", param.text()); }

const Param* FindCount(const Function& function, const Param& output) {
  std::string mark = CountMark(output.value->name());
  for (const Generic& generic : function.generics) {
    if (generic.name.text() != mark || generic.values.size() != 1) continue;
    const auto at = static_cast<size_t>(generic.values[0]);  // KIR text may have any number here
    if (at >= function.params.size()) return nullptr;
    const TypeNode* type = function.params[at].value->type();
    return type->kind == TypeKind::Tensor && type->scalar == Scalar::I64 && type->dims.empty()
               ? &function.params[at]
               : nullptr;
  }
  return nullptr;
}

bool IsStrided(const Function& function, const Param& param) {
  return HasGeneric(function, StrideMark(param.value->name()));
}

bool IsShapeMark(const Function& function, Name generic) {
  std::string_view text = generic.text();
  return std::ranges::any_of(function.dims, [&](Name dim) { return PackMark(dim) == text; }) ||
         std::ranges::any_of(function.params, [&](const Param& param) {
           Name name = param.value->name();
           return StrideMark(name) == text || BroadcastMark(name) == text ||
                  CountMark(name) == text;
         });
}

bool IsBroadcast(const Function& function, const Param& param) {
  return HasGeneric(function, BroadcastMark(param.value->name()));
}

Name OriginalName(const Function& added, Names& names) {
  std::string_view text = added.name.text();
  return names.Intern(text.substr(0, text.rfind('.')));
}

void DropStrideMarks(Function& function) {
  for (const Param& param : function.params) {
    for (const std::string& mark :
         {StrideMark(param.value->name()), BroadcastMark(param.value->name())})
      std::erase_if(function.generics,
                    [&](const Generic& generic) { return generic.name.text() == mark; });
  }
}

bool HasStrided(const Function& function) {
  return std::ranges::any_of(function.params,
                             [&](const Param& param) { return IsStrided(function, param); });
}

bool IsForStrides(const Function& function) {
  for (const Param& param : function.params) {
    std::string mark = StrideMark(param.value->name());
    auto found = std::ranges::find_if(
        function.generics, [&](const Generic& generic) { return generic.name.text() == mark; });
    if (found != function.generics.end()) return found->values != std::vector<int64_t>{0};
  }
  return false;
}

bool IsPack(const Function& function, Size size) {
  return size->kind == SizeKind::Symbol && HasGeneric(function, PackMark(size->symbol));
}

std::vector<Name> PacksOf(const Function& function, const Param& param) {
  std::vector<Name> packs;
  for (Size dim : param.value->type()->dims)
    if (IsPack(function, dim)) packs.push_back(dim->symbol);
  return packs;
}

std::vector<Name> OpenPacks(const Function& function) {
  std::vector<std::vector<Name>> tensors;  // the packs of each tensor that are not known yet
  std::vector<Name> all;
  for (const Param& param : function.params) {
    std::vector<Name> packs = PacksOf(function, param);
    all.insert(all.end(), packs.begin(), packs.end());
    if (!IsBroadcast(function, param)) tensors.push_back(std::move(packs));
  }
  std::vector<Name> open;
  while (!all.empty()) {
    auto found = std::ranges::find(tensors, size_t{1}, &std::vector<Name>::size);
    Name known = found == tensors.end() ? all[0] : found->front();
    if (found == tensors.end()) open.push_back(known);
    std::erase(all, known);
    for (std::vector<Name>& packs : tensors) std::erase(packs, known);
  }
  return open;
}

namespace {

/// Returns the largest number of underscores between the name of a pack and a digit, in names of the function's sizes and
/// constants.
size_t MostUnderscores(const Function& function, std::string_view pack) {
  size_t most = 0;
  auto look = [&](std::string_view name) {
    if (!name.starts_with(pack)) return;
    size_t end = name.find_first_not_of('_', pack.size());
    bool is_number = end != name.npos && name[end] >= '0' && name[end] <= '9';
    if (is_number) most = std::max(most, end - pack.size());
  };
  for (Name dim : function.dims) look(dim.text());
  for (const Generic& generic : function.generics) look(generic.name.text());
  return most;
}

std::string ExpandedName(std::string_view pack, size_t underscores, size_t number) {
  return fmt::format("{}{}{}", pack, std::string(underscores, '_'), number);
}

/// A pack of dimensions that has become several.
struct ExpandedPack {
  std::string_view name;
  std::vector<std::string> dims;
};

std::vector<ExpandedPack> ExpandedPacks(const Function& function) {
  std::vector<ExpandedPack> packs;
  if (!IsForStrides(function)) return packs;
  constexpr std::string_view kPrefix = "rank_";
  for (const Generic& generic : function.generics) {
    std::string_view name = generic.name.text();
    if (!name.starts_with(kPrefix) || generic.values.empty() || generic.values[0] == 0) continue;
    ExpandedPack& pack = packs.emplace_back(ExpandedPack{name.substr(kPrefix.size()), {}});
    size_t underscores = MostUnderscores(function, pack.name);
    for (int64_t i = 1; i <= generic.values[0]; ++i)
      pack.dims.push_back(ExpandedName(pack.name, underscores, static_cast<size_t>(i)));
  }
  return packs;
}

bool IsSymbol(Size size, std::string_view name) {
  return size->kind == SizeKind::Symbol && size->symbol.text() == name;
}

/// Returns whether the size is the product of the dimensions that a pack has become.
bool IsProduct(Size size, const ExpandedPack& pack) {
  for (size_t i = pack.dims.size(); i-- > 1; size = size->lhs)
    if (size->kind != SizeKind::Mul || !IsSymbol(size->rhs, pack.dims[i])) return false;
  return IsSymbol(size, pack.dims[0]);
}

Size Folded(const std::vector<ExpandedPack>& packs, Size size, SizeTable& sizes, Names& names) {
  for (const ExpandedPack& pack : packs)
    if (IsProduct(size, pack)) return sizes.Symbol(names.Intern(pack.name));
  if (IsConstant(size) || size->kind == SizeKind::Symbol) return size;
  return sizes.Binary(size->kind, Folded(packs, size->lhs, sizes, names),
                      Folded(packs, size->rhs, sizes, names));
}

}  // namespace

std::vector<std::string> ExpandedNames(const Function& function, Name pack, size_t count) {
  size_t underscores = MostUnderscores(function, pack.text()) + 1;
  std::vector<std::string> dims;
  for (size_t i = 1; i <= count; ++i) dims.push_back(ExpandedName(pack.text(), underscores, i));
  return dims;
}

std::vector<SourceDim> SourceDims(const Function& function, const Param& param) {
  std::vector<Size> dims = param.value->type()->dims;
  std::vector<ExpandedPack> packs = ExpandedPacks(function);
  if (IsForStrides(function) && IsStrided(function, param)) dims.pop_back();
  Names names;
  SizeTable sizes;
  std::vector<SourceDim> source;
  for (size_t d = 0; d < dims.size();) {
    auto pack = std::ranges::find_if(
        packs, [&](const ExpandedPack& one) { return IsSymbol(dims[d], one.dims[0]); });
    bool is_pack = pack != packs.end();
    source.push_back({is_pack ? fmt::format("{}..", pack->name)
                              : DimText(function, Folded(packs, dims[d], sizes, names)),
                      d});
    d += is_pack ? pack->dims.size() : 1;
  }
  return source;
}

std::string ShapeText(const Function& function, const Param& param) {
  std::string text;
  for (const SourceDim& dim : SourceDims(function, param))
    text += (text.empty() ? "" : ", ") + dim.text;
  const Param* count = FindCount(function, param);
  return (count != nullptr ? fmt::format("[{} <= ", count->value->name().text()) : "[") + text +
         "]";
}

Size WithPacks(const Function& function, Size size, SizeTable& sizes, Names& names) {
  return Folded(ExpandedPacks(function), size, sizes, names);
}

std::string DimText(const Function& function, Size size) {
  return ToString(size) + (IsPack(function, size) ? ".." : "");
}

}  // namespace kdl::ir
