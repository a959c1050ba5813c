#include "irgen/accesses/tile_parts.h"

#include <algorithm>

#include "ir/op_kind.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"

// Generates reads of `t[k = e]`, and assignments to it. A value that is assigned to a part of a tile is first
// extended to the whole tile, one element at a time:
//
//   t[k = r + 2] = row    ->   t = select(inside, gather %row at (k - 2) over r, t), inside: k - 2 is in the block of r

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

Value* Iota(FunctionGen& gen, const sema::Entity* range) {
  ir::Type type = gen.builder.types().Tile(Scalar::I64, {gen.RangeAxis(range)});
  return gen.builder.Make(OpKind::Iota, {gen.blocks.at(range)}, type);
}

Value* Times(FunctionGen& gen, Size coefficient, Value* value) {
  if (IsConstant(coefficient, 1)) return value;
  return gen.builder.Mul(GenSize(gen, coefficient), value);
}

/// Returns an index: the sum of the offset and all terms except the term for range `without`. The result is
/// an i64 or a tile of i64.
Value* IndexValue(FunctionGen& gen, const sema::IndexDim& dim, const sema::Entity* without) {
  Value* sum = IsConstant(dim.offset, 0) ? nullptr : GenSize(gen, dim.offset);
  for (const sema::IndexTerm& term : dim.terms) {
    if (term.range && term.range == without) continue;
    Value* factor = term.range ? Iota(gen, term.range) : GenIndex(gen, term.value);
    Value* part = Times(gen, term.coefficient, factor);
    sum = sum ? gen.builder.Add(sum, part) : part;
  }
  return sum ? sum : gen.builder.I64(0);
}

struct Taken {
  Value* tile;
  std::vector<Value*> index;
  ir::AxisList over;
  Value* otherwise = nullptr;
  Value* mask = nullptr;
  bool is_inside = false;
};

Value* Take(FunctionGen& gen, const Taken& taken, Span span) {
  std::vector<ir::AxisId> axes;
  for (ir::AxisId axis : taken.tile->type()->axes) {
    if (std::find(taken.over.begin(), taken.over.end(), axis) == taken.over.end())
      axes.push_back(axis);
  }
  for (const Value* index : taken.index) axes = ir::UnionAxes(axes, index->type()->axes);
  std::vector<Value*> otherwise;
  std::vector<Value*> mask;
  if (taken.otherwise) otherwise.push_back(taken.otherwise);
  if (taken.mask) mask.push_back(taken.mask);
  for (const Value* value : otherwise) axes = ir::UnionAxes(axes, value->type()->axes);
  for (const Value* value : mask) axes = ir::UnionAxes(axes, value->type()->axes);
  ir::BoundsMode bounds_mode = taken.otherwise   ? ir::BoundsMode::Else
                               : taken.is_inside ? ir::BoundsMode::Proven
                                                 : ir::BoundsMode::Guard;
  ir::Type type = gen.builder.types().Tile(taken.tile->type()->scalar, std::move(axes));
  return gen.builder
      .Create(OpKind::Gather, {{taken.tile}, taken.index, otherwise, mask}, {type},
              {ir::MakeAttr<ir::AttrKey::Axes>(taken.over),
               ir::MakeAttr<ir::AttrKey::BoundsMode>(bounds_mode),
               ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(span))})
      ->result();
}

/// Returns the term of an assigned index that refers to a range; its coefficient is 1 or -1. Returns null if
/// the index selects a single element.
const sema::IndexTerm* AssignedRangeTerm(const sema::IndexDim& dim) {
  auto walks = [](const sema::IndexTerm& term) { return term.range != nullptr; };
  auto found = std::find_if(dim.terms.begin(), dim.terms.end(), walks);
  return found == dim.terms.end() ? nullptr : &*found;
}

/// The value assigned to a part of a tile, while it is being extended to the whole tile.
struct Expansion {
  Value* value;
  Value* inside = nullptr;  ///< tells which elements of the whole tile belong to the part
};

