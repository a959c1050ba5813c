#include "irgen/statements/ranges.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"
#include "sema/model/access.h"

// Generates the blocks of ranges. The block of `range p over 2 * i + r - 1 in H;` has the values of the sum that
// are in 0 .. H - 1:
//
//   lo = 2 * start(i) + start(r) - 1
//   hi = 2 * (start(i) + size(i) - 1) + (start(r) + size(r) - 1)
//   start = max(lo, 0), size = max(min(hi, H) - start, 0)

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;

struct BlockBounds {
  Value* start;
  Value* size;
};

/// Generates the checks of `range c in C max 8192;`: a launch is rejected if C is negative or larger than 8192.
void RequireRangeFits(FunctionGen& gen, Size domain, Size most) {
  if (ir::MayBeNegative(gen.function, gen.Bound(domain)))
    RequireSizes(gen, domain, ir::CompareKind::Ge, gen.builder.types().sizes().Constant(0),
                 fmt::format("{} >= 0", ToString(domain)));
  RequireSizes(gen, domain, ir::CompareKind::Le, most,
               fmt::format("{} <= {}", ToString(domain), ToString(most)));
}

/// Traps if a number is larger than the range's `max`. Used for numbers that are not sizes of tensors.
void CheckRangeFits(FunctionGen& gen, const syntax::RangeStmt& range, Value* size, Size most) {
  Value* bound = gen.builder.Add(GenSize(gen, most), gen.builder.I64(1));
  gen.builder.Create(ir::OpKind::Check, {{size}, {bound}}, {},
                     {ir::MakeAttr<ir::AttrKey::Dimension>(0),
                      ir::MakeAttr<ir::AttrKey::Text>(gen.QuotedSource(range.span))});
}

BlockBounds GenWhole(FunctionGen& gen, const syntax::RangeStmt& range,
                     const sema::RangeFacts& facts) {
  Value* size = facts.domain ? GenSize(gen, facts.domain)
                             : gen.builder.Cast(GenExpr(gen, range.extent), Scalar::I64);
  bool is_launched = gen.function.kind != ir::FunctionKind::Fn;
  if (range.max && facts.domain && is_launched) {
    RequireRangeFits(gen, facts.domain, facts.extent);
  } else if (range.max) {
    CheckRangeFits(gen, range, size, facts.extent);
  }
  return {gen.builder.I64(0), size};
}

/// The least and the greatest value of a sum.
struct Ends {
  Value* least = nullptr;
  Value* greatest = nullptr;
};

Ends EndsOfTerm(FunctionGen& gen, const sema::IndexTerm& term) {
  ir::Builder& b = gen.builder;
  Value* block = gen.blocks.at(term.range);
  Value* first = b.BlockStart(block);
  Value* size = b.BlockSize(block);
  Value* last = b.Sub(b.Add(first, size), b.I64(1));
  if (IsConstant(term.coefficient, 1)) return {first, last};
  Value* factor = GenSize(gen, term.coefficient);
  first = b.Mul(factor, first);
  last = b.Mul(factor, last);
  if (IsConstant(term.coefficient))
    return term.coefficient->value > 0 ? Ends{first, last} : Ends{last, first};
  Value* rises = b.Gt(factor, b.I64(0));
  Value* least = b.Select(rises, first, last);
  return {least, b.Select(rises, last, first)};
}

Ends EndsOfWindow(FunctionGen& gen, const sema::IndexDim& window) {
  Ends sum;
  auto add = [&](Value*& to, Value* value) { to = to ? gen.builder.Add(to, value) : value; };
  for (const sema::IndexTerm& term : window.terms) {
    Ends ends = EndsOfTerm(gen, term);
    add(sum.least, ends.least);
    add(sum.greatest, ends.greatest);
  }
  if (!IsConstant(window.offset, 0)) {
    Value* offset = GenSize(gen, window.offset);
    add(sum.least, offset);
    add(sum.greatest, offset);
  }
  return sum;
}

/// Returns whether a block of the range may be empty.
bool MayBeEmpty(const sema::RangeFacts& range) {
  if (!range.window) return range.whole && !(range.domain && IsConstant(range.domain));
  return range.hi || std::ranges::any_of(range.window->terms, [](const sema::IndexTerm& term) {
           return MayBeEmpty(term.range->range);
         });
}

/// Returns `size`, or 0 if a range of the window is empty.
Value* UnlessEmpty(FunctionGen& gen, const sema::IndexDim& window, Value* size) {
  ir::Builder& b = gen.builder;
  for (const sema::IndexTerm& term : window.terms) {
    if (!MayBeEmpty(term.range->range)) continue;
    Value* count = b.BlockSize(gen.blocks.at(term.range));
    Value* none = b.I64(0);
    size = b.Select(b.Gt(count, none), size, none);
  }
  return size;
}

BlockBounds GenWindow(FunctionGen& gen, const sema::RangeFacts& facts) {
  ir::Builder& b = gen.builder;
  Ends ends = EndsOfWindow(gen, *facts.window);
  Value* start = ends.least;
  Value* end = b.Add(ends.greatest, b.I64(1));
  if (facts.hi) {
    start = b.Max(start, b.I64(0));
    end = b.Min(end, b.Cast(GenExpr(gen, facts.hi), Scalar::I64));
  }
  Value* size = b.Sub(end, start);
  if (facts.hi) size = b.Max(size, b.I64(0));
  return {start, UnlessEmpty(gen, *facts.window, size)};
}

}  // namespace

void GenRange(FunctionGen& gen, const syntax::RangeStmt& range) {
  const sema::Entity* entity = gen.checked.Info(&range).entities.at(0);
  ir::AxisId axis = gen.RangeAxis(entity);
  auto [start, size] =
      entity->range.window ? GenWindow(gen, entity->range) : GenWhole(gen, range, entity->range);
  Value* block = gen.builder.Make(OpKind::MakeBlock, {start, size, gen.builder.I64(0)},
                                  gen.builder.types().Block(axis));
  SetName(block, entity->name);
  gen.blocks[entity] = block;
}

}  // namespace kdl::irgen
