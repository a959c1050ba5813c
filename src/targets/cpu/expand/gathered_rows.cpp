#include <algorithm>
#include <bit>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/live_vectors.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/layouts.h"

// Expands rows of elementwise loops that gather elements, such as x[ids[i]]. The indices of many elements are checked
// together, with vectors:
//
//   loop %n in lo .. hi step 64
//     %most = the largest of 64 indices as unsigned numbers, so that negative ones are large
//     if %most < size: the body for 64 elements, without checks
//     else: the body for 64 elements, with checks, which reports the first index that is out of bounds
//   the rest of the row, with checks
//
// If the body computes enough, only the gathers run element by element, and the rest of the body on vectors of what
// they have loaded. Otherwise the whole body runs element by element.

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
    FindGathering();
    if (MayUseVectors() && ComputesEnough()) {
      const LastAxis& last = body.last();
      lanes_ = e_.LanesAlong(axis_, ChunkBytesOf(body.elementwise(), last, e_.facts));
    }
    if (lanes_ > 1) together_ = lanes_;
  }

  void ExpandRow(const Window& row) {
    Value* checked_end = checks_.empty() ? RunUnchecked(row) : RunChecked(row);
    MakeLoop(e_.b, {checked_end, row.hi}, [&](Value* index) { RunElement(index); });
  }

 private:
  /// Runs most of a row whose indices need no checks, and returns where the rest begins.
  Value* RunUnchecked(const Window& row) {
    if (e_.Extent(axis_) < together_) return row.lo;
    Value* end = e_.b.Add(row.lo, RoundDown(e_, row.size, together_));
    MakeLoop(e_.b, {row.lo, end, together_}, [&](Value* index) { RunSeveral(index); });
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
              MakeLoop(e_.b, {e_.b.I64(0), e_.b.I64(kCheckedTogether), together_},
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

  /// Runs the next `together_` elements.
  void RunSeveral(Value* first) {
    if (lanes_ > 1) return RunVector(first);
    for (int64_t i = 0; i < together_; ++i) RunElement(e_.b.Add(first, e_.b.I64(i)));
  }

  void RunElement(Value* index) {
    RunAt(index, {}, [](const Op*) { return true; }, [] {});
  }

  /// Runs the gathers element by element, and the rest of the body on a vector.
  void RunVector(Value* first) {
    std::unordered_map<const Op*, Values> gathered;
    for (int64_t i = 0; i < lanes_; ++i) {
      auto is_gathering = [&](const Op* op) { return gathering_.contains(op); };
      RunAt(e_.b.Add(first, e_.b.I64(i)), {}, is_gathering, [&] {
        for (const Op* load : body_.last().Gathered())
          gathered[load].push_back(body_.Term(load->result()));
      });
    }
    body_.Locally([&] {
      for (const Op* load : body_.last().Gathered()) {
        ir::Type type = e_.VectorType(load->result()->type()->scalar, lanes_);
        body_.Bind(load->result(), MakeOne(e_.b, OpKind::Zip, {gathered[load]}, type));
      }
      RunAt(first, {lanes_}, [&](const Op* op) { return !only_gathering_.contains(op); }, [] {});
    });
  }

  /// Expands the wanted ops that vary along the row for a chunk at the position, then calls `after`.
  template <class Wanted, class After>
  void RunAt(Value* position, const Chunk& chunk, Wanted&& wanted, After&& after) {
    body_.position()[axis_] = position;
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 1);
      body_.Expand(chunk,
                   [&](const Op* op) { return !body_.last().IsInvariant(op) && wanted(op); });
      after();
    });
  }

  std::vector<const Op*> Ops() const {
    std::vector<const Op*> ops;
    for (const Op* op : *body_.elementwise()->region()) ops.push_back(op);
    return ops;
  }

  /// Finds the ops from which gathers are computed, and those from which nothing else is.
  void FindGathering() {
    const std::vector<const Op*>& gathers = body_.last().Gathered();
    for (const Op* load : gathers) AddToSlice(load, gathering_);
    const std::vector<const Op*> ops = Ops();
    for (const Op* op : std::views::reverse(ops)) {
      auto serves_gathers = [&](const Value* result) {
        return std::ranges::all_of(
            result->uses(), [&](const ir::Use& use) { return only_gathering_.contains(use.user); });
      };
      bool is_only = gathering_.contains(op) &&
                     (Contains(gathers, op) || std::ranges::all_of(op->results(), serves_gathers));
      if (is_only) only_gathering_.insert(op);
    }
  }

  /// Whether the tiles that the body reads and makes are contiguous along the row, and vectors of what it gathers are
  /// like those in memory.
  bool MayUseVectors() const {
    auto lies_along = [&](const TileBuffer& tile) {
      return !tile.buffer || LiesAlong(tile, axis_);
    };
    return !e_.context.keeps_tiles && body_.last().step_groups().empty() &&
           body_.last().MostRepeats() == 1 &&
           std::ranges::all_of(body_.tile_buffers(), lies_along) &&
           std::ranges::all_of(Ops(), [&](const Op* op) { return IsContiguous(op); }) &&
           std::ranges::none_of(body_.last().Gathered(), [](const Op* load) {
             return load->result()->type()->scalar == Scalar::Bool;
           });
  }

  /// Whether the body computes at least one number for each gather. A vector of elements takes one more instruction for
  /// each of them.
  bool ComputesEnough() const {
    auto counts = [&](const Op* op) {
      return op->info().is_computed() && op->kind() != OpKind::Cast &&
             !body_.last().IsInvariant(op) && !only_gathering_.contains(op);
    };
    return std::ranges::count_if(Ops(), counts) >= GatherCount();
  }

  /// Returns how many elements are gathered at a point. Loads of the same element count as one.
  int64_t GatherCount() const {
    const std::vector<const Op*>& gathers = body_.last().Gathered();
    auto is_first = [&](const Op* load) {
      return load == *std::ranges::find_if(gathers, [&](const Op* other) {
               return std::ranges::equal(load->operands(), other->operands()) &&
                      load->attr<AttrKey::Access>() == other->attr<AttrKey::Access>();
             });
    };
    return std::ranges::count_if(gathers, is_first);
  }

  void AddChecks(const Op* load) {
    checked_loads_.insert(load);
    size_t dims = load->attr<AttrKey::Access>().dims.size();
    for (size_t dim = 0; dim < dims; ++dim) checks_.push_back({load, dim});
    for (Value* index : IndexOf(load)) {
      if (const Op* def = Narrow(index)->def()) AddToSlice(def, slice_);
    }
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

  /// Adds the op, and the ops of the body from which its operands are computed.
  void AddToSlice(const Op* op, std::unordered_set<const Op*>& slice) {
    if (op->parent_region() != body_.elementwise()->region() || !slice.insert(op).second) return;
    for (const Value* operand : op->operands()) {
      if (operand->def()) AddToSlice(operand->def(), slice);
    }
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
  std::unordered_set<const Op*>
      gathering_;  ///< the gathers, and the ops from which they are computed
  std::unordered_set<const Op*> only_gathering_;  ///< those from which nothing else is computed
  int64_t lanes_ = 1;                             ///< the number of lanes of what does not gather
  int64_t together_ = kElementsPerIteration;      ///< the number of elements of an iteration
};

}  // namespace

void RunGathered(ElementwiseLoopBody& body, const Window& row) { GatheredRow(body).ExpandRow(row); }

}  // namespace kdl::cpu