void Require(FunctionGen& gen, Expansion& expansion, Value* condition) {
  Value*& inside = expansion.inside;
  inside = inside ? gen.builder.And(inside, condition) : condition;
}

void Expand(FunctionGen& gen, Expansion& expansion, const sema::Entity* range,
            const sema::IndexDim& dim, Span span) {
  ir::Builder& b = gen.builder;
  const sema::IndexTerm* walk = AssignedRangeTerm(dim);
  Value* own = Iota(gen, range);
  Value* rest = IndexValue(gen, dim, walk ? walk->range : nullptr);
  if (!walk) return Require(gen, expansion, b.Eq(own, rest));
  Value* source = IsConstant(walk->coefficient, 1) ? b.Sub(own, rest) : b.Sub(rest, own);
  Value* block = gen.blocks.at(walk->range);
  Value* start = b.BlockStart(block);
  Value* end = b.Add(start, b.BlockSize(block));
  Require(gen, expansion, b.Ge(source, start));
  Require(gen, expansion, b.Lt(source, end));
  Value* zero = b.Bits(expansion.value->type()->scalar, 0);
  expansion.value =
      Take(gen, {expansion.value, {source}, {gen.RangeAxis(walk->range)}, zero}, span);
}

/// Returns the range `i` if the index of the dimension is just `i` or `iota(i)`, otherwise null.
const sema::Entity* OnlyRange(const FunctionGen& gen, const sema::IndexDim& dim) {
  bool is_one =
      dim.terms.size() == 1 && IsConstant(dim.offset, 0) && IsConstant(dim.terms[0].coefficient, 1);
  if (!is_one) return nullptr;
  if (dim.terms[0].range) return dim.terms[0].range;
  const sema::ExprInfo& info = gen.Info(dim.terms[0].value);
  return info.builtin && info.builtin->lowering == sema::Lowering::Iota ? info.entity : nullptr;
}

/// Returns whether the tile is known to contain every element that the index selects, because the range of
/// the tile and the range of the index cover the same whole dimension.
bool IsWithin(const FunctionGen& gen, const sema::Entity* range, const sema::IndexDim& dim) {
  const sema::Entity* index = OnlyRange(gen, dim);
  return index && range->range.whole && index->range.whole && range->range.domain &&
         range->range.domain == index->range.domain;
}

}  // namespace

Value* GenIndexValue(FunctionGen& gen, const sema::IndexDim& dim) {
  return IndexValue(gen, dim, nullptr);
}

Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr) {
  const sema::ExprInfo& info = gen.Info(&expr);
  const sema::PartInfo& part = *info.part;
  Value* tile = GenExpr(gen, expr.base);
  Taken taken{gen.builder.Broadcast(tile, gen.RangeAxes(gen.Info(expr.base).type.ranges)),
              {},
              gen.RangeAxes(part.ranges)};
  for (const sema::IndexDim& dim : part.dims) taken.index.push_back(IndexValue(gen, dim, nullptr));
  if (part.otherwise)
    taken.otherwise = Round(gen, GenExpr(gen, part.otherwise), tile->type()->scalar);
  taken.is_inside = part.is_inside;
  bool is_within = true;
  for (size_t i = 0; i < part.dims.size(); ++i)
    is_within = is_within && IsWithin(gen, part.ranges[i], part.dims[i]);
  if (!part.otherwise && !is_within && !part.is_inside) taken.mask = gen.Mask();
  return Take(gen, taken, expr.span);
}

Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, Value* tile, Value* value) {
  const sema::ExprInfo& info = gen.Info(&target);
  const sema::PartInfo& part = *info.part;
  Expansion expansion{gen.builder.Broadcast(Round(gen, value, tile->type()->scalar),
                                            gen.RangeAxes(info.type.ranges))};
  for (size_t i = 0; i < part.dims.size(); ++i)
    Expand(gen, expansion, part.ranges[i], part.dims[i], target.span);
  return gen.builder.Select(expansion.inside, expansion.value, tile);
}

}  // namespace kdl::irgen
