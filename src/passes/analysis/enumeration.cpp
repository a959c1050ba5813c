#include "passes/analysis/enumeration.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/requirement.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/collision.h"

namespace kdl::passes {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr int64_t kMostSteps = 200'000;  // of one launch

/// The facts of a blk in this turn of its loop, or a scalar's value in `start`.
struct Bound {
  int64_t start = 0;
  int64_t count = 0;
  int64_t number = 0;
  int64_t element = 0;
};

class Walker {
 public:
  Walker(Terms& terms, const Sizes& sizes, const std::function<void(const Touched&)>& visit,
         int64_t& steps_left)
      : terms_(terms), sizes_(sizes), visit_(visit), steps_left_(steps_left) {}

  bool Run() {
    for (core_ = 0; core_ < 2; ++core_) {
      phase_ = turn_ = 0;
      block_ = {nullptr, 0, {core_}, {}};
      Visit(terms_.function().body, true);
    }
    return !has_stopped_;
  }

 private:
  bool TooLong() {
    has_stopped_ = ++steps_ > kMostSteps || --steps_left_ < 0;
    return has_stopped_;
  }

  std::optional<int64_t> Of(AtomId atom) {
    const AtomFacts& facts = terms_.Facts(atom);
    if (facts.kind == AtomKind::Size) {
      auto found = sizes_.find(facts.symbol);
      return found == sizes_.end() ? std::nullopt : std::optional(found->second);
    }
    if (facts.kind == AtomKind::CoreId) return core_;
    if (facts.kind == AtomKind::CoreNum) return 2;
    if (facts.kind == AtomKind::Quotient || facts.kind == AtomKind::Min ||
        facts.kind == AtomKind::Max)
      return OfTwo(facts);
    if (facts.kind == AtomKind::Wrapped) return Of(facts.a);
    auto bound = bound_.find(facts.value);
    if (bound == bound_.end()) return std::nullopt;
    switch (facts.kind) {
      case AtomKind::Count:
        return bound->second.count;
      case AtomKind::Number:
        return bound->second.number;
      case AtomKind::Element:
        return bound->second.element;
      default:
        return bound->second.start;
    }
  }

  std::optional<int64_t> OfTwo(const AtomFacts& facts) {
    std::optional<int64_t> a = Of(facts.a);
    std::optional<int64_t> b = Of(facts.b);
    if (!a || !b) return std::nullopt;
    if (facts.kind == AtomKind::Min) return std::min(*a, *b);
    if (facts.kind == AtomKind::Max) return std::max(*a, *b);
    return *b == 0 ? std::nullopt : std::optional(FloorDivide(*a, *b));
  }

  std::optional<int64_t> Of(const Poly& poly) {
    if (!poly.exact()) return std::nullopt;
    int64_t sum = 0;
    for (const auto& [monomial, coefficient] : poly.terms()) {
      int64_t product = coefficient;
      for (AtomId atom : monomial) {
        std::optional<int64_t> value = Of(atom);
        if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
      }
      if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
    }
    return sum;
  }

  std::optional<int64_t> Of(const Value* value) {
    if (!IsInteger(value->type()->scalar)) return std::nullopt;
    return Of(terms_.OfValue(value, {}));
  }

  /// A condition, where it depends on sizes, loops and points alone.
  std::optional<bool> Holds(const Value* condition) {
    const Op* def = condition->def();
    if (!def) return std::nullopt;
    if (def->kind() == OpKind::Const) return def->attr<AttrKey::Bits>() != 0;
    if (def->kind() == OpKind::Broadcast) return Holds(def->operand(0));
    if (def->kind() == OpKind::Not) {
      std::optional<bool> inner = Holds(def->operand(0));
      return inner ? std::optional(!*inner) : inner;
    }
    if (def->kind() == OpKind::And || def->kind() == OpKind::Or) {
      bool decides = def->kind() == OpKind::Or;
      std::optional<bool> a = Holds(def->operand(0));
      std::optional<bool> b = Holds(def->operand(1));
      if (a == decides || b == decides) return decides;
      return a && b ? std::optional(!decides) : std::nullopt;
    }
    std::optional<ir::CompareKind> kind = ComparisonOf(def->kind());
    if (!kind) return std::nullopt;
    std::optional<int64_t> a = Of(def->operand(0));
    std::optional<int64_t> b = Of(def->operand(1));
    return a && b ? std::optional(ir::Holds(*kind, *a, *b)) : std::nullopt;
  }

