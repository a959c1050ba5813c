#include "targets/cpu/expand/loop_notes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/op_info.h"
#include "passes/analysis/execution_counts.h"
#include "passes/remarks.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/analysis/loop_cost.h"
#include "targets/cpu/expand/fold_notes.h"

namespace kdl::cpu {

namespace {

namespace remark = passes::remark;

std::string NameOf(kdl::Scalar scalar) { return std::string(Spelling(scalar)); }

/// Returns what the op looks like in the source.
std::string TextOf(const Op* op) {
  if (op->HasAttr(AttrKey::Text)) return op->attr<AttrKey::Text>().str();
  if (op->HasAttr(AttrKey::BoundsMode)) return TensorOf(op)->name().str();
  return std::string(op->info().spelling);
}

/// Adds the remarks about one elementwise loop. What they cost together is divided among them.
class LoopNotes {
 public:
  LoopNotes(const ElementwiseLoopBody& body, const Op* elementwise)
      : e_(body.e()),
        body_(body),
        last_(body.last()),
        elementwise_(elementwise),
        cost_(CostOfLoop(body.e(), body.e().rereads, body.elementwise(), body.last())),
        axis_(e_.function.axis(body.axes().back()).name.str()) {
    // The loop of an interior is a copy that is expanded in the place of the original.
    cost_.runs = passes::EstimateRuns(elementwise) * passes::EstimatePoints(elementwise);
  }

  void Note() {
    double elements = 1;
    if (last_.Vectorizes() || last_.Transposes()) {
      elements = static_cast<double>(body_.Lanes());
      FindInVectors(elements);
    } else {
      for (const Obstacle& obstacle : last_.Obstacles()) FindObstacle(obstacle);
    }
    Effect all;
    for (const Finding& finding : findings_) {
      all.more += finding.effect.more;
      all.saved += finding.effect.saved;
      all.lanes += finding.effect.lanes;
    }
    double loss = cost_.Cycles(elements, all.more) - cost_.Cycles(cost_.lanes, -all.saved);
    for (const Finding& finding : findings_)
      finding.report(loss * finding.effect.Sum() / all.Sum());
  }

 private:
  /// What something costs each time the body runs, in cycles.
  struct Effect {
    double more = 0;   ///< cycles that CostOfLoop does not count
    double saved = 0;  ///< cycles that CostOfLoop counts, but that can be saved
    double lanes = 0;  ///< cycles that the body costs more because it does not run on full vectors
    double Sum() const { return more + saved + lanes; }
  };
  struct Finding {
    Effect effect;
    std::function<void(double cycles)> report;
  };

  template <class Kind, class... Args>
  void Find(const Kind& kind, const Op* op, const Effect& effect, Args... args) {
    findings_.push_back({effect, [=, this](double cycles) {
                           e_.context.remarks->Add(kind, e_.function.name, op->loc(), cycles,
                                                   args...);
                         }});
  }

  // -- Loops that run element by element

  void FindObstacle(const Obstacle& obstacle) {
    const Op* op = obstacle.op;
    auto find = [&](const auto& kind, auto... args) {
      Find(kind, op, {.more = kind.cycles, .lanes = cost_.body}, std::move(args)...);
    };
    auto because = [&](std::string why) { find(remark::ElementByElement, axis_, std::move(why)); };
    switch (obstacle.kind) {
      case Obstacle::Kind::DataIndex:
        return find(remark::GatheredElements, TextOf(op), axis_);
      case Obstacle::Kind::ComputedIndex:
        return find(remark::ComputedIndex, TextOf(op), axis_);
      case Obstacle::Kind::Stride:
        return find(remark::StridedElements, TextOf(op), axis_, StrideOf(op));
      case Obstacle::Kind::Rows:
        return find(remark::RowPerElement, TextOf(op), axis_);
      case Obstacle::Kind::SameElement:
        return because(fmt::format("'{}', which is the same for all of '{}'", TextOf(op), axis_));
      case Obstacle::Kind::GuardedMask:
        return because(fmt::format("'{}', whose index is checked under a condition", TextOf(op)));
      case Obstacle::Kind::Update:
        // An update without atomic instructions has no faster form.
        if (op->attr<AttrKey::Scope>() == ir::ScopeKind::Launch && !IsAlsoPrivate(op) &&
            !e_.context.remarks->IsOnOneCore(e_.function.name))
          find(remark::AtomicElements, TextOf(op));
        return;
      case Obstacle::Kind::Trap:
        if (op->kind() == OpKind::Div || op->kind() == OpKind::Rem)
          return find(remark::DividesByVariable, TextOf(op), axis_);
        return because(fmt::format("'{}', which may stop the kernel", TextOf(op)));
      case Obstacle::Kind::TrapInLoop:
        return because("a `while` that may stop the kernel");
    }
  }

