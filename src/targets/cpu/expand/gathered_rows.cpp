#include <algorithm>
#include <bit>
#include <unordered_set>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/layouts.h"

// Expands rows of elementwise loops that gather elements, such as x[ids[i]], element by element. The indices of
// many elements are checked together, with vectors:
//
//   loop %n in lo .. hi step 64
//     %most = the largest of 64 indices as unsigned numbers, so that negative ones are large
//     if %most < size: the body for 64 elements, without checks
//     else: the body for 64 elements, with checks, which reports the first index that is out of bounds
//   the rest of the row, with checks

namespace kdl::cpu {

namespace {

constexpr int64_t kCheckedTogether =
    64;  // the number of elements whose indices are checked together
constexpr int64_t kElementsPerIteration =
    8;  // few ops of each element are independent of the next one

/// An index of a gathered load that must be checked.
struct CheckedIndex {
  const Op* load;
  size_t dim;
};

class GatheredRow {
 public:
  explicit GatheredRow(ElementwiseLoopBody& body)
      : e_(body.e()), body_(body), axis_(body.axes().back()) {
    body.StopLookingAhead();
    for (const Op* load : body.last().Gathered()) {
      if (load->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard) AddChecks(load);
    }
  }

  void ExpandRow(const Window& row) {
    Value* checked_end = checks_.empty() ? RunUnchecked(row) : RunChecked(row);
    MakeLoop(e_.b, {checked_end, row.hi}, [&](Value* index) { RunElement(index); });
  }

 private:
  /// Runs most of a row whose indices need no checks, and returns where the rest begins.
  Value* RunUnchecked(const Window& row) {
    if (e_.Extent(axis_) < kElementsPerIteration) return row.lo;
    Value* end = e_.b.Add(row.lo, RoundDown(e_, row.size, kElementsPerIteration));
    MakeLoop(e_.b, {row.lo, end, kElementsPerIteration}, [&](Value* index) { RunSeveral(index); });
    return end;
  }

  /// Runs most of a row, checks the indices of many elements together, and returns where the rest begins.
  Value* RunChecked(const Window& row) {
    int64_t lanes = e_.LanesAlong(axis_, CheckedBytes());
    if (!MayCheckTogether() || e_.Extent(axis_) < kCheckedTogether || lanes == 1) return row.lo;
    Value* end = e_.b.Add(row.lo, RoundDown(e_, row.size, kCheckedTogether));
    MakeLoop(e_.b, {row.lo, end, kCheckedTogether}, [&](Value* first) {
      Value* inside = AreInside(first, lanes);
      MakeIf(
          e_.b, inside,
          [&] {
            body_.WithoutChecks(checked_loads_, [&] {
              MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(kCheckedTogether), kElementsPerIteration},
                       [&](Value* skipped) { RunSeveral(e_.b.Add(first, skipped)); });
            });
          },
          [&] {
            Value* after = e_.b.Add(first, e_.b.I64(kCheckedTogether));
            MakeLoop(e_.b, {first, after}, [&](Value* index) { RunElement(index); });
          });
    });
    return end;
  }

  void RunSeveral(Value* first) {
    for (int64_t i = 0; i < kElementsPerIteration; ++i) RunElement(e_.b.Add(first, e_.b.I64(i)));
  }