  void Visit(const ir::Block* block, bool certain) {
    for (Op* op : *block) {
      if (TooLong()) return;
      if (op->info().has(ir::kSyncs)) ++phase_;
      if (std::optional<AccessView> view = AccessOf(op)) {
        VisitAccess(*view, certain);
      } else if (op->kind() == OpKind::MakeBlk) {
        BindMade(op);
      } else if (op->kind() == OpKind::Spmd) {
        VisitWalk(op, certain);
      } else if (op->kind() == OpKind::For || op->kind() == OpKind::Loop) {
        VisitLoop(op, certain && !op->HasAttr(AttrKey::Breaks));
      } else if (op->kind() == OpKind::While) {
        Visit(op->region(), false);
      } else if (op->kind() == OpKind::If) {
        std::optional<bool> holds = Holds(op->operand(0));
        if (holds != false) Visit(op->region(0), certain && holds.has_value());
        if (holds != true) Visit(op->region(1), certain && holds.has_value());
      } else if (op->kind() == OpKind::Stage) {
        ++phase_;
        Visit(op->region(), certain);
      } else {
        for (const ir::Block* region : op->regions()) VisitUnknown(region);
      }
    }
  }

  void BindMade(const Op* op) {
    std::optional<int64_t> start = Of(op->operand(0));
    std::optional<int64_t> count = Of(op->operand(1));
    if (start && count)
      bound_[op->result()] = {*start, *count, 0, 0};
    else
      bound_.erase(op->result());
  }

  /// What its accesses touch is not known.
  void VisitUnknown(const ir::Block* block) {
    ir::Walk(block, [&](Op* op) {
      if (std::optional<AccessView> view = AccessOf(op)) VisitUnknown(*view);
    });
  }
  void VisitUnknown(const AccessView& view) {
    if (IsMine())
      visit_(
          {&view, ir::MemoryOf(view.tensor), std::nullopt, false, block_, phase_, ++op_run_, ""});
  }

  /// The cores' common code is looked at once a core, blocks once.
  bool IsMine() const { return block_.walk == nullptr || core_ == 0; }

  std::optional<Bound> BlockAt(const Value* blk, int64_t lo, int64_t hi, int64_t number) {
    std::optional<int64_t> extent =
        Of(terms_.OfSize(terms_.function().axis(blk->type()->axes[0]).extent));
    if (!extent || *extent < 1) return std::nullopt;
    int64_t start = lo + number * *extent;
    return Bound{start, std::min(*extent, hi - start), number, 0};
  }

  void VisitWalk(const Op* op, bool certain) {
    if (core_ != 0) return;
    BlockId outer = block_;
    block_ = {FirstOfDomain(op), op->HasAttr(AttrKey::Domain) ? 0 : ++turn_, {}, {}};
    VisitBinder(op, 0, certain);
    block_ = outer;
  }

  const Op* FirstOfDomain(const Op* op) const {
    return terms_.Canonical(op->region()->param(0))->block()->parent();
  }

  void VisitBinder(const Op* op, size_t number, bool certain) {
    const ir::Block* body = op->region();
    if (number == body->params().size()) return Visit(body, certain);
    const Value* binder = terms_.Canonical(body->param(number));
    std::optional<int64_t> lo = Of(op->operand(2 * number));
    std::optional<int64_t> hi = Of(op->operand(2 * number + 1));
    if (!lo || !hi) return VisitUnknown(body);
    bool is_blk = binder->type()->kind == ir::TypeKind::Blk;
    int64_t turn = 0;
    for (int64_t at = *lo; at < *hi && !TooLong(); ++turn) {
      std::optional<Bound> bound =
          is_blk ? BlockAt(binder, *lo, *hi, turn) : Bound{at, 1, turn, at};
      if (!bound) return VisitUnknown(body);
      bound_[binder] = *bound;
      block_.first.push_back(at);
      block_.last.push_back(at + bound->count - 1);
      VisitBinder(op, number + 1, certain);
      block_.first.pop_back();
      block_.last.pop_back();
      at += bound->count;
    }
    bound_.erase(binder);
  }

  void VisitLoop(const Op* op, bool certain) {
    const Value* binder = op->region()->param(0);
    bool is_blk = binder->type()->kind == ir::TypeKind::Blk;
    std::optional<int64_t> lo = Of(op->operand(0));
    std::optional<int64_t> hi = Of(op->operand(1));
    std::optional<int64_t> step = is_blk ? std::optional<int64_t>(1) : Of(op->operand(2));
    if (!lo || !hi || !step || *step < 1) return VisitUnknown(op->region());
    int64_t turn = 0;
    for (int64_t at = *lo; at < *hi && !TooLong(); ++turn) {
      std::optional<Bound> bound =
          is_blk ? BlockAt(binder, *lo, *hi, turn) : Bound{at, *step, turn, at};
      if (!bound) return VisitUnknown(op->region());
      bound_[binder] = *bound;
      Visit(op->region(), certain && !op->HasAttr(AttrKey::Breaks));
      at += bound->count;
    }
    bound_.erase(binder);
  }