  /// Whether the update is only the alternative to one of memory that belongs to the core (see
  /// privatize_updates.cpp).
  static bool IsAlsoPrivate(const Op* update) {
    bool is_private = false;
    const Op* around = update->parent_region()->parent()->parent_region()->parent();
    if (!around || around->kind() != OpKind::If) return false;
    ir::Walk(around->region(0), [&](const Op* op) {
      is_private |= op->kind() == OpKind::Update && op->loc() == update->loc();
    });
    return is_private;
  }

  /// Returns by how many elements the access moves in each iteration.
  int64_t StrideOf(const Op* op) const {
    int64_t stride = 0;
    const ir::Access access = op->attr<AttrKey::Access>();
    for (const ir::AccessTerm& term : access.dims.back().terms) {
      if (last_.IsUniform(passes::IndexOf(op)[term.operand])) continue;
      stride += IsConstant(term.coefficient) ? term.coefficient->value : 0;
    }
    return stride;
  }

  // -- Loops over vectors

  void FindInVectors(double elements) {
    int64_t extent = e_.Extent(body_.axes().back());
    bool is_short = static_cast<double>(extent) < cost_.lanes;
    if (last_.Vectorizes() && is_short && elements < cost_.lanes) {
      Effect effect{.lanes = cost_.body * (1 - elements / cost_.lanes)};
      bool has_loop = static_cast<double>(extent) <= elements;  // around each vector
      if (has_loop) effect.more = remark::FewLanes.cycles;
      Find(remark::FewLanes, elementwise_, effect, axis_, static_cast<int64_t>(elements),
           static_cast<int64_t>(cost_.lanes), extent);
    }
    FindWidth();
    for (const Op* op : *body_.elementwise()->region()) {
      if (last_.IsInvariant(op)) continue;
      if (op->HasAttr(AttrKey::BoundsMode)) FindMask(op);
      if (op->kind() == OpKind::Div || op->kind() == OpKind::Rem) FindDivision(op);
    }
  }

  void FindMask(const Op* op) {
    kdl::Scalar scalar = TensorOf(op)->type()->scalar;
    bool is_narrow = Bytes(scalar) < e_.facts.least_masked_bytes;
    double by_lanes = is_narrow ? cost_.lanes * remark::MaskedByLanes.cycles : 0;
    if (op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Else) {
      Find(remark::MaskedNeighbors, op, {.more = remark::MaskedNeighbors.cycles + by_lanes},
           TextOf(op), axis_);
    } else if (is_narrow && !op->Segment(ir::OperandWith(op->kind(), ir::Effect::Mask)).empty()) {
      Find(remark::MaskedByLanes, op, {.more = by_lanes}, TextOf(op), NameOf(scalar));
    }
  }

  void FindDivision(const Op* op) {
    kdl::Scalar scalar = op->result()->type()->scalar;
    const Value* divisor = op->operand(1);
    if (IsPowerOfTwo(divisor)) return;
    if (!IsFloat(scalar)) {
      if (Bytes(scalar) == 8)
        Find(remark::WideDivision, op, {.more = cost_.lanes * remark::WideDivision.cycles},
             NameOf(scalar));
    } else if (op->kind() == OpKind::Div && last_.IsUniform(divisor)) {
      double multiplication = OpCycles(e_, op, last_.Bytes()) / kDivisionsPerMultiplication;
      Find(remark::SameDivisor, op, {.saved = OpCycles(e_, op, last_.Bytes()) - multiplication},
           DivisorText(divisor));
    }
  }

  static bool IsPowerOfTwo(const Value* value) {
    const Op* def = value->def();
    if (!def || def->kind() != OpKind::Const) return false;
    uint64_t bits = def->attr<AttrKey::Bits>();
    switch (value->type()->scalar) {
      case Scalar::F32:
        return (bits & 0x7fffff) == 0;
      case Scalar::F64:
        return (bits & 0xfffffffffffff) == 0;
      default:
        return (bits & (bits - 1)) == 0;
    }
  }

