#include "irgen/walk/function_gen.h"

#include "ir/op_info.h"

namespace kdl::irgen {

ir::Loc FunctionGen::LocOf(Span span) const {
  if (!span.valid()) return {};
  LineColumn at = sources.Locate(span);
  return {module.context().names.Intern(sources.name(span.file)), at.line, at.column,
          span.end - span.begin};
}

/// Returns the source text on one line, as quoted in messages of traps.
Name FunctionGen::QuotedSource(Span span) const {
  std::string text;
  for (char c : sources.text(span)) {
    bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) text += c;
    if (space && !text.empty() && text.back() != ' ') text += ' ';
  }
  return module.context().names.Intern(text);
}

ir::AxisId FunctionGen::RangeAxis(const sema::Entity* range) {
  if (auto found = axes.find(range); found != axes.end()) return found->second;
  ir::Axis axis{range->name, range->range.extent, range->range.domain, {}};
  if (range->range.parent) axis.parent = RangeAxis(range->range.parent);
  return axes[range] = function.AddAxis(axis);
}

std::vector<ir::AxisId> FunctionGen::RangeAxes(const std::vector<const sema::Entity*>& ranges) {
  std::vector<ir::AxisId> ids;
  for (const sema::Entity* range : ranges) ids.push_back(RangeAxis(range));
  return ids;
}

Size FunctionGen::Bound(Size size) const {
  if (sizes.empty()) return size;
  return module.types().sizes().Substitute(size, [&](Name name) -> Size {
    auto bound = sizes.find(name);
    return bound == sizes.end() ? nullptr : bound->second;
  });
}

namespace {

/// Returns the conjunction of the guards with number `first` or higher. In its member `cached`, each of them
/// stores the conjunction of these guards up to and including itself.
ir::Value* MaskFrom(FunctionGen& gen, size_t first, ir::Value* FunctionGen::Guard::* cached) {
  ir::Value* outer = nullptr;
  for (size_t i = first; i < gen.guards.size(); ++i) {
    FunctionGen::Guard& guard = gen.guards[i];
    ir::Value*& mask = guard.*cached;
    if (!mask) {
      mask = guard.negated ? gen.builder.Unary(ir::OpKind::Not, guard.condition) : guard.condition;
      if (outer) mask = gen.builder.And(outer, mask);
    }
    outer = mask;
  }
  return outer;
}

}  // namespace

ir::Value* FunctionGen::Mask() { return MaskFrom(*this, 0, &Guard::mask); }

ir::Value* FunctionGen::AssignMask() {
  bool in_loop = !guards.empty() && guards[0].of_loop;
  return in_loop ? MaskFrom(*this, 1, &Guard::inside) : Mask();
}

ir::Value* Widen(FunctionGen& gen, ir::Value* value) {
  return IsNarrowFloat(value->type()->scalar) ? gen.builder.Cast(value, Scalar::F32) : value;
}

ir::Value* Round(FunctionGen& gen, ir::Value* value, Scalar scalar) {
  if (gen.contract) return gen.builder.Cast(value, gen.Made(scalar));
  // Widening is exact, so rounding a widened value back gives the original value.
  ir::Op* def = value->def();
  bool widened =
      def && def->kind() == ir::OpKind::Cast && def->operand(0)->type()->scalar == scalar;
  return widened && IsNarrowFloat(scalar) ? def->operand(0) : gen.builder.Cast(value, scalar);
}

std::vector<sema::Type> PartTypes(const sema::Type& type) {
  return type.is_tuple() ? type.parts : std::vector{type};
}

void SetName(ir::Value* value, Name name) {
  if (value->name().empty()) value->set_name(name);
}

/// Removes pure ops with unused results. Casts of narrow floats and sizes of whole ranges are created before
/// it is known whether anything uses them.
void DropUnused(const ir::Region* region) {
  for (ir::Op* op = region->last(); op;) {
    ir::Op* before = op->prev();
    for (const ir::Region* nested : op->regions()) DropUnused(nested);
    // Keep make_block ops: wherever a tile is used, blocks of its axes must be in scope, even if no operand
    // refers to them.
    bool unused = op->info().has(ir::kPure) && !op->results().empty() &&
                  op->result()->uses().empty() && op->kind() != ir::OpKind::MakeBlock;
    if (unused) ir::Erase(op);
    op = before;
  }
}

}  // namespace kdl::irgen
