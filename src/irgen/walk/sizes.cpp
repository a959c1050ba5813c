#include "irgen/walk/sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "support/check.h"
#include "support/contains.h"

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

ir::CompareKind CompareOf(syntax::BinaryOp op) {
  switch (op) {
    case syntax::BinaryOp::Eq:
      return ir::CompareKind::Eq;
    case syntax::BinaryOp::Ne:
      return ir::CompareKind::Ne;
    case syntax::BinaryOp::Lt:
      return ir::CompareKind::Lt;
    case syntax::BinaryOp::Le:
      return ir::CompareKind::Le;
    case syntax::BinaryOp::Gt:
      return ir::CompareKind::Gt;
    case syntax::BinaryOp::Ge:
      return ir::CompareKind::Ge;
    default:
      KDL_UNREACHABLE("a `where` that is not a comparison");
  }
}

/// Returns whether a size is known to be nonnegative, so that a launch need not compare it with 0. This is
/// known if the size cannot be negative, or if it is a dimension of a tensor.
bool IsSurelySize(const ir::Function& function, Size size) {
  if (!ir::MayBeNegative(function, size)) return true;
  return std::ranges::any_of(function.params, [&](const ir::Param& param) {
    return param.value->type()->kind == ir::TypeKind::Tensor &&
           Contains(param.value->type()->dims, size);
  });
}

/// Converts a number to an i64. A u64 that does not fit becomes the largest i64, which is also too large for
/// any size.
Value* AsSize(FunctionGen& gen, Value* number) {
  ir::Builder& b = gen.builder;
  if (number->type()->scalar == Scalar::U64) number = b.Min(number, b.Int(Scalar::U64, INT64_MAX));
  return b.Cast(number, Scalar::I64);
}

}  // namespace

void Require(FunctionGen& gen, Size left, ir::CompareKind compare, Size right, Name text) {
  gen.builder.Create(
      OpKind::Require, {}, {},
      {ir::MakeAttr<AttrKey::Left>(gen.Bound(left)), ir::MakeAttr<AttrKey::Compare>(compare),
       ir::MakeAttr<AttrKey::Right>(gen.Bound(right)), ir::MakeAttr<AttrKey::Text>(text)});
}

void RequireSizes(FunctionGen& gen, Size left, ir::CompareKind compare, Size right,
                  const std::string& text) {
  ir::Region* here = gen.builder.region();
  ir::Op* before = gen.builder.before();
  if (gen.function.kind == ir::FunctionKind::Kernel) InsertAtRequirements(gen);
  gen.builder.Create(
      ir::OpKind::Require, {}, {},
      {ir::MakeAttr<ir::AttrKey::Left>(gen.Bound(left)),
       ir::MakeAttr<ir::AttrKey::Compare>(compare),
       ir::MakeAttr<ir::AttrKey::Right>(gen.Bound(right)),
       ir::MakeAttr<ir::AttrKey::Text>(gen.builder.module().context().names.Intern(text))});
  gen.builder.SetInsertionPoint(here, before);
}

void InsertAtRequirements(FunctionGen& gen) {
  for (ir::Op* op : *gen.function.body) {
    if (op->kind() != ir::OpKind::Require) return gen.builder.SetInsertionPoint(op);
  }
  gen.builder.SetInsertionPoint(gen.function.body);
}

void GenRequirements(FunctionGen& gen) {
  for (const sema::WhereInfo& where : gen.checked.where) {
    if (!where.defined.empty() && IsSurelySize(gen.function, where.lhs)) continue;
    LocScope loc(gen, where.expr->span);
    Name text = gen.QuotedSource(where.expr->span);
    if (!where.defined.empty())
      text = gen.module.context().names.Intern(
          fmt::format("0 <= {} where {}", where.defined.text(), text.text()));
    Require(gen, where.lhs, CompareOf(where.op), where.rhs, text);
  }
}

Name FreshSizeName(FunctionGen& gen, Name wanted) {
  auto taken = [&](Name name) {
    const auto& generics = gen.function.generics;
    return gen.function.FindDim(name) != nullptr ||
           std::any_of(generics.begin(), generics.end(),
                       [&](const ir::Generic& generic) { return generic.name == name; });
  };
  Name name = wanted;
  for (int n = 1; taken(name); ++n)
    name = gen.module.context().names.Intern(fmt::format("{}_{}", wanted.text(), n));
  return name;
}

void GenSizeName(FunctionGen& gen, const sema::Entity* number) {
  if (!gen.checked.sizes.contains(number)) return;
  ir::Builder& b = gen.builder;
  Name name = FreshSizeName(gen, number->name);
  b.Make(OpKind::BindSize, {AsSize(gen, gen.values.at(number))}, b.I64Type(),
         {ir::MakeAttr<AttrKey::Name>(name)})
      ->set_name(name);
  gen.sizes[number->name] = b.types().sizes().Symbol(name);
}

}  // namespace kdl::irgen