  static std::string DivisorText(const Value* divisor) {
    return divisor->name().empty() ? "s" : divisor->name().str();
  }

  /// Finds values of a wider type than all elements of tensors and tiles in the loop.
  void FindWidth() {
    std::optional<kdl::Scalar> stored = WidestStored();
    if (!stored) return;
    // Integers and floats of less than 4 bytes have few instructions, so they are computed in 4 bytes.
    int64_t least = std::max<int64_t>(Bytes(*stored), 4);
    const Op* index = nullptr;
    const Op* widest = nullptr;
    double index_cycles = 0;
    double cycles = 0;
    for (const Op* op : *body_.elementwise()->region()) {
      if (last_.IsInvariant(op) || !op->info().has(ir::kElementwise) || IsOfIndex(op) ||
          IsNarrow(op))
        continue;
      bool computes_index =
          std::ranges::any_of(op->operands(), [&](const Value* value) { return IsIndex(value); });
      if (computes_index && least < 8) {
        index_cycles += OpCycles(e_, op, last_.Bytes());
        if (!index) index = op;
      } else if (Bytes(op->result()->type()->scalar) > least) {
        cycles += OpCycles(e_, op, last_.Bytes());
        if (!widest) widest = op;
      }
    }
    int64_t full = e_.facts.vector_bits / 8;
    auto saved = [&](double all, int64_t bytes) {
      return all * (1 - static_cast<double>(least) / static_cast<double>(bytes));
    };
    if (index) Find(remark::WideIndices, index, {.saved = saved(index_cycles, 8)}, axis_, full / 8);
    if (!widest) return;
    kdl::Scalar wide = widest->result()->type()->scalar;
    Find(remark::WideValues, widest, {.saved = saved(cycles, Bytes(wide))}, NameOf(wide),
         NameOf(*stored), full / Bytes(wide), full / Bytes(*stored));
  }

  /// Whether the value is an i64 that varies along the last axis and is computed from its index.
  bool IsIndex(const Value* value) const {
    if (value == body_.elementwise()->region()->params().back()) return true;
    const Op* op = value->def();
    bool may_be = op && op->info().has(ir::kElementwise) && value->type()->scalar == Scalar::I64;
    return may_be && std::ranges::any_of(op->operands(),
                                         [&](const Value* operand) { return IsIndex(operand); });
  }

  /// Returns the widest type of the elements that the loop reads or writes.
  std::optional<kdl::Scalar> WidestStored() const {
    std::optional<kdl::Scalar> widest;
    auto count = [&](const Value* value) {
      kdl::Scalar scalar = value->type()->scalar;
      if (!widest || Bytes(scalar) > Bytes(*widest)) widest = scalar;
    };
    for (const Op* op : *body_.elementwise()->region()) {
      if (op->HasAttr(AttrKey::BoundsMode)) count(TensorOf(op));
      if (op->kind() == OpKind::Element || op->kind() == OpKind::ReduceInLoop) count(op->result());
      if (op->kind() != OpKind::Yield) continue;
      for (const Value* value : op->operands()) count(value);
    }
    return widest;
  }

  bool IsNarrow(const Op* op) const { return body_.IsNarrow(op, body_.Lanes()); }

  /// Whether the op computes only indices of accesses, or of conditions that are computed in narrow integers.
  bool IsOfIndex(const Op* op) const {
    if (op->result()->type()->scalar != Scalar::I64 || op->result()->uses().empty()) return false;
    return std::ranges::all_of(op->result()->uses(), [&](const ir::Use& use) {
      bool is_access =
          use.user->HasAttr(AttrKey::BoundsMode) || use.user->kind() == OpKind::Element;
      if (is_access || IsNarrow(use.user)) return true;
      return use.user->info().has(ir::kElementwise) && IsOfIndex(use.user);
    });
  }

  static constexpr double kDivisionsPerMultiplication = 10;

  Expander& e_;
  const ElementwiseLoopBody& body_;
  const LastAxis& last_;
  const Op* elementwise_;
  LoopCost cost_;
  std::string axis_;
  std::vector<Finding> findings_;
};

}  // namespace

void NoteElementwiseLoop(const ElementwiseLoopBody& body, const Op* elementwise) {
  if (IsNewForRemarks(body.e(), elementwise)) LoopNotes(body, elementwise).Note();
}

}  // namespace kdl::cpu
