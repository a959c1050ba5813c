#pragma once

#include <compare>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Indices of one dimension: all; `width` of them from a binder of a loop around on, or up to the dimension's end; or those
/// from `lo` up to, not including, `hi`.
struct PartDim {
  const Entity* binder = nullptr;
  Size width = nullptr;  ///< of a binder
  Size lo = nullptr;
  Size hi = nullptr;  ///< null: of a binder, or all

  bool is_all() const { return binder == nullptr && hi == nullptr; }
  auto operator<=>(const PartDim&) const = default;
};

/// A part of a tensor, by its dimensions.
struct Part {
  const Entity* tensor = nullptr;  ///< no view
  std::vector<PartDim> dims;

  bool is_all() const;
  auto operator<=>(const Part&) const = default;
};

/// What views and lets of a program stand for.
using Sources = std::unordered_map<const Entity*, const syntax::Expr*>;

/// The part that an assignment writes; nothing: it is not known.
std::optional<Part> PartOfElement(FunctionState& state, const IndexInfo& index);
/// That of an argument.
std::optional<Part> PartOfTensor(FunctionState& state, const Sources& sources,
                                 const syntax::Expr* expr);

/// Adds a part; those that continue each other along a dimension become one.
void AddPart(FunctionState& state, std::set<Part>& parts, Part part);

/// Those that are in parts of both.
std::set<Part> CommonParts(FunctionState& state, const std::set<Part>& a, const std::set<Part>& b);

/// What all turns of a loop write together of which each writes `part`. Nothing, unless each of the loop's binders walks a
/// dimension of the part: then a loop of no turns leaves no element out.
std::optional<Part> OverAllIterations(FunctionState& state, Part part, const StmtInfo& loop);

}  // namespace kdl::sema
