#include "passes/checks/ragged_checks.h"

#include <fmt/format.h>

#include <string>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/views.h"
#include "passes/check_bounds.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

using ir::MakeAttr;

/// Returns the op that computes a bound, ignoring casts; null if there is none.
const Op* MakerOf(const Value* bound) {
  const Op* def = bound->def();
  while (def && def->kind() == OpKind::Cast) def = def->operand(0)->def();
  return def;
}

/// Returns the source text of the load that computes the bound, or an empty string if the bound is not just a
/// load.
std::string LoadText(const Value* bound) {
  const Op* def = MakerOf(bound);
  bool quotes = def && def->kind() == OpKind::Load && def->HasAttr(AttrKey::Text);
  return quotes ? def->attr<AttrKey::Text>().str() : std::string();
}

class PartChecks {
 public:
  PartChecks(PassContext& context, const proofs::Parts& parts)
      : context_(context), parts_(parts), builder_(context.module) {
    builder_.SetInsertionPoint(parts.walk);
    const Op* end = MakerOf(parts.to());
    builder_.set_loc(end ? end->loc() : parts.loop->loc());
  }

  /// Checks the part of each block. If `touch` is set, a part must end exactly where the next part begins;
  /// otherwise it may end earlier.
  void CheckEach(bool touch) {
    std::vector<const Value*> numbers = parts_.tables;
    numbers.push_back(parts_.number_of_block ? parts_.number_of_block : parts_.binder);
    Op* walk = WalkOver(numbers);
    if (parts_.number_of_block) {
      Value* lo = Copied(parts_.numbers()->operand(ir::LoopOp::at_lo));
      Value* hi = Copied(parts_.numbers()->operand(ir::LoopOp::at_hi));
      MakeLoop(builder_, {lo, hi}, [&](Value* number) {
        number->set_name(parts_.binder->name());
        numbers_[parts_.binder] = number;
        CheckPart(touch);
      });
    } else {
      CheckPart(touch);
    }
    builder_.Create(OpKind::Yield, {{}}, {});
    CheckBoundsIn(context_, walk);
  }

  /// Checks that the first part begins at 0 and the last part ends at `size`. If there are no blocks, `size`
  /// must be 0.
  void CheckEnds(Size size) {
    Value* length =
        builder_.Make(OpKind::SizeOf, {}, builder_.I64Type(), {MakeAttr<AttrKey::Size>(size)});
    if (!parts_.tables.empty()) {
      Op* walk = WalkOver(parts_.tables);
      CheckEndsOfTable(length, ToString(size));
      builder_.Create(OpKind::Yield, {{}}, {});
      return CheckBoundsIn(context_, walk);
    }
    Op* branch = MakeBranch(builder_, builder_.Eq(builder_.CoreId(), builder_.I64(0)));
    builder_.SetInsertionPoint(branch->region(0)->terminator());
    CheckEndsOfTable(length, ToString(size));
    CheckBoundsIn(context_, branch);
  }

 private:
  static constexpr const char* kWhy = ", as needed to write the whole output";

  /// Checks the part with the current number.
  void CheckPart(bool touch) {
    Value* number = numbers_.at(parts_.binder);
    if (!touch) {
      Value* ends = To(number);
      Assert(builder_.Le(From(number), ends), Ascends());
    } else if (parts_.shift) {
      // The end of a part whose length is negative may overflow, so that the part seems to contain elements.
      Value* begins = At(parts_.from(), number);
      Value* ends = At(parts_.to(), number);
      Assert(builder_.Le(begins, ends), Ascends() + kWhy);
    }
    if (!proofs::IsChained(parts_)) {
      Value* next = builder_.Add(number, builder_.I64(1));
      MakeIf(builder_, builder_.Lt(next, Hi()), [&] {
        Value* end = To(number);
        Value* begin = From(next);
        std::string parts = fmt::format("the parts of '{}' ", PartName());
        if (touch)
          Assert(builder_.Eq(end, begin), parts + "touch" + kWhy);
        else
          Assert(builder_.Le(end, begin), parts + "are apart");
      });
    }
  }

