#include "passes/checks/inner_loops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "proofs/proofs.h"

namespace kdl::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// The loop variables of the `spmd for` around a store.
struct Binders {
  std::vector<const Value*> indices;  ///< those that are an index by themselves
  std::vector<const Value*> others;   ///< those that are not used in the index
};

/// Returns nothing if the inner loop would not help: if all or no variables are an index by themselves, or if another one is
/// a part of an index.
std::optional<Binders> BindersOf(const Op* store) {
  std::optional<proofs::AccessView> view = proofs::FindAccess(const_cast<Op*>(store));
  const Op* loop = Around(store->parent_region()->parent(), OpKind::Spmd);
  if (!view || !loop) return std::nullopt;
  Binders binders;
  for (const Value* binder : loop->region()->params()) {
    bool is_index = false;
    for (size_t d = 0; d < view->rank(); ++d) is_index = is_index || view->plain_index(d) == binder;
    bool is_used = std::ranges::find(view->index, binder) != view->index.end();
    if (is_used && !is_index) return std::nullopt;
    (is_index ? binders.indices : binders.others).push_back(binder);
  }
  if (binders.indices.empty() || binders.others.empty()) return std::nullopt;
  return binders;
}

/// Returns a bound as it can be typed: a number or a name; otherwise an empty string.
std::string BoundText(const Value* bound) {
  if (std::optional<int64_t> number = ir::ConstantOf(bound)) return fmt::format("{}", *number);
  std::string name = bound->name().str();
  return name.find('.') == std::string::npos ? name : "";
}

/// Returns `i in M by 64` or `j in 0..N`, or an empty string if a bound has no name.
std::string BinderText(const ir::Function& kernel, const Value* binder) {
  std::optional<proofs::LoopEnds> ends = proofs::LoopEndsOf(binder);
  std::string lo = ends ? BoundText(ends->lo) : "";
  std::string hi = ends ? BoundText(ends->hi) : "";
  if (lo.empty() || hi.empty()) return "";
  std::string_view name = binder->name().text();
  if (binder->type()->axes.empty()) return fmt::format("{} in {}..{}", name, lo, hi);
  const ir::Axis& axis = kernel.axis(binder->type()->axes[0]);
  std::string extent = lo == "0" ? hi : fmt::format("{}..{}", lo, hi);
  return fmt::format("{} in {} by {}", name, extent, ToString(axis.extent));
}

/// Returns the head of a loop over the variables, or an empty string.
std::string LoopText(const ir::Function& kernel, const std::vector<const Value*>& binders) {
  std::vector<std::string> texts;
  for (const Value* binder : binders) {
    texts.push_back(BinderText(kernel, binder));
    if (texts.back().empty()) return "";
  }
  return fmt::format("for {}", fmt::join(texts, ", "));
}

}  // namespace

std::string InnerLoop(const ir::Function& kernel, const Op* store) {
  std::optional<Binders> binders = BindersOf(store);
  if (!binders) return "";
  std::string outer = LoopText(kernel, binders->indices);
  std::string inner = LoopText(kernel, binders->others);
  bool known = !outer.empty() && !inner.empty();
  return known ? fmt::format("spmd {} {{ {} {{ … }} }}", outer, inner) : "";
}

std::string InnerLoopNames(const Op* store) {
  std::optional<Binders> binders = BindersOf(store);
  std::vector<std::string_view> names;
  if (binders)
    for (const Value* binder : binders->others) names.push_back(binder->name().text());
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace kdl::passes
