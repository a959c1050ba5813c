#include "proofs/sets.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>

#include "proofs/proofs.h"

// Variables are isl parameters, which are matched by name. Sets have no other dimensions. A function of isl
// takes ownership of its arguments, and returns null if an argument is null or if it fails. A chain of calls
// therefore needs only one check, at its end.

namespace kdl::proofs {

namespace {

/// Returns isl's own limit on operations. It stops operations that cost much more than the estimated steps;
/// no query in the tests needs a tenth of it.
uint64_t OperationsFor(uint64_t steps) {
  return 400'000 + std::min(steps, uint64_t{4'000'000}) * 4;
}

isl_id* IdOf(isl_ctx* context, const std::string& name) {
  return isl_id_alloc(context, name.c_str(), nullptr);
}

isl_set* UniverseOf(isl_ctx* context) {
  return isl_set_universe(isl_space_params_alloc(context, 0));
}

std::string IslParamName(isl_set* set, int at) {
  isl_id* id = isl_set_get_dim_id(set, isl_dim_param, static_cast<unsigned>(at));
  std::string name = isl_id_get_name(id);
  isl_id_free(id);
  return name;
}

isl_stat TakePiece(isl_basic_set* piece, void* taken) {
  *static_cast<isl_basic_set**>(taken) = piece;
  return isl_stat_ok;
}

/// Returns the only piece of a set.
isl_basic_set* PieceOf(isl_set* set) {
  isl_basic_set* piece = nullptr;
  isl_set_foreach_basic_set(set, TakePiece, &piece);
  isl_set_free(set);
  return piece;
}

struct Pieces {
  isl_basic_set* with;
  isl_set* all = nullptr;
  bool any = false;
};

isl_stat AddIntersection(isl_basic_set* piece, void* user) {
  auto& pieces = *static_cast<Pieces*>(user);
  isl_basic_set* both = isl_basic_set_intersect(piece, isl_basic_set_copy(pieces.with));
  isl_set* one = isl_set_from_basic_set(both);
  pieces.all = pieces.any ? isl_set_union(pieces.all, one) : one;
  pieces.any = true;
  return isl_stat_ok;
}

isl_stat AddConstraints(isl_basic_set* piece, void* sum) {
  *static_cast<uint64_t*>(sum) += 1 + static_cast<uint64_t>(isl_basic_set_n_constraint(piece));
  isl_basic_set_free(piece);
  return isl_stat_ok;
}

/// Returns the size of a set: the number of its pieces and their constraints.
uint64_t ConstraintCount(isl_set* set) {
  uint64_t size = 1;
  isl_set_foreach_basic_set(set, AddConstraints, &size);
  return size;
}

uint64_t ConstraintCount(isl_pw_aff* value) {
  return 1 + static_cast<uint64_t>(isl_pw_aff_n_piece(value));
}

/// Returns the estimated number of steps of an operation that examines each piece. Like the cost of a simplex
/// algorithm, it grows with about the square of the size.
uint64_t EstimateSteps(isl_set* set) {
  uint64_t size = ConstraintCount(set);
  return size * static_cast<uint64_t>(1 + isl_set_dim(set, isl_dim_param));
}

/// Returns the set in which the comparison of two values is true; null if unknown. Most values are affine
/// functions with one piece, for which isl's function for several pieces would be ten times slower.
isl_set* Compared(const Affine& left, const Affine& right,
                  isl_basic_set* (*of_one)(isl_aff*, isl_aff*),
                  isl_set* (*of_several)(isl_pw_aff*, isl_pw_aff*)) {
  isl_pw_aff* a = left.get();
  isl_pw_aff* b = right.get();
  if (!a || !b || !left.context()->Spend(ConstraintCount(a) * ConstraintCount(b))) return nullptr;
  bool are_one = isl_pw_aff_isa_aff(a) == isl_bool_true && isl_pw_aff_isa_aff(b) == isl_bool_true;
  if (!are_one) return of_several(isl_pw_aff_copy(a), isl_pw_aff_copy(b));
  isl_aff* first = isl_pw_aff_as_aff(isl_pw_aff_copy(a));
  isl_aff* second = isl_pw_aff_as_aff(isl_pw_aff_copy(b));
  first = isl_aff_align_params(first, isl_aff_get_space(second));
  second = isl_aff_align_params(second, isl_aff_get_space(first));
  return isl_set_from_basic_set(of_one(first, second));
}

/// Combines two values if both are known and enough steps are left; otherwise returns null.
isl_pw_aff* CombineKnown(isl_pw_aff* (*combine)(isl_pw_aff*, isl_pw_aff*), const Affine& a,
                         const Affine& b) {
  if (!a.known() || !b.known() ||
      !a.context()->Spend(ConstraintCount(a.get()) * ConstraintCount(b.get())))
    return nullptr;
  return combine(isl_pw_aff_copy(a.get()), isl_pw_aff_copy(b.get()));
}

int IslParamCount(isl_set* set) { return isl_set_dim(set, isl_dim_param); }

}  // namespace

SetContext::SetContext(std::optional<uint64_t> most)
    : most_(most.value_or(kNoLimit)), context_(isl_ctx_alloc()) {
  isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
}

SetContext::~SetContext() { isl_ctx_free(context_); }

void SetContext::Allow(uint64_t steps) const {
  left_ = std::min(steps, most_);
  isl_ctx_reset_operations(context_);
  isl_ctx_set_max_operations(context_, OperationsFor(left_));
}

bool SetContext::Spend(uint64_t steps) const {
  bool enough = steps <= left_;
  left_ = enough ? left_ - steps : 0;
  return enough;
}

// -- Affine ------------------------------------------------------------------------------------

Affine::Affine(const SetContext* context, isl_pw_aff* taken) : context_(context) {
  if (taken) value_ = std::shared_ptr<isl_pw_aff>(taken, isl_pw_aff_free);
}

Affine Affine::Constant(const SetContext& context, int64_t value) {
  return {&context, isl_pw_aff_val_on_domain(UniverseOf(context.get()),
                                             isl_val_int_from_si(context.get(), value))};
}

Affine Affine::Variable(const SetContext& context, const std::string& name) {
  isl_id* id = IdOf(context.get(), name);
  isl_space* space =
      isl_space_add_param_id(isl_space_params_alloc(context.get(), 0), isl_id_copy(id));
  return {&context, isl_pw_aff_param_on_domain_id(isl_set_universe(space), id)};
}

Affine operator+(const Affine& a, const Affine& b) {
  return {a.context_, CombineKnown(isl_pw_aff_add, a, b)};
}
Affine operator-(const Affine& a, const Affine& b) {
  return {a.context_, CombineKnown(isl_pw_aff_sub, a, b)};
}
Affine Min(const Affine& a, const Affine& b) {
  return {a.context_, CombineKnown(isl_pw_aff_min, a, b)};
}
Affine Max(const Affine& a, const Affine& b) {
  return {a.context_, CombineKnown(isl_pw_aff_max, a, b)};
}

Affine operator*(int64_t factor, const Affine& a) {
  if (!a.known()) return {};
  isl_val* by = isl_val_int_from_si(isl_pw_aff_get_ctx(a.get()), factor);
  return {a.context_, isl_pw_aff_scale_val(isl_pw_aff_copy(a.get()), by)};
}

Affine Affine::FloorDivide(int64_t divisor) const {
  if (!known()) return {};
  isl_val* by = isl_val_int_from_si(isl_pw_aff_get_ctx(get()), divisor);
  return {context_, isl_pw_aff_floor(isl_pw_aff_scale_down_val(isl_pw_aff_copy(get()), by))};
}

size_t Affine::pieces() const {
  return known() ? static_cast<size_t>(isl_pw_aff_n_piece(get())) : 0;
}

Affine Affine::Choose(const Affine& a, const Affine& b) const {
  if (!known() || !a.known() || !b.known()) return {};
  if (!context_->Spend(ConstraintCount(get()) * ConstraintCount(a.get()) *
                       ConstraintCount(b.get())))
    return {};
  return {context_, isl_pw_aff_cond(isl_pw_aff_copy(get()), isl_pw_aff_copy(a.get()),
                                    isl_pw_aff_copy(b.get()))};
}

// -- PointSet ----------------------------------------------------------------------------------

PointSet::PointSet(const SetContext* context, isl_set* taken) : context_(context) {
  if (taken) set_ = std::shared_ptr<isl_set>(taken, isl_set_free);
}

PointSet PointSet::All(const SetContext& context) { return {&context, UniverseOf(context.get())}; }

PointSet PointSet::None(const SetContext& context) {
  return {&context, isl_set_empty(isl_space_params_alloc(context.get(), 0))};
}

/// If one of the sets has a single piece, intersects piece by piece. isl itself would first check whether the
/// sets are equal, and then check each piece for emptiness.
PointSet operator&(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend(b)) return {};
  isl_set* first = isl_set_copy(a.set_.get());
  isl_set* second = isl_set_copy(b.set_.get());
  if (a.pieces() != 1 && b.pieces() != 1) return {a.context_, isl_set_intersect(first, second)};
  first = isl_set_align_params(first, isl_set_get_space(second));
  second = isl_set_align_params(second, isl_set_get_space(first));
  if (a.pieces() != 1) std::swap(first, second);
  Pieces pieces{PieceOf(first)};
  isl_set_foreach_basic_set(second, AddIntersection, &pieces);
  if (!pieces.any) pieces.all = isl_set_empty(isl_set_get_space(second));
  isl_set_free(second);
  isl_basic_set_free(pieces.with);
  return {a.context_, pieces.all};
}

