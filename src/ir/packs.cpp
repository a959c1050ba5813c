#include "ir/packs.h"

#include <fmt/format.h>

#include <algorithm>

namespace kdl::ir {

std::string PackMark(Name size) { return fmt::format("rank_{}", size.text()); }

bool IsPack(const Function& function, Size size) {
  if (size->kind != SizeKind::Symbol || function.generics.empty()) return false;
  std::string mark = PackMark(size->symbol);
  return std::ranges::any_of(function.generics,
                             [&](const Generic& generic) { return generic.name.text() == mark; });
}

std::string DimText(const Function& function, Size size) {
  return ToString(size) + (IsPack(function, size) ? ".." : "");
}

}  // namespace kdl::ir
