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

bool IsStrided(const Function& function, const Param& param) {
  return HasGeneric(function, StrideMark(param.value->name()));
}

bool IsShapeMark(const Function& function, Name generic) {
  std::string_view text = generic.text();
  return std::ranges::any_of(function.dims, [&](Name dim) { return PackMark(dim) == text; }) ||
         std::ranges::any_of(function.params, [&](const Param& param) {
           Name name = param.value->name();
           return StrideMark(name) == text || BroadcastMark(name) == text;
         });
}

bool IsBroadcast(const Function& function, const Param& param) {
  return HasGeneric(function, BroadcastMark(param.value->name()));
}

Name OriginalName(const Function& added, Names& names) {
  std::string_view text = added.name.text();
  return names.Intern(text.substr(0, text.rfind('.')));
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

std::string ShapeText(const Function& function, const Param& param) {
  std::vector<Size> dims = param.value->type()->dims;
  if (IsForStrides(function) && IsStrided(function, param)) dims.pop_back();
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d) {
    std::string dim = DimText(function, dims[d]);
    for (const Generic& generic : function.generics) {  // a pack that has become several dimensions
      std::string_view name = generic.name.text();
      if (!name.starts_with("rank_") || generic.values.empty() || generic.values[0] == 0) continue;
      name.remove_prefix(std::string_view("rank_").size());
      if (dim.substr(0, dim.find_last_not_of('_') + 1) != fmt::format("{}_1", name)) continue;
      dim = fmt::format("{}..", name);
      d += static_cast<size_t>(generic.values[0]) - 1;
    }
    text += (text.empty() ? "" : ", ") + dim;
  }
  return "[" + text + "]";
}

std::string DimText(const Function& function, Size size) {
  return ToString(size) + (IsPack(function, size) ? ".." : "");
}

}  // namespace kdl::ir
