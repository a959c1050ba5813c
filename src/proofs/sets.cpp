#include "proofs/sets.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>

#include "proofs/linear_isl.h"
#include "proofs/linear_sets.h"
#include "support/contains.h"

// Variables are isl parameters, which are matched by name. Sets have no other dimensions. A function of isl
// takes ownership of its arguments, and returns null if an argument is null or if it fails. A chain of calls
// therefore needs only one check, at its end.

namespace kdl::proofs {

namespace {

isl_id* IdOf(isl_ctx* context, const std::string& name) {
  return isl_id_alloc(context, name.c_str(), nullptr);
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

/// Returns the estimated number of steps of an operation that examines each piece. Like the cost of a simplex
/// algorithm, it grows with about the square of the size.
uint64_t EstimateSteps(isl_set* set) {
  uint64_t size = ConstraintCount(set);
  return size * static_cast<uint64_t>(1 + isl_set_dim(set, isl_dim_param));
}

int IslParamCount(isl_set* set) { return isl_set_dim(set, isl_dim_param); }

}  // namespace

/// A set in linear form, in isl's form, or in both.
struct PointSet::Body {
  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { isl_set_free(set); }

  std::optional<LinearPieces> pieces;
  std::optional<std::vector<VariableId>> variables;  ///< those of the pieces, if already needed
  bool may_have_pieces = true;                       ///< false if the set of isl has no linear form
  isl_set* set = nullptr;                            ///< null if not yet needed
};

PointSet::PointSet(const SetContext* context, isl_set* taken) : context_(context) {
  if (!taken) return;
  body_ = std::make_shared<Body>();
  body_->set = taken;
}

PointSet::PointSet(const SetContext* context, LinearPieces pieces)
    : body_(std::make_shared<Body>()), context_(context) {
  body_->pieces = std::move(pieces);
}

const LinearPieces* PointSet::linear() const {
  if (!body_->pieces && body_->may_have_pieces) {
    body_->pieces = ReadIslSet(body_->set, context_->table());
    body_->may_have_pieces = body_->pieces.has_value();
  }
  return body_->pieces ? &*body_->pieces : nullptr;
}

const std::vector<VariableId>& PointSet::LinearVariables() const {
  if (!body_->variables) body_->variables = context_->table().Variables(*body_->pieces);
  return *body_->variables;
}

isl_set* PointSet::get() const {
  if (!body_->set) body_->set = MakeIslSet(context_->get(), context_->table(), *body_->pieces);
  return body_->set;
}

PointSet PointSet::All(const SetContext& context) { return {&context, LinearPieces{{}}}; }

PointSet PointSet::None(const SetContext& context) { return {&context, LinearPieces()}; }

MayHavePoint PointSet::MayHavePointTest() const {
  return
      [context = context_](const LinearPiece& piece) { return context->HasPoint(piece) != false; };
}

/// If one of the sets has a single piece, isl intersects piece by piece. Otherwise it would first check whether the
/// sets are equal, and then check each piece for emptiness.
PointSet operator&(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend(b)) return {};
  if (a.linear() && b.linear())
    return {a.context_, Intersect(*a.linear(), *b.linear(), a.MayHavePointTest())};
  isl_set* first = isl_set_copy(a.get());
  isl_set* second = isl_set_copy(b.get());
  // isl may have dropped an empty piece.
  bool first_is_one = isl_set_n_basic_set(first) == 1;
  if (!first_is_one && isl_set_n_basic_set(second) != 1)
    return {a.context_, isl_set_intersect(first, second)};
  first = isl_set_align_params(first, isl_set_get_space(second));
  second = isl_set_align_params(second, isl_set_get_space(first));
  if (!first_is_one) std::swap(first, second);
  Pieces pieces{PieceOf(first)};
  isl_set_foreach_basic_set(second, AddIntersection, &pieces);
  if (!pieces.any) pieces.all = isl_set_empty(isl_set_get_space(second));
  isl_set_free(second);
  isl_basic_set_free(pieces.with);
  return {a.context_, pieces.all};
}

PointSet operator|(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend()) return {};
  if (a.linear() && b.linear()) return {a.context_, Unite(*a.linear(), *b.linear())};
  return {a.context_, isl_set_union(isl_set_copy(a.get()), isl_set_copy(b.get()))};
}

PointSet operator-(const PointSet& a, const PointSet& b) {
  if (!a.known() || !b.known() || !a.MaySpend(b)) return {};
  if (a.linear() && b.linear()) {
    return {a.context_,
            Subtract(*a.linear(), *b.linear(), a.context_->table(), a.MayHavePointTest())};
  }
  return {a.context_, isl_set_subtract(isl_set_copy(a.get()), isl_set_copy(b.get()))};
}

uint64_t PointSet::Size() const {
  if (!body_->pieces) return ConstraintCount(body_->set);
  uint64_t size = 1;
  for (const LinearPiece& piece : *body_->pieces) size += 1 + ConstraintCount(piece);
  return size;
}

