#include "irgen/statements/loop_bounds.h"

#include "ir/op_kind.h"
#include "irgen/walk/generate.h"

namespace kdl::irgen {

using ir::OpKind;
using ir::Value;

namespace {

LoopBounds BoundsOfRange(FunctionGen& gen, const sema::RangeFacts& facts) {
  if (facts.parent) {
    Value* block = gen.blocks.at(facts.parent);
    Value* lo = gen.builder.BlockStart(block);
    Value* size = gen.builder.BlockSize(block);
    return {lo, gen.builder.Add(lo, size), nullptr};
  }
  if (facts.domain) {
    Value* zero = gen.builder.I64(0);
    Value* size = gen.builder.Make(OpKind::SizeOf, {}, gen.builder.I64Type(),
                                   {ir::MakeAttr<ir::AttrKey::Size>(facts.domain)});
    return {zero, size, nullptr};
  }
  Value* lo = facts.lo ? GenIndex(gen, facts.lo) : gen.builder.I64(0);
  return {lo, GenIndex(gen, facts.hi), nullptr};
}

LoopBounds BoundsOfIndices(FunctionGen& gen, const syntax::Expr* lo, const syntax::Expr* hi,
                           const syntax::Expr* step) {
  Value* first = lo ? GenIndex(gen, lo) : gen.builder.I64(0);
  Value* end = GenIndex(gen, hi);
  return {first, end, step ? GenIndex(gen, step) : nullptr};
}

}  // namespace

LoopBounds GenLoopBounds(FunctionGen& gen, const sema::Entity* binder) {
  if (binder->of) return gen.domains.at(binder->of)[binder->position];
  if (binder->kind == sema::EntityKind::Range) return BoundsOfRange(gen, binder->range);
  return BoundsOfIndices(gen, binder->lo, binder->hi, binder->step);
}

void GenDomain(FunctionGen& gen, const sema::Entity* domain) {
  std::vector<LoopBounds> bounds;
  for (const sema::WalkFacts& walk : domain->walks) {
    bounds.push_back(walk.blocked ? BoundsOfRange(gen, walk.range)
                                  : BoundsOfIndices(gen, walk.lo, walk.hi, walk.step));
  }
  gen.domains[domain] = std::move(bounds);
}

}  // namespace kdl::irgen