PointSet operator|(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend()) return {};
  return {a.context_, isl_set_union(isl_set_copy(a.set_.get()), isl_set_copy(b.set_.get()))};
}

PointSet operator-(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend(b)) return {};
  return {a.context_, isl_set_subtract(isl_set_copy(a.set_.get()), isl_set_copy(b.set_.get()))};
}

bool PointSet::MaySpend() const { return context_->Spend(EstimateSteps(set_.get())); }
bool PointSet::MaySpend(const PointSet& other) const {
  return context_->Spend(EstimateSteps(set_.get()) * ConstraintCount(other.set_.get()));
}

size_t PointSet::pieces() const {
  return known() ? static_cast<size_t>(isl_set_n_basic_set(set_.get())) : 0;
}

std::optional<bool> PointSet::IsEmpty() const {
  if (!known() || !MaySpend()) return std::nullopt;
  isl_bool empty = isl_set_is_empty(set_.get());
  return empty == isl_bool_error ? std::nullopt : std::optional(empty == isl_bool_true);
}

bool PointSet::IsSurelySubsetOf(const PointSet& other) const {
  return known() && other.known() && MaySpend(other) &&
         isl_set_is_subset(set_.get(), other.set_.get()) == isl_bool_true;
}

std::set<std::string> PointSet::Variables() const {
  std::set<std::string> names;
  if (!known()) return names;
  for (int i = 0; i < IslParamCount(set_.get()); ++i) {
    bool used = isl_set_involves_dims(set_.get(), isl_dim_param, static_cast<unsigned>(i), 1) ==
                isl_bool_true;
    if (used) names.insert(IslParamName(set_.get(), i));
  }
  return names;
}

