#include "sema/walk/index_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::sema {

namespace {

/// Returns the visible ranges over whole dimensions.
std::vector<const Entity*> VisibleRanges(const FunctionState& state) {
  std::vector<const Entity*> ranges;
  for (const Entity* one : state.scopes.All())
    if (one->kind == EntityKind::Range && one->range.domain != nullptr) ranges.push_back(one);
  return ranges;
}

/// Returns the loop over the blocks of all dimensions, up to its `{`.
std::string LoopOver(const Entity& tensor, const std::vector<std::string>& names) {
  std::vector<std::string> binders;
  for (size_t dim = 0; dim < names.size(); ++dim)
    binders.push_back(fmt::format("{} in {} by 64", names[dim], ToString(tensor.type.dims[dim])));
  return fmt::format("spmd for {}", fmt::join(binders, ", "));
}

}  // namespace

std::string HelpForIndexing(const FunctionState& state, const Entity& tensor,
                            std::string_view rest) {
  std::string_view name = tensor.name.text();
  std::vector<const Entity*> ranges = VisibleRanges(state);
  std::vector<std::string> names;
  for (Size size : tensor.type.dims) {
    auto found = std::ranges::find_if(
        ranges, [&](const Entity* range) { return range->range.domain == size; });
    names.emplace_back(found == ranges.end() ? "…" : (*found)->name.text());
    if (found != ranges.end()) ranges.erase(found);
  }
  bool has_any = std::ranges::any_of(names, [](const std::string& one) { return one != "…"; });
  bool has_loop = has_any || state.spmd_depth != 0 || names.size() > 3 || names.empty() ||
                  state.kind() != syntax::FunctionKind::Kernel;
  if (has_loop) return fmt::format("index it: {}[{}]{}", name, fmt::join(names, ", "), rest);
  constexpr const char* kLetters[] = {"i", "j", "k"};
  for (size_t dim = 0; dim < names.size(); ++dim) names[dim] = kLetters[dim];
  return fmt::format("index it in a loop over its blocks: `{} {{ … {}[{}]{} }}`",
                     LoopOver(tensor, names), name, fmt::join(names, ", "), rest);
}

}  // namespace kdl::sema
