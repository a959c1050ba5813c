#include "passes/groups/group_walk.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ir/element_walk.h"
#include "ir/eval/eval.h"
#include "ir/op_kind.h"
#include "passes/analysis/points.h"
#include "passes/groups/kept_variables.h"
#include "passes/rewriting/element_access.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

namespace {

using ir::MakeAttr;

/// Returns the only operand with axes in a dimension of an update's index, if it is a block; otherwise null.
const Value* AloneIn(const ir::AccessDim& dim, ir::UpdateOp update) {
  const Value* only = nullptr;
  for (const ir::AccessTerm& term : dim.terms) {
    const Value* operand = update.index()[term.operand];
    if (operand->type()->axes.empty()) continue;
    bool plain = operand->type()->kind == ir::TypeKind::Block && IsConstant(term.coefficient) &&
                 term.coefficient->value != 0;
    if (only || !plain) return nullptr;
    only = operand;
  }
  return only;
}

/// Returns whether no two points of an update touch the same element. Recognizes only simple cases.
bool TellsApart(ir::UpdateOp update) {
  ir::AxisList alone;
  ir::Access access = update->attr<AttrKey::Access>();
  for (const ir::AccessDim& dim : access.dims) {
    if (const Value* block = AloneIn(dim, update))
      alone = ir::UnionAxes(alone, block->type()->axes);
  }
  return alone == PointAxes(update.op);
}

/// Returns how many of the powers 2, 4, … 256 satisfy a condition.
Value* CountPowers(ir::Builder& builder, const std::function<Value*(Value*)>& condition) {
  LoopBounds levels{builder.I64(0), builder.I64(ir::kMostLevels), 1, ir::kMostLevels};
  Values inits{builder.I64(0), builder.I64(2)};
  return MakeLoop(builder, levels, inits, [&](Value*, const Values& carried) -> Values {
    Value* counts = builder.Cast(condition(carried[1]), Scalar::I64);
    Value* count = builder.Add(carried[0], counts);
    return {count, builder.Add(carried[1], carried[1])};
  })[0];
}

class GroupWalk {
 public:
  GroupWalk(ir::Builder& builder, ir::Function& kernel, Op* spmd, GroupBlocks& blocks,
            const std::vector<GroupParts>& parts)
      : builder_(builder), kernel_(kernel), spmd_(spmd), blocks_(blocks), parts_(parts) {}

  void MoveIntoGroups(const NumberRange& groups) {
    Op* walk = builder_.Create(OpKind::Spmd, {{groups.begin, groups.end}}, {},
                               {MakeAttr<AttrKey::Distribute>(ir::DistributionKind::Static)});
    group_ = builder_.AddParam(walk->region(), builder_.I64Type(),
                               builder_.module().context().names.Intern("group"));
    builder_.SetInsertionPoint(walk->region());
    if (blocks_.shape() == GroupShape::Tiles)
      RunTiles();
    else
      RunSegment();
    builder_.SetInsertionPoint(walk->region());
    builder_.Create(OpKind::Yield, {{}}, {});
  }

 private:
  using Body = std::function<void(Value*)>;

  /// The slots of a group with tiles for one tensor.
  struct Levels {
    const GroupParts& parts;
    Value* first;
  };

  /// Makes a loop over a range, unless there are no variables that it is about. Then the number is 0.
  void ForEach(const std::vector<size_t>& variables, const NumberRange& range, const Body& body) {
    if (variables.empty()) return body(builder_.I64(0));
    MakeLoop(builder_, {range.begin, range.end}, body);
  }

  // -- A group with tiles -----------------------------------------------------------------------------

  /// Values of consecutive segments are combined as a binary counter counts: level k keeps the value of 2^k
  /// segments if bit k of the number of segments so far is set. So a segment is accumulated in the level whose bit
  /// it will set, which is free, and is then combined with the levels below.
  void RunTiles() {
    for (const GroupParts& parts : parts_)
      levels_.push_back({parts, parts.FirstSlot(builder_, group_)});
    NumberRange segments = blocks_.Segments(group_);
    Value* count = builder_.Sub(segments.end, segments.begin);
    Value* highest = HighestBit(builder_, count);
    MakeLoop(builder_, bounds(blocks_.Outer(group_)), [&](Value* number_of_tile) {
      Values tile = blocks_.VariableValues(number_of_tile, nullptr, nullptr);
      MakeLoop(builder_, {builder_.I64(0), count}, [&](Value* number) {
        RunSegmentOfTile(tile, builder_.Add(segments.begin, number), number);
      });
      for (const Levels& levels : levels_) CombineRest(levels, tile, count, highest);
      CombineWholeTile(tile, highest);
    });
  }

  static LoopBounds bounds(const NumberRange& range) { return {range.begin, range.end}; }