bool PointSet::Mentions(const std::string& variable) const {
  return Variables().contains(variable);
}

PointSet PointSet::WithSome(const std::vector<std::string>& variables) const {
  if (!known()) return {};
  isl_ctx* context = isl_set_get_ctx(set_.get());
  isl_set* set = isl_set_copy(set_.get());
  for (const std::string& name : variables) {
    if (set && !context_->Spend(EstimateSteps(set))) set = isl_set_free(set);
    set = isl_set_project_out_param_id(set, IdOf(context, name));
  }
  return {context_, set};
}

PointSet PointSet::Renamed(const std::map<std::string, std::string>& names) const {
  if (!known()) return {};
  isl_set* set = isl_set_copy(set_.get());
  for (int i = 0; i < IslParamCount(set_.get()); ++i) {
    auto name = names.find(IslParamName(set_.get(), i));
    if (name == names.end()) continue;
    set = isl_set_set_dim_id(set, isl_dim_param, static_cast<unsigned>(i),
                             IdOf(isl_set_get_ctx(set_.get()), name->second));
  }
  return {context_, set};
}

PointSet PointSet::SimplifiedWithin(const PointSet& facts) const {
  if (!known() || !facts.known() || !MaySpend(facts)) return {};
  return {context_, isl_set_gist(isl_set_copy(set_.get()), isl_set_copy(facts.set_.get()))};
}

Affine PointSet::Indicator() const {
  if (!known() || !MaySpend()) return {};
  return {context_, isl_set_indicator_function(isl_set_copy(set_.get()))};
}

PointSet PointSet::Joined() const {
  if (!known() || !MaySpend()) return *this;
  PointSet joined(context_, isl_set_coalesce(isl_set_copy(set_.get())));
  return joined.known() ? joined : *this;
}

