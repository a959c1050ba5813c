#include "irgen/accesses/slices.h"

#include <fmt/format.h>

#include "ir/op_kind.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"

// Generates slices of a program's tensors: one op for each sliced dimension, from the last to the first. In
// this order, the dimensions that are not yet sliced keep their numbers:
//   w[l, i0..i1]        w: f32[L, M, K]
//   %1 = slice %w at %i0 to %i1 {dimension = 1} : tensor<f32,[L, (i1 - i0), K]>
//   %2 = slice %1 at %l {dimension = 0} : tensor<f32,[(i1 - i0), K]>

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

/// Binds a new name to the size of a slice, which is known only at run time.
void BindPartSize(FunctionGen& gen, const sema::SliceDim& dim, std::string_view tensor, Value* lo,
                  Value* hi) {
  ir::Builder& b = gen.builder;
  Names& names = gen.module.context().names;
  Name name = FreshSizeName(gen, names.Intern(fmt::format("{}_part", tensor)));
  b.Make(OpKind::BindSize, {b.Sub(hi, lo)}, b.I64Type(), {ir::MakeAttr<AttrKey::Name>(name)})
      ->set_name(name);
  gen.sizes[dim.size->symbol] = b.types().sizes().Symbol(name);
}

bool IsWhole(const sema::SliceDim& dim, Size extent) {
  return dim.hi && dim.lo.terms.empty() && IsConstant(dim.lo.offset, 0) && dim.size == extent;
}

}  // namespace

Value* GenTensor(FunctionGen& gen, const syntax::Expr* expr) {
  const sema::ExprInfo& info = gen.Info(expr);
  if (!info.slice) return gen.values.at(info.entity);
  Value* tensor = GenTensor(gen, info.slice->of);
  LocScope loc(gen, expr->span);
  const std::vector<Size>& extents = gen.Info(info.slice->of).type.dims;
  for (size_t d = info.slice->dims.size(); d-- > 0;) {
    const sema::SliceDim& dim = info.slice->dims[d];
    if (IsWhole(dim, extents[d])) continue;
    std::vector<Value*> hi;
    Value* lo = GenIndexSum(gen, dim.lo);
    if (dim.hi) hi.push_back(GenIndexSum(gen, *dim.hi));
    if (dim.is_fresh) BindPartSize(gen, dim, info.entity->name.text(), lo, hi[0]);
    std::vector<Size> dims = tensor->type()->dims;
    if (dim.hi) {
      dims[d] = gen.Bound(dim.size);
    } else {
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d));
    }
    ir::Type type = gen.builder.types().Tensor(tensor->type()->scalar, std::move(dims));
    tensor = gen.builder
                 .Create(OpKind::Slice, {{tensor}, {lo}, hi}, {type},
                         {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(d)),
                          ir::MakeAttr<AttrKey::Text>(gen.QuotedSource(expr->span))})
                 ->result();
  }
  return tensor;
}

Value* GenIndexSum(FunctionGen& gen, const sema::IndexDim& dim) {
  Value* sum = nullptr;
  auto add = [&](Value* term) { sum = sum ? gen.builder.Add(sum, term) : term; };
  for (const sema::IndexTerm& term : dim.terms) {
    Value* value = GenIndex(gen, term.value);
    if (!IsConstant(term.coefficient, 1))
      value = gen.builder.Mul(GenSize(gen, term.coefficient), value);
    add(value);
  }
  if (!IsConstant(dim.offset, 0) || !sum) add(GenSize(gen, dim.offset));
  return sum;
}

}  // namespace kdl::irgen