  void VisitAccess(const AccessView& view, bool certain) {
    if (!IsMine()) return;
    ++op_run_;
    ir::AxisList axes = AxesOf(view);
    if (view.mask) axes = ir::UnionAxes(axes, view.mask->type()->axes);
    VisitPoints(view, axes, 0, certain, "");
  }

  void VisitPoints(const AccessView& view, const ir::AxisList& axes, size_t number, bool certain,
                   const std::string& text) {
    if (TooLong()) return;
    if (number == axes.size()) return VisitPoint(view, certain, text);
    const Value* blk = ir::FindBlk(view.op, axes[number]);
    auto bound = blk ? bound_.find(terms_.Canonical(blk)) : bound_.end();
    if (bound == bound_.end()) return VisitUnknown(view);
    std::string_view name = terms_.function().axis(axes[number]).name.text();
    Bound& of_blk = bound->second;
    for (int64_t i = 0; i < of_blk.count && !has_stopped_; ++i) {
      of_blk.element = of_blk.start + i;
      VisitPoints(view, axes, number + 1, certain,
                  fmt::format("{}{}{} = {}", text, text.empty() ? "" : ", ", name, of_blk.element));
    }
  }

  /// What an access names at every point.
  struct Place {
    std::optional<std::vector<int64_t>> shape;
    std::vector<Poly> index;
    std::vector<Poly> element;
  };

  const Place& PlaceOf(const AccessView& view) {
    auto [known, is_new] = places_.try_emplace(view.op);
    Place& place = known->second;
    if (!is_new) return place;
    place.shape = ShapeOf(view.tensor, sizes_);
    for (size_t d = 0; d < view.rank(); ++d) place.index.push_back(terms_.OfIndex(view, d, {}));
    place.element = terms_.OfElement(view, {});
    return place;
  }

  void VisitPoint(const AccessView& view, bool certain, const std::string& text) {
    if (view.mask) {
      std::optional<bool> holds = Holds(view.mask);
      if (holds == false) return;
      certain = certain && holds == true;
    }
    const Place& place = PlaceOf(view);
    for (size_t d = 0; d < view.rank(); ++d) {
      std::optional<int64_t> index = Of(place.index[d]);
      if (!index || !place.shape) return VisitUnknown(view);
      if (*index < 0 || *index >= (*place.shape)[d]) return;  // `else`, or a trap
    }
    std::vector<int64_t> element;
    for (const Poly& poly : place.element) {
      std::optional<int64_t> index = Of(poly);
      if (!index) return VisitUnknown(view);
      element.push_back(*index);
    }
    visit_({&view, ir::MemoryOf(view.tensor), std::move(element), certain, block_, phase_, op_run_,
            text});
  }

  Terms& terms_;
  const Sizes& sizes_;
  const std::function<void(const Touched&)>& visit_;
  std::map<const Op*, Place> places_;
  std::map<const Value*, Bound> bound_;
  BlockId block_;
  int64_t core_ = 0;
  int64_t phase_ = 0;
  int64_t turn_ = 0;
  int64_t op_run_ = 0;
  int64_t steps_ = 0;
  int64_t& steps_left_;
  bool has_stopped_ = false;
};

}  // namespace

bool Enumerate(Terms& terms, const Sizes& sizes, int64_t& steps_left,
               const std::function<void(const Touched&)>& visit) {
  return Walker(terms, sizes, visit, steps_left).Run();
}

std::optional<std::vector<int64_t>> ShapeOf(const Value* tensor, const Sizes& sizes) {
  std::vector<int64_t> shape;
  for (Size dim : tensor->type()->dims) {
    std::optional<int64_t> size = ValueOf(dim, sizes);
    if (!size || *size < 0) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

std::string ElementText(const Value* tensor, const std::vector<int64_t>& element) {
  return fmt::format("{}[{}]", tensor->name().text(), fmt::join(element, ", "));
}

std::string ToText(const Sizes& sizes, const ir::Function& function) {
  std::string text;
  auto add = [&](Name name) {
    auto found = sizes.find(name);
    if (found == sizes.end()) return;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name.text(), found->second);
  };
  for (Name dim : function.dims) add(dim);
  for (const ir::Generic& generic : function.generics) add(generic.name);
  return text;
}

std::string ToText(const BlockId& block) {
  if (!block.walk) return fmt::format("core {}", block.first[0]);
  std::string text = "block ";
  for (size_t i = 0; i < block.first.size(); ++i) {
    const Value* binder = block.walk->region()->param(i);
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", binder->name().text(), block.first[i]);
    if (block.last[i] != block.first[i]) text += fmt::format("..{}", block.last[i]);
  }
  return text;
}

}  // namespace kdl::passes