  void RunElement(Value* index) {
    body_.position()[axis_] = index;
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 1);
      body_.Expand({}, [&](const Op* op) { return !body_.last().IsInvariant(op); });
    });
  }

  void AddChecks(const Op* load) {
    checked_loads_.insert(load);
    size_t dims = load->attr<AttrKey::Access>().dims.size();
    for (size_t dim = 0; dim < dims; ++dim) checks_.push_back({load, dim});
    for (Value* index : IndexOf(load)) AddToSlice(Narrow(index));
  }

  /// If the index is the equal value of a narrower type, returns that value, otherwise the index itself.
  static Value* Narrow(Value* index) {
    const Op* def = index->def();
    if (!def || def->kind() != OpKind::Cast) return index;
    Scalar from = def->operand(0)->type()->scalar;
    Scalar to = index->type()->scalar;
    bool widens = IsInteger(from) && Bytes(from) < Bytes(to) && (IsSigned(to) || !IsSigned(from));
    return widens ? def->operand(0) : index;
  }

  /// Adds the ops from which an index is computed.
  void AddToSlice(const Value* value) {
    const Op* def = value->def();
    if (!def || def->parent_region() != body_.elementwise()->region() || !slice_.insert(def).second)
      return;
    for (const Value* operand : def->operands()) AddToSlice(operand);
  }

  /// Whether the indices can be computed before the body runs, in vectors: none depends on another gathered element, or
  /// on elements of a tile that are not contiguous along the row.
  bool MayCheckTogether() const {
    return std::ranges::none_of(body_.last().Gathered(),
                                [&](const Op* load) { return slice_.contains(load); }) &&
           std::ranges::none_of(slice_, passes::MayTrap) &&
           std::ranges::all_of(slice_, [&](const Op* op) { return IsContiguous(op); });
  }

  bool IsContiguous(const Op* op) const {
    std::optional<AxisId> moving =
        op->kind() == OpKind::Element ? body_.last().MovesAlong(op) : std::nullopt;
    return !moving || LiesAlong(TileBufferOf(e_, op->operand(0)), *moving);
  }

  /// Returns the size of the widest type from which indices are computed.
  int64_t CheckedBytes() const {
    int64_t bytes = 1;
    for (const CheckedIndex& check : checks_) {
      for (Value* index : IndexOf(check.load)) {
        if (!body_.last().IsUniform(index))
          bytes = std::max<int64_t>(bytes, Bytes(Narrow(index)->type()->scalar));
      }
    }
    for (const Op* op : slice_) {
      for (const Value* result : op->results())
        bytes = std::max<int64_t>(bytes, Bytes(result->type()->scalar));
    }
    return bytes;
  }

  /// Emits the condition that all checked indices of the elements are in bounds.
  Value* AreInside(Value* first, int64_t lanes) {
    Values most;
    for (int64_t skipped = 0; skipped < kCheckedTogether; skipped += lanes) {
      body_.position()[axis_] = e_.b.Add(first, e_.b.I64(skipped));
      body_.Locally([&] {
        body_.MapPoint(body_.axes().size() - 1);
        body_.Expand({lanes}, [&](const Op* op) {
          return slice_.contains(op) && !body_.last().IsInvariant(op);
        });
        for (size_t i = 0; i < checks_.size(); ++i) {
          Value* index = UnsignedIndex(checks_[i], lanes);
          if (skipped == 0) {
            most.push_back(index);
          } else {
            most[i] = e_.b.Max(most[i], index);
          }
        }
      });
    }
    Value* inside = e_.b.Bool(true);
    for (size_t i = 0; i < checks_.size(); ++i)
      inside = e_.b.And(inside, IsInside(checks_[i], Largest(most[i])));
    return inside;
  }

  /// Returns the type of the index, if it is a single value of a narrow type; otherwise i64.
  Scalar IndexScalar(const CheckedIndex& check) const {
    const ir::AccessDim dim = check.load->attr<AttrKey::Access>().dims[check.dim];
    bool is_value = dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
                    IsConstant(dim.offset, 0);
    return is_value ? Narrow(IndexOf(check.load)[dim.terms[0].operand])->type()->scalar
                    : Scalar::I64;
  }

  static Scalar Unsigned(Scalar scalar) {
    switch (Bytes(scalar)) {
      case 1:
        return Scalar::U8;
      case 2:
        return Scalar::U16;
      case 4:
        return Scalar::U32;
      default:
        return Scalar::U64;
    }
  }

  /// Returns the indices of a chunk as unsigned numbers of the same width.
  Value* UnsignedIndex(const CheckedIndex& check, int64_t lanes) {
    Scalar scalar = IndexScalar(check);
    const ir::AccessDim dim = check.load->attr<AttrKey::Access>().dims[check.dim];
    auto operands = IndexOf(check.load);
    Value* index = nullptr;
    if (scalar != Scalar::I64) {
      index = body_.Term(Narrow(operands[dim.terms[0].operand]));
    } else {
      Values wide;
      for (Value* operand : operands)
        wide.push_back(e_.b.Cast(body_.Term(Narrow(operand)), scalar));
      index = IndexValue(e_.b, dim, wide);
    }
    return e_.b.Splat(e_.b.Cast(index, Unsigned(scalar)), lanes);
  }

  Value* Largest(Value* indices) {
    while (ir::IsVector(indices->type())) {
      ir::Type half = e_.VectorType(indices->type()->scalar, ir::Lanes(indices->type()) / 2);
      auto part = [&](int64_t number) {
        return e_.b.Make(OpKind::Half, {indices}, half, {ir::MakeAttr<AttrKey::Part>(number)});
      };
      Value* low = part(0);
      indices = e_.b.Max(low, part(1));
    }
    return indices;
  }

  /// Emits the condition that the largest index, as an unsigned number, is in bounds. If indices are signed,
  /// those from half of the range on are negative.
  Value* IsInside(const CheckedIndex& check, Value* largest) {
    Scalar scalar = IndexScalar(check);
    Value* bound = e_.b.SizeValue(TensorOf(check.load)->type()->dims[check.dim]);
    if (IsSigned(scalar) && Bytes(scalar) < 8)
      bound = e_.b.Min(bound, e_.b.I64(int64_t{1} << (8 * Bytes(scalar) - 1)));
    Value* limit = e_.b.Cast(bound, Scalar::U64);
    return e_.b.Lt(e_.b.Cast(largest, Scalar::U64), limit);
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  ir::AxisId axis_;
  std::vector<CheckedIndex> checks_;
  std::unordered_set<const Op*> checked_loads_;
  std::unordered_set<const Op*> slice_;  ///< the ops from which the checked indices are computed
};

}  // namespace

void RunGathered(ElementwiseLoopBody& body, const Window& row) { GatheredRow(body).ExpandRow(row); }

}  // namespace kdl::cpu