namespace {

struct BoundSearch {
  std::string variable;
  const std::vector<std::string>* without;
  std::vector<isl_aff*> found;
};

bool HasDivs(isl_constraint* constraint) {
  return isl_constraint_involves_dims(
             constraint, isl_dim_div, 0,
             static_cast<unsigned>(isl_constraint_dim(constraint, isl_dim_div))) != isl_bool_false;
}

isl_stat AddUpperBound(isl_constraint* constraint, void* user) {
  auto& search = *static_cast<BoundSearch*>(user);
  isl_space* space = isl_constraint_get_space(constraint);
  auto at = [&](const std::string& name) {
    isl_id* id = IdOf(isl_constraint_get_ctx(constraint), name);
    int found = isl_space_find_dim_by_id(space, isl_dim_param, id);
    isl_id_free(id);
    return found;
  };
  int variable = at(search.variable);
  bool fits = variable >= 0 && !HasDivs(constraint);
  if (fits) {
    isl_val* coefficient = isl_constraint_get_coefficient_val(constraint, isl_dim_param, variable);
    fits = isl_val_is_negone(coefficient) ||
           (isl_constraint_is_equality(constraint) == isl_bool_true && isl_val_is_one(coefficient));
    isl_val_free(coefficient);
  }
  for (const std::string& name : *search.without) {
    int other = at(name);
    fits = fits && (other < 0 || isl_constraint_involves_dims(constraint, isl_dim_param,
                                                              static_cast<unsigned>(other),
                                                              1) == isl_bool_false);
  }
  if (fits) {
    isl_aff* bound = isl_constraint_get_bound(constraint, isl_dim_param, variable);
    if (bound) search.found.push_back(bound);
  }
  isl_space_free(space);
  isl_constraint_free(constraint);
  return isl_stat_ok;
}

isl_stat AddUpperBounds(isl_basic_set* piece, void* user) {
  isl_basic_set_foreach_constraint(piece, AddUpperBound, user);
  isl_basic_set_free(piece);
  return isl_stat_ok;
}

}  // namespace

std::vector<Affine> PointSet::UpperBounds(const std::string& variable,
                                          const std::vector<std::string>& without) const {
  std::vector<Affine> bounds;
  if (!known()) return bounds;
  BoundSearch search{variable, &without, {}};
  isl_set_foreach_basic_set(set_.get(), AddUpperBounds, &search);
  for (isl_aff* bound : search.found) {
    Affine affine(context_, isl_pw_aff_from_aff(bound));
    bool is_new = true;
    for (const Affine& other : bounds)
      is_new = is_new && isl_pw_aff_is_equal(other.get(), affine.get()) != isl_bool_true;
    if (is_new) bounds.push_back(affine);
  }
  return bounds;
}

std::optional<Point> PointSet::Least(const std::vector<std::string>& order) const {
  if (!known() || !MaySpend()) return std::nullopt;
  isl_ctx* context = isl_set_get_ctx(set_.get());
  isl_set* set = isl_set_from_params(isl_set_drop_unused_params(isl_set_copy(set_.get())));
  std::vector<std::string> names;
  auto move = [&](int from) {
    names.push_back(IslParamName(set, from));
    set = isl_set_move_dims(set, isl_dim_set, static_cast<unsigned>(names.size() - 1),
                            isl_dim_param, static_cast<unsigned>(from), 1);
  };
  for (const std::string& name : order) {
    isl_id* id = IdOf(context, name);
    int from = isl_set_find_dim_by_id(set, isl_dim_param, id);
    isl_id_free(id);
    if (from >= 0) move(from);
  }
  while (set && IslParamCount(set) > 0) move(0);
  isl_set* least = isl_set_lexmin(set);
  isl_point* point = least ? isl_set_sample_point(least) : nullptr;
  std::optional<Point> found;
  if (point && isl_point_is_void(point) == isl_bool_false) {
    found.emplace();
    for (size_t i = 0; i < names.size(); ++i) {
      isl_val* value = isl_point_get_coordinate_val(point, isl_dim_set, static_cast<int>(i));
      found->emplace(names[i], isl_val_get_num_si(value));
      isl_val_free(value);
    }
  }
  isl_point_free(point);
  return found;
}

PointSet Equal(const Affine& a, const Affine& b) {
  return {a.context(), Compared(a, b, isl_aff_eq_basic_set, isl_pw_aff_eq_set)};
}

PointSet Less(const Affine& a, const Affine& b) {
  return {a.context(), Compared(a, b, isl_aff_lt_basic_set, isl_pw_aff_lt_set)};
}

PointSet AtMost(const Affine& a, const Affine& b) {
  return {a.context(), Compared(a, b, isl_aff_le_basic_set, isl_pw_aff_le_set)};
}

}  // namespace kdl::proofs
