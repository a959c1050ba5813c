#pragma once

#include <compare>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// A set of indices of one dimension: all of them; `width` indices that start at an enclosing
/// loop's variable, clipped to the dimension; or those from `lo` up to but not including `hi`.
struct PartDim {
  const Entity* binder = nullptr;
  Size width = nullptr;  ///< number of indices from the binder on
  Size lo = nullptr;
  Size hi = nullptr;  ///< null with a binder, or for all indices

  bool is_all() const { return binder == nullptr && hi == nullptr; }
  auto operator<=>(const PartDim&) const = default;
};

/// A part of a tensor, described for each dimension.
struct Part {
  const Entity* tensor = nullptr;  ///< not a view
  std::vector<PartDim> dims;

  bool is_all() const;
  auto operator<=>(const Part&) const = default;
};

/// The expressions that define the views and lets of a program.
using Sources = std::unordered_map<const Entity*, const syntax::Expr*>;

/// Returns the part that an assignment writes, or nothing if it is unknown.
std::optional<Part> PartOfElement(FunctionState& state, const IndexInfo& index);
/// Returns the part that an argument denotes, or nothing if it is unknown.
std::optional<Part> PartOfTensor(FunctionState& state, const Sources& sources,
                                 const syntax::Expr* expr);

/// Adds a part, and joins it with parts that it continues along one dimension.
void AddPart(FunctionState& state, std::set<Part>& parts, Part part);

/// Returns the parts that are contained in both sets.
std::set<Part> CommonParts(FunctionState& state, const std::set<Part>& a, const std::set<Part>& b);

/// Returns what all iterations of a loop write together, if each writes `part`. Returns nothing
/// unless every binder of the loop covers a whole dimension of the part; then even a loop without
/// iterations misses no element.
std::optional<Part> OverAllIterations(FunctionState& state, Part part, const StmtInfo& loop);

}  // namespace kdl::sema
