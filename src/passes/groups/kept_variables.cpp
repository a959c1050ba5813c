#include "passes/groups/kept_variables.h"

#include <algorithm>
#include <map>

#include "ir/op_kind.h"
#include "ir/value_size.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Returns the loop variable that is the whole index of a dimension, if there is such a variable.
std::optional<size_t> VariableAt(const Op* spmd, ir::UpdateOp update, size_t dim) {
  ir::Access access = update->attr<AttrKey::Access>();
  const ir::AccessDim& index = access.dims[dim];
  if (index.terms.size() != 1 || !IsConstant(index.offset, 0)) return std::nullopt;
  if (!IsConstant(index.terms[0].coefficient, 1)) return std::nullopt;
  const std::vector<Value*>& variables = spmd->region()->params();
  auto found = std::ranges::find(variables, update.index()[index.terms[0].operand]);
  if (found == variables.end()) return std::nullopt;
  return found - variables.begin();
}

bool IsGrouped(const Op* spmd) {
  return spmd->attr<AttrKey::Distribute>() == ir::DistributionKind::Grouped;
}

/// Returns the dimension of which the loop variable is the index in all these updates of one tensor.
std::optional<size_t> DimensionOf(const Op* spmd, const std::vector<ir::UpdateOp>& updates,
                                  size_t variable) {
  for (size_t d = 0; d < updates[0].tensor()->type()->dims.size(); ++d)
    if (VariableOfDimension(spmd, updates, d) == variable) return d;
  return std::nullopt;
}

/// Returns whether the loop variable is the index of a dimension in all these updates of one tensor, and has all values of
/// this index.
bool Keeps(const ir::Function& kernel, SizeTable& sizes, const Op* spmd,
           const std::vector<ir::UpdateOp>& updates, size_t variable) {
  std::optional<size_t> dim = DimensionOf(spmd, updates, variable);
  Size lo = ir::SizeOfValue(kernel, sizes, spmd->operand(2 * variable));
  Size hi = ir::SizeOfValue(kernel, sizes, spmd->operand(2 * variable + 1));
  return dim && lo && IsConstant(lo, 0) && hi == updates[0].tensor()->type()->dims[*dim];
}

/// Returns the loop variables that all reductions of these spmds keep. Disregards exact ones if `inexact` is set.
ir::NumberList KeptByAll(const ir::Function& kernel, SizeTable& sizes,
                         const std::vector<Op*>& spmds, bool inexact) {
  auto keeps = [&](const Op* spmd, size_t variable) {
    return std::ranges::all_of(GroupUpdatesOf(spmd), [&](const auto& updates) {
      return (inexact && IsExact(updates[0])) || Keeps(kernel, sizes, spmd, updates, variable);
    });
  };
  ir::NumberList kept;
  for (size_t b = 0; b < spmds[0]->region()->params().size(); ++b) {
    if (std::ranges::all_of(spmds, [&](const Op* spmd) { return keeps(spmd, b); }))
      kept.push_back(static_cast<int64_t>(b));
  }
  return kept;
}

bool HasInexact(const Op* spmd) {
  return std::ranges::any_of(GroupUpdatesOf(spmd),
                             [](const auto& updates) { return !IsExact(updates[0]); });
}

}  // namespace

bool IsGroupUpdate(const Op* op) {
  return op->kind() == OpKind::Update && op->attr<AttrKey::Scope>() == ir::ScopeKind::Group;
}

std::vector<std::vector<ir::UpdateOp>> GroupUpdatesOf(const Op* spmd) {
  std::vector<std::vector<ir::UpdateOp>> updates;
  ir::Walk(spmd->region(), [&](Op* op) {
    if (!IsGroupUpdate(op)) return;
    ir::UpdateOp update(op);
    auto same = [&](const auto& of) { return of[0].tensor() == update.tensor(); };
    auto known = std::find_if(updates.begin(), updates.end(), same);
    if (known == updates.end()) known = updates.insert(known, std::vector<ir::UpdateOp>());
    known->push_back(update);
  });
  return updates;
}

std::optional<size_t> VariableOfDimension(const Op* spmd, const std::vector<ir::UpdateOp>& updates,
                                          size_t dim) {
  std::optional<size_t> variable = VariableAt(spmd, updates[0], dim);
  auto same = [&](ir::UpdateOp update) { return VariableAt(spmd, update, dim) == variable; };
  return std::ranges::all_of(updates, same) ? variable : std::nullopt;
}

bool IsExact(ir::UpdateOp update) {
  auto how = update->attr<AttrKey::How>();
  return !IsFloat(update.tensor()->type()->scalar) || how == ir::UpdateKind::Max ||
         how == ir::UpdateKind::Min;
}

bool KeepsAll(const Op* spmd, const std::vector<ir::UpdateOp>& updates,
              const std::vector<size_t>& variables) {
  auto keeps = [&](size_t b) { return DimensionOf(spmd, updates, b).has_value(); };
  return std::ranges::all_of(variables, keeps);
}

void MarkKeptVariables(ir::Function& kernel, SizeTable& sizes) {
  std::map<Name, std::vector<Op*>> of_domain;
  std::vector<std::vector<Op*>> alike;
  for (Op* spmd : OpsOfKind(kernel, OpKind::Spmd)) {
    if (!IsGrouped(spmd)) continue;
    if (spmd->HasAttr(AttrKey::Domain))
      of_domain[spmd->attr<AttrKey::Domain>()].push_back(spmd);
    else
      alike.push_back({spmd});
  }
  for (auto& [domain, spmds] : of_domain) alike.push_back(std::move(spmds));
  for (const std::vector<Op*>& spmds : alike) {
    bool inexact = std::ranges::any_of(spmds, HasInexact);
    ir::NumberList kept = KeptByAll(kernel, sizes, spmds, inexact);
    if (kept.empty()) continue;
    for (Op* spmd : spmds) spmd->SetAttr(ir::MakeAttr<AttrKey::Kept>(kept));
  }
}

}  // namespace kdl::passes