  void RunSegmentOfTile(const Values& tile, Value* segment, Value* number) {
    Value* level = TrailingOnes(number);
    std::vector<Value*> slots;
    for (const Levels& levels : levels_) {
      slots.push_back(builder_.Add(levels.first, level));
      Fill(levels.parts, slots.back(), tile);
    }
    MakeLoop(builder_, bounds(blocks_.Combined(segment)), [&](Value* combined) {
      ForEach(blocks_.variables().inner, blocks_.Inner(group_), [&](Value* inner) {
        RunBlock(tile, blocks_.VariableValues(nullptr, combined, inner), slots);
      });
    });
    for (const Levels& levels : levels_)
      MakeLoop(builder_, {builder_.I64(0), level},
               [&](Value* below) { CombineLevels(levels, tile, below, level, level); });
  }

  /// Returns the number of lowest bits of a number below 256 that are set, without a zero between them.
  Value* TrailingOnes(Value* number) {
    Value* next = builder_.Add(number, builder_.I64(1));
    return CountPowers(builder_, [&](Value* power) {
      Value* below = builder_.Sub(power, builder_.I64(1));
      Value* rest = builder_.And(next, below);
      return builder_.Eq(rest, builder_.I64(0));
    });
  }

  /// Combines the levels that are left after `count` segments. Afterwards, the highest one has the value of all.
  void CombineRest(const Levels& levels, const Values& tile, Value* count, Value* highest) {
    Value* none = builder_.I64(-1);
    Value* end = builder_.Add(highest, builder_.I64(1));
    MakeLoop(builder_, {builder_.I64(0), end}, {none, count},
             [&](Value* level, const Values& carried) -> Values {
               Value* two = builder_.I64(2);
               Value* is_set = builder_.Eq(builder_.Rem(carried[1], two), builder_.I64(1));
               Value* has_lower = builder_.Ge(carried[0], builder_.I64(0));
               MakeIf(builder_, builder_.And(is_set, has_lower),
                      [&] { CombineLevels(levels, tile, level, carried[0], level); });
               return {builder_.Select(is_set, level, carried[0]), builder_.Div(carried[1], two)};
             });
  }

  /// Stores the combined values of the levels `a` and `b` of a tile into the level `to`.
  void CombineLevels(const Levels& levels, const Values& tile, Value* a, Value* b, Value* to) {
    const GroupParts& parts = levels.parts;
    ForElements(parts, tile, [&](const Place& place, const ir::AxisList& axes) {
      auto at = [&](Value* level) {
        return parts.InSlot(builder_, place, builder_.Add(levels.first, level), tile);
      };
      Value* first = LoadAt(builder_, parts.memory(), at(a), axes);
      Value* second = LoadAt(builder_, parts.memory(), at(b), axes);
      StoreAt(builder_, parts.Combined(builder_, first, second), parts.memory(), at(to));
    });
  }

  /// Combines the value of a tile with the tensor if the group has all segments of the tile.
  void CombineWholeTile(const Values& tile, Value* highest) {
    MakeIf(builder_, builder_.Le(blocks_.parts(), builder_.I64(1)), [&] {
      for (const auto& [parts, first] : levels_) {
        Value* slot = builder_.Add(first, highest);
        ForElements(parts, tile, [&](const Place& place, const ir::AxisList& axes) {
          Value* old = builder_.Cast(LoadAt(builder_, parts.tensor(), place, axes), parts.acc());
          Value* all =
              LoadAt(builder_, parts.memory(), parts.InSlot(builder_, place, slot, tile), axes);
          StoreAt(builder_, parts.Combined(builder_, old, all), parts.tensor(), place);
        });
      }
    });
  }

  // -- A group with one segment -----------------------------------------------------------------------

  void RunSegment() {
    Value* segment = blocks_.Segments(group_).begin;
    std::vector<Value*> slots(parts_.size(), segment);
    for (const GroupParts& parts : parts_) FillBlocks(parts, segment);
    const ir::GroupVariables& variables = blocks_.variables();
    ForEach(variables.outer, blocks_.Outer(group_), [&](Value* outer) {
      MakeLoop(builder_, bounds(blocks_.Combined(segment)), [&](Value* combined) {
        ForEach(variables.inner, blocks_.Inner(group_), [&](Value* inner) {
          RunBlock({}, blocks_.VariableValues(outer, combined, inner), slots);
        });
      });
    });
  }

  /// Fills the elements that the group's blocks of the distributed variables reduce.
  void FillBlocks(const GroupParts& parts, Value* segment) {
    if (blocks_.shape() == GroupShape::WholeSegments || blocks_.distributed().empty())
      return Fill(parts, segment, {});
    bool is_outer = !blocks_.variables().outer.empty();
    NumberRange range = is_outer ? blocks_.Outer(group_) : blocks_.Inner(group_);
    MakeLoop(builder_, bounds(range), [&](Value* number) {
      Fill(parts, segment,
           blocks_.VariableValues(is_outer ? number : nullptr, nullptr,
                                  is_outer ? nullptr : number));
    });
  }

