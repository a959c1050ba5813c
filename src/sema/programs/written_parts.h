#pragma once

#include <compare>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// A set of indices of one dimension: all of them; or `width` indices that start at the variable of an
/// enclosing loop plus `lo`, clipped to the dimension; or the indices from `lo` to `hi` (exclusive).
struct PartDim {
  const Entity* binder = nullptr;
  Size width = nullptr;  ///< the number of indices, starting at `binder` + `lo`
  Size lo = nullptr;
  Size hi = nullptr;  ///< null if `binder` is set or if the set contains all indices

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

/// For each view or let of a program, the expression that defines it.
using Sources = std::unordered_map<const Entity*, const syntax::Expr*>;

/// Returns the part of a tensor that an element is, or nothing if the part is unknown.
std::optional<Part> PartOfElement(FunctionState& state, const IndexInfo& index);
/// Returns the part of a tensor to which an argument refers, or nothing if the part is unknown.
std::optional<Part> PartOfTensor(FunctionState& state, const Sources& sources,
                                 const syntax::Expr* expr);

/// Returns whether a part is described by one of the numbers with these names.
bool Mentions(const Part& part, const std::set<Name>& names);

/// Adds a part, and joins it with a part that it continues along one dimension.
void AddPart(FunctionState& state, std::set<Part>& parts, Part part);

/// Returns the parts that both sets contain.
std::set<Part> CommonParts(FunctionState& state, const std::set<Part>& a, const std::set<Part>& b);

/// Returns whether a part is in one of the other parts.
bool IsIn(FunctionState& state, const Part& part, const std::set<Part>& parts);

/// Returns whether an iteration of a loop over `binder` may read a part that starts at `binder`: earlier
/// iterations have written it, since each one writes the parts in `each`, or it was written `before` the loop.
bool IsWrittenEarlier(FunctionState& state, const Part& part, const Entity& binder,
                      const std::set<Part>& before, const std::set<Part>& each);

/// Removes the parts that depend on the variables of a loop, which has ended.
void EraseParts(std::set<Part>& parts, const StmtInfo& loop);

/// Returns the part that all iterations of a loop write together, if each iteration writes `part`. Returns
/// nothing unless every loop variable covers a dimension of the part. This makes sure that the result is also
/// correct for a loop without iterations: the part then has no elements.
std::optional<Part> OverAllIterations(FunctionState& state, Part part, const StmtInfo& loop);

}  // namespace kdl::sema