/// Returns the estimated number of steps of an operation that examines each piece. Like the cost of a simplex
/// algorithm, it grows with about the square of the size.
uint64_t PointSet::EstimateSteps() const {
  if (!body_->pieces) return proofs::EstimateSteps(body_->set);
  return Size() * (1 + LinearVariables().size());
}

bool PointSet::MaySpend() const { return context_->Spend(EstimateSteps()); }
bool PointSet::MaySpend(const PointSet& other) const {
  return context_->Spend(EstimateSteps() * other.Size());
}

size_t PointSet::pieces() const {
  if (!known()) return 0;
  return body_->pieces ? body_->pieces->size()
                       : static_cast<size_t>(isl_set_n_basic_set(body_->set));
}

std::optional<bool> PointSet::IsEmpty() const {
  if (!known() || !MaySpend()) return std::nullopt;
  if (!linear()) {
    isl_bool empty = isl_set_is_empty(get());
    return empty == isl_bool_error ? std::nullopt : std::optional(empty == isl_bool_true);
  }
  std::optional<bool> is_empty = true;
  for (const LinearPiece& piece : *linear()) {
    std::optional<bool> has_point = context_->HasPoint(piece);
    if (has_point == true) return false;
    if (!has_point) is_empty = std::nullopt;
  }
  return is_empty;
}

bool PointSet::IsSurelySubsetOf(const PointSet& other) const {
  return known() && other.known() && MaySpend(other) &&
         isl_set_is_subset(get(), other.get()) == isl_bool_true;
}

std::set<std::string> PointSet::Variables() const {
  std::set<std::string> names;
  if (!known()) return names;
  if (body_->pieces) {
    for (VariableId variable : LinearVariables()) names.insert(context_->table().Name(variable));
    return names;
  }
  isl_set* set = get();
  for (int i = 0; i < IslParamCount(set); ++i) {
    bool used =
        isl_set_involves_dims(set, isl_dim_param, static_cast<unsigned>(i), 1) == isl_bool_true;
    if (used) names.insert(IslParamName(set, i));
  }
  return names;
}

bool PointSet::Mentions(const std::string& variable) const {
  if (!known() || !body_->pieces) return Variables().contains(variable);
  return Contains(LinearVariables(), context_->table().Variable(variable));
}

PointSet PointSet::WithSome(const std::vector<std::string>& variables) const {
  PointSet left = *this;
  for (const std::string& name : variables) {
    if (!left.known() || !left.MaySpend()) return {};
    left = left.WithSomeValue(name);
  }
  return left;
}

PointSet PointSet::WithSomeValue(const std::string& variable) const {
  LinearTable& table = context_->table();
  if (linear()) {
    if (auto pieces = Project(*linear(), table.Variable(variable), table))
      return {context_, *std::move(pieces)};
  }
  isl_id* id = IdOf(context_->get(), variable);
  return {context_, isl_set_project_out_param_id(isl_set_copy(get()), id)};
}

PointSet PointSet::Renamed(const std::map<std::string, std::string>& names) const {
  if (!known() || names.empty()) return *this;
  LinearTable& table = context_->table();
  if (linear()) {
    std::map<VariableId, VariableId> numbers;
    for (const auto& [name, other] : names) numbers[table.Variable(name)] = table.Variable(other);
    LinearPieces renamed;
    for (const LinearPiece& piece : *linear()) renamed.push_back(table.Renamed(piece, numbers));
    return {context_, std::move(renamed)};
  }
  isl_set* set = isl_set_copy(get());
  for (int i = 0; i < IslParamCount(get()); ++i) {
    auto name = names.find(IslParamName(get(), i));
    if (name == names.end()) continue;
    set = isl_set_set_dim_id(set, isl_dim_param, static_cast<unsigned>(i),
                             IdOf(context_->get(), name->second));
  }
  return {context_, set};
}

PointSet PointSet::SimplifiedWithin(const PointSet& facts) const {
  if (!known() || !facts.known() || !MaySpend(facts)) return {};
  return {context_, isl_set_gist(isl_set_copy(get()), isl_set_copy(facts.get()))};
}

Affine PointSet::Indicator() const {
  if (!known() || !MaySpend()) return {};
  return {context_, isl_set_indicator_function(isl_set_copy(get()))};
}

PointSet PointSet::Joined() const {
  if (!known() || pieces() < 2 || !MaySpend()) return *this;
  PointSet joined(context_, isl_set_coalesce(isl_set_copy(get())));
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
  isl_set_foreach_basic_set(get(), AddUpperBounds, &search);
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
  isl_ctx* context = context_->get();
  isl_set* set = isl_set_from_params(isl_set_drop_unused_params(isl_set_copy(get())));
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

}  // namespace kdl::proofs