  /// Makes an spmd over the same numbers as these loop variables, and continues in it.
  Op* WalkOver(const std::vector<const Value*>& binders) {
    std::vector<Value*> bounds;
    for (const Value* binder : binders) {
      proofs::LoopEnds ends = *proofs::LoopEndsOf(binder);
      bounds.push_back(Copied(ends.lo));
      bounds.push_back(Copied(ends.hi));
    }
    Op* walk = builder_.Create(OpKind::Spmd, {bounds}, {},
                               {MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static)});
    for (const Value* binder : binders)
      numbers_[binder] = builder_.AddParam(walk->region(), binder->type(), binder->name());
    builder_.SetInsertionPoint(walk->region());
    return walk;
  }

  void CheckEndsOfTable(Value* length, const std::string& size) {
    std::string starts = fmt::format("the parts of '{}' begin at 0", PartName());
    std::string ends = fmt::format("the parts of '{}' end at {}", PartName(), size);
    MakeIf(
        builder_, builder_.Lt(Lo(), Hi()),
        [&] {
          Assert(builder_.Eq(From(Lo()), builder_.I64(0)), starts + kWhy);
          Value* last = builder_.Sub(Hi(), builder_.I64(1));
          Assert(builder_.Eq(To(last), length), ends + kWhy);
        },
        [&] { Assert(builder_.Eq(builder_.I64(0), length), ends + kWhy); });
  }

  Value* Lo() { return Copied(proofs::LoopEndsOf(parts_.binder)->lo); }
  Value* Hi() { return Copied(proofs::LoopEndsOf(parts_.binder)->hi); }
  Value* From(Value* number) { return Shifted(At(parts_.from(), number), number); }
  Value* To(Value* number) { return Shifted(At(parts_.to(), number), number); }

  Value* Shifted(Value* bound, Value* number) {
    return parts_.shift ? builder_.Add(bound, At(parts_.shift, number)) : bound;
  }

  std::string_view PartName() const { return parts_.loop->region()->param(0)->name().text(); }

  std::string Ascends() const {
    std::string from = LoadText(parts_.from());
    std::string to = LoadText(parts_.to());
    if (from.empty() || to.empty())
      return fmt::format("each part of '{}' ends at or after its begin", PartName());
    return fmt::format("{} <= {}", from, to);
  }

  /// Returns the value that `bound`, a bound of the part, has for block `number`.
  Value* At(const Value* bound, Value* number) {
    ir::ValueMap map = numbers_;
    map[parts_.binder] = number;
    return Copy(bound, map);
  }

  Value* Copied(const Value* bound) {
    ir::ValueMap map = numbers_;
    return Copy(bound, map);
  }

  /// Copies the computation of a value to the builder's insertion point. The copied loads are guarded,
  /// because proofs for their original position may not hold here.
  Value* Copy(const Value* value, ir::ValueMap& map) {
    if (auto known = map.find(value); known != map.end()) return known->second;
    Op* def = const_cast<Op*>(value->def());
    if (!def || !IsInside(def, parts_.walk)) return const_cast<Value*>(value);
    for (const Value* operand : def->operands()) Copy(operand, map);
    Op* copy = Clone(def, builder_, map);
    if (copy->HasAttr(AttrKey::BoundsMode))
      copy->SetAttr(MakeAttr<AttrKey::BoundsMode>(ir::BoundsMode::Guard));
    return map[value] = copy->result();
  }

  void Assert(Value* holds, const std::string& text) {
    Name quoted = context_.module.context().names.Intern(text);
    builder_.Create(OpKind::Assert, {{holds}, {}}, {}, {MakeAttr<AttrKey::Text>(quoted)});
  }

  PassContext& context_;
  const proofs::Parts& parts_;
  ir::Builder builder_;
  ir::ValueMap numbers_;  ///< the loop variables of the check
};

}  // namespace

void CheckThatPartsAreApart(PassContext& context, const proofs::Parts& parts) {
  PartChecks(context, parts).CheckEach(false);
}

void CheckThatPartsAreWhole(PassContext& context, const proofs::Parts& parts, Size size) {
  if (!proofs::IsChained(parts)) PartChecks(context, parts).CheckEach(true);
  PartChecks(context, parts).CheckEnds(size);
}

}  // namespace kdl::passes