  // -- Blocks and elements ----------------------------------------------------------------------------

  /// Moves the body of the spmd to the insertion point. `tile` has the values of those loop variables that
  /// `variables` lacks.
  void RunBlock(const Values& tile, Values variables, const std::vector<Value*>& slots) {
    for (size_t b = 0; b < variables.size(); ++b)
      if (!variables[b]) variables[b] = tile[b];
    for (size_t b = 0; b < variables.size(); ++b)
      spmd_->region()->param(b)->ReplaceAllUsesWith(variables[b]);
    ir::Region* region = builder_.region();
    MoveOps(spmd_->region(), region);
    ir::Erase(region->terminator());
    for (Op* op : OpsIn(region, IsGroupUpdate)) {
      ir::UpdateOp update(op);
      auto of_tensor = [&](const GroupParts& parts) { return parts.tensor() == update.tensor(); };
      auto parts = std::ranges::find_if(parts_, of_tensor);
      Redirect(update, *parts, slots[static_cast<size_t>(parts - parts_.begin())], variables);
    }
    builder_.set_loc(spmd_->loc());
    builder_.SetInsertionPoint(region);
  }

  /// Calls `body` to create ops for the elements of the tile that contains the block.
  template <typename Make>
  void ForElements(const GroupParts& parts, const std::vector<Value*>& variables, Make body) {
    ir::Region* here = builder_.region();
    Op* before = builder_.before();
    std::vector<Value*> given;
    for (std::optional<size_t> variable : parts.tiled())
      given.push_back(variable && !variables.empty() ? variables[*variable] : nullptr);
    ir::ElementWalk walk = ir::MakeElementLoops(builder_, kernel_, parts.tensor()->type(), given);
    body(Place{walk.access, walk.index}, walk.axes);
    if (walk.op) builder_.Create(OpKind::Yield, {{}}, {});
    builder_.SetInsertionPoint(here, before);
  }

  void Fill(const GroupParts& parts, Value* slot, const std::vector<Value*>& variables) {
    ForElements(parts, variables, [&](const Place& place, const ir::AxisList&) {
      Value* identity = builder_.Bits(parts.acc(), parts.identity());
      StoreAt(builder_, identity, parts.memory(), parts.InSlot(builder_, place, slot, variables));
    });
  }

  /// Redirects the update to the group's partial result. If several points may touch the same element, the
  /// update remains an update; otherwise it becomes a load and a store of whole tiles.
  void Redirect(ir::UpdateOp update, const GroupParts& parts, Value* slot,
                const std::vector<Value*>& variables) {
    builder_.StandAt(update.op);
    Values mask = OneOrNone(update.mask());
    Place place = parts.InSlot(
        builder_, {update->attr<AttrKey::Access>(), {update.index().begin(), update.index().end()}},
        slot, variables);
    std::vector<ir::Attr> attrs = {
        MakeAttr<AttrKey::Access>(place.access), MakeAttr<AttrKey::Leading>(1),
        MakeAttr<AttrKey::BoundsMode>(update->attr<AttrKey::BoundsMode>())};
    if (const ir::Attr* text = update->FindAttr(AttrKey::Text)) attrs.push_back(*text);
    Value* value = builder_.Cast(update.value(), parts.acc());
    if (TellsApart(update)) {
      ir::AxisList axes;
      for (const Value* index : place.index) axes = ir::UnionAxes(axes, index->type()->axes);
      Value* old = MakeOne(builder_, OpKind::Load, {{parts.memory()}, place.index, {}, mask},
                           builder_.types().Tile(parts.acc(), axes), attrs);
      Value* updated = parts.Combined(builder_, old, value);
      builder_.Create(OpKind::Store, {{updated}, {parts.memory()}, place.index, mask}, {}, attrs);
    } else {
      attrs.push_back(MakeAttr<AttrKey::How>(parts.how()));
      attrs.push_back(MakeAttr<AttrKey::Scope>(ir::ScopeKind::Core));
      builder_.Create(OpKind::Update, {{value}, {parts.memory()}, place.index, mask}, {}, attrs);
    }
    ir::Erase(update.op);
  }

  ir::Builder& builder_;
  ir::Function& kernel_;
  Op* spmd_;
  GroupBlocks& blocks_;
  const std::vector<GroupParts>& parts_;
  Value* group_ = nullptr;
  std::vector<Levels> levels_;  ///< of a group with tiles, for each tensor
};

}  // namespace

Value* HighestBit(ir::Builder& builder, Value* number) {
  return CountPowers(builder, [&](Value* power) { return builder.Ge(number, power); });
}

void RunGroups(ir::Builder& builder, ir::Function& kernel, Op* spmd, GroupBlocks& blocks,
               const std::vector<GroupParts>& parts, const NumberRange& groups) {
  GroupWalk(builder, kernel, spmd, blocks, parts).MoveIntoGroups(groups);
}

}  // namespace kdl::passes
