#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>

#include "proofs/linear_isl.h"
#include "proofs/proofs.h"
#include "proofs/sets.h"
#include "proofs/simplex.h"
#include "support/size.h"

// A function of isl takes ownership of its arguments, and returns null if an argument is null or if it fails. A chain
// of calls therefore needs only one check, at its end.

namespace kdl::proofs {

namespace {

/// Returns isl's own limit on operations. It stops operations that cost much more than the estimated steps;
/// no query in the tests needs a tenth of it.
uint64_t OperationsFor(uint64_t steps) {
  return 400'000 + std::min(steps, uint64_t{4'000'000}) * 4;
}

uint64_t PieceCount(const Affine& value) { return 1 + value.pieces(); }

/// Whether two values are known and enough steps are left to combine them.
bool MayCombine(const Affine& a, const Affine& b) {
  return a.known() && b.known() && a.context()->Spend(PieceCount(a) * PieceCount(b));
}

/// Combines two values in isl.
isl_pw_aff* Combine(isl_pw_aff* (*combine)(isl_pw_aff*, isl_pw_aff*), const Affine& a,
                    const Affine& b) {
  return combine(isl_pw_aff_copy(a.get()), isl_pw_aff_copy(b.get()));
}

/// Returns a + factor * b as a linear form if both are.
std::optional<LinearForm> LinearSumOf(const Affine& a, int64_t factor, const Affine& b) {
  if (!a.linear() || !b.linear()) return std::nullopt;
  return AddMultiple(*a.linear(), factor, *b.linear());
}

/// Returns a - b if it is a number.
std::optional<int64_t> ConstantDifference(const Affine& a, const Affine& b) {
  std::optional<LinearForm> apart = LinearSumOf(a, -1, b);
  return apart && apart->terms.empty() ? std::optional(apart->constant) : std::nullopt;
}

/// Returns the set in which the comparison of two values of isl is true. Most values are affine functions with one
/// piece, for which isl's function for several pieces would be ten times slower.
isl_set* Compared(const Affine& left, const Affine& right,
                  isl_basic_set* (*of_one)(isl_aff*, isl_aff*),
                  isl_set* (*of_several)(isl_pw_aff*, isl_pw_aff*)) {
  isl_pw_aff* a = left.get();
  isl_pw_aff* b = right.get();
  bool are_one = isl_pw_aff_isa_aff(a) == isl_bool_true && isl_pw_aff_isa_aff(b) == isl_bool_true;
  if (!are_one) return of_several(isl_pw_aff_copy(a), isl_pw_aff_copy(b));
  isl_aff* first = isl_pw_aff_as_aff(isl_pw_aff_copy(a));
  isl_aff* second = isl_pw_aff_as_aff(isl_pw_aff_copy(b));
  first = isl_aff_align_params(first, isl_aff_get_space(second));
  second = isl_aff_align_params(second, isl_aff_get_space(first));
  return isl_set_from_basic_set(of_one(first, second));
}

thread_local uint64_t proofs_tried = 0;

}  // namespace

// -- SetContext --------------------------------------------------------------------------------

SetContext::SetContext(std::optional<uint64_t> most)
    : most_(most.value_or(kNoLimit)), context_(isl_ctx_alloc()) {
  isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
}

SetContext::~SetContext() { isl_ctx_free(context_); }

uint64_t ProofsTried() { return proofs_tried; }

void SetContext::Allow(uint64_t steps) const {
  ++proofs_tried;
  ++query_;
  left_ = std::min(steps, most_);
  isl_ctx_reset_error(context_);
  isl_ctx_reset_operations(context_);
  isl_ctx_set_max_operations(context_, OperationsFor(left_));
}

bool SetContext::Spend(uint64_t steps) const {
  bool enough = steps <= left_;
  left_ = enough ? left_ - steps : 0;
  return enough;
}

bool SetContext::IsExhausted() const {
  return left_ == 0 || isl_ctx_last_error(context_) == isl_error_quota;
}

std::optional<bool> SetContext::HasPoint(const LinearPiece& piece) const {
  if (auto known = has_point_.find(piece); known != has_point_.end()) return known->second;
  Simplex simplex(table_);
  for (const LinearRange& range : piece) simplex.Restrict(range);
  Feasibility found = simplex.Check();
  bool has_point = found == Feasibility::HasPoint;
  if (found == Feasibility::Unknown) {
    isl_set* set = MakeIslSet(context_, table_, {piece});
    isl_bool is_empty = isl_set_is_empty(set);
    isl_set_free(set);
    if (is_empty == isl_bool_error) return std::nullopt;
    has_point = is_empty == isl_bool_false;
  }
  return has_point_[piece] = has_point;
}

// -- Affine ------------------------------------------------------------------------------------

Affine::Affine(const SetContext* context, isl_pw_aff* taken) : context_(context) {
  if (taken) value_ = std::shared_ptr<isl_pw_aff>(taken, isl_pw_aff_free);
}

Affine::Affine(const SetContext* context, LinearForm linear)
    : linear_(std::make_shared<const LinearForm>(std::move(linear))), context_(context) {}

isl_pw_aff* Affine::get() const {
  if (!value_ && linear_) {
    isl_pw_aff* made = MakeIslFunction(context_->get(), context_->table(), *linear_);
    if (made) value_ = std::shared_ptr<isl_pw_aff>(made, isl_pw_aff_free);
  }
  return value_.get();
}

Affine Affine::Constant(const SetContext& context, int64_t value) {
  return {&context, LinearForm{{}, value}};
}

Affine Affine::Variable(const SetContext& context, const std::string& name) {
  return {&context, LinearForm{{{context.table().Variable(name), 1}}, 0}};
}

Affine operator+(const Affine& a, const Affine& b) {
  if (!MayCombine(a, b)) return {};
  if (auto sum = LinearSumOf(a, 1, b)) return {a.context_, *std::move(sum)};
  return {a.context_, Combine(isl_pw_aff_add, a, b)};
}

Affine operator-(const Affine& a, const Affine& b) {
  if (!MayCombine(a, b)) return {};
  if (auto apart = LinearSumOf(a, -1, b)) return {a.context_, *std::move(apart)};
  return {a.context_, Combine(isl_pw_aff_sub, a, b)};
}

Affine Min(const Affine& a, const Affine& b) {
  if (!MayCombine(a, b)) return {};
  if (auto apart = ConstantDifference(a, b)) return *apart <= 0 ? a : b;
  return {a.context_, Combine(isl_pw_aff_min, a, b)};
}

Affine Max(const Affine& a, const Affine& b) {
  if (!MayCombine(a, b)) return {};
  if (auto apart = ConstantDifference(a, b)) return *apart >= 0 ? a : b;
  return {a.context_, Combine(isl_pw_aff_max, a, b)};
}

Affine operator*(int64_t factor, const Affine& a) {
  if (!a.known()) return {};
  std::optional<LinearForm> product =
      a.linear() ? AddMultiple(LinearForm(), factor, *a.linear()) : std::nullopt;
  if (product) return {a.context_, *std::move(product)};
  isl_val* by = isl_val_int_from_si(a.context_->get(), factor);
  return {a.context_, isl_pw_aff_scale_val(isl_pw_aff_copy(a.get()), by)};
}

Affine Affine::FloorDivide(int64_t divisor) const {
  if (!known()) return {};
  bool divides = linear_ && std::ranges::all_of(linear_->terms, [&](const auto& term) {
                   return term.second % divisor == 0;
                 });
  if (divides) {
    LinearForm quotient = *linear_;
    for (auto& [variable, coefficient] : quotient.terms) coefficient /= divisor;
    quotient.constant = kdl::FloorDivide(quotient.constant, divisor);
    return {context_, std::move(quotient)};
  }
  isl_val* by = isl_val_int_from_si(context_->get(), divisor);
  return {context_, isl_pw_aff_floor(isl_pw_aff_scale_down_val(isl_pw_aff_copy(get()), by))};
}

size_t Affine::pieces() const {
  if (linear_) return 1;
  return known() ? static_cast<size_t>(isl_pw_aff_n_piece(get())) : 0;
}

Affine Affine::Choose(const Affine& a, const Affine& b) const {
  if (!known() || !a.known() || !b.known()) return {};
  if (!context_->Spend(PieceCount(*this) * PieceCount(a) * PieceCount(b))) return {};
  return {context_, isl_pw_aff_cond(isl_pw_aff_copy(get()), isl_pw_aff_copy(a.get()),
                                    isl_pw_aff_copy(b.get()))};
}

// -- Comparisons -------------------------------------------------------------------------------

/// Compares two values by the sign of their difference.
struct Comparison {
  bool is_equality;
  int64_t apart;  ///< the comparison holds if b - a - apart is at least 0 or, for an equality, is 0
  isl_basic_set* (*of_one)(isl_aff*, isl_aff*);
  isl_set* (*of_several)(isl_pw_aff*, isl_pw_aff*);

  PointSet Where(const Affine& a, const Affine& b) const {
    if (!MayCombine(a, b)) return {};
    const SetContext* context = a.context();
    std::optional<LinearForm> difference = LinearSumOf(b, -1, a);
    if (difference) difference = AddMultiple(*difference, -apart, LinearForm{{}, 1});
    auto pieces = difference ? context->table().Where(*difference, is_equality) : std::nullopt;
    if (pieces) return {context, *std::move(pieces)};
    return {context, Compared(a, b, of_one, of_several)};
  }
};

PointSet Equal(const Affine& a, const Affine& b) {
  return Comparison{true, 0, isl_aff_eq_basic_set, isl_pw_aff_eq_set}.Where(a, b);
}

PointSet Less(const Affine& a, const Affine& b) {
  return Comparison{false, 1, isl_aff_lt_basic_set, isl_pw_aff_lt_set}.Where(a, b);
}

PointSet AtMost(const Affine& a, const Affine& b) {
  return Comparison{false, 0, isl_aff_le_basic_set, isl_pw_aff_le_set}.Where(a, b);
}

}  // namespace kdl::proofs
