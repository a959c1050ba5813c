#include "passes/ranks/rank_ops.h"

#include <fmt/format.h>

#include "ir/op_kind.h"

namespace kdl::passes {

RankValues RankOps::Ranks(ir::Builder& b) const {
  ir::Type number = b.I64Type();
  Op* ranks = b.Create(OpKind::Ranks, {}, {number, number, number}, {OnDevice()});
  return {ranks->result(0), ranks->result(1), ranks->result(2)};
}

Value* RankOps::SizeValue(ir::Builder& b, Size size) {
  if (IsConstant(size)) return b.I64(size->value);
  return b.Make(OpKind::SizeOf, {}, b.I64Type(), {ir::MakeAttr<AttrKey::Size>(size)});
}

PartValues RankOps::Owned(ir::Builder& b, Size size, Value* rank) const {
  Value* whole = SizeValue(b, size);
  Op* owned = b.Create(OpKind::Owned, {{whole}, {rank}}, {b.I64Type(), b.I64Type()}, {OnDevice()});
  return {owned->result(0), owned->result(1)};
}

Value* RankOps::Memory(ir::Builder& b, Value* tensor, Value* rank) const {
  Value* memory = b.Make(OpKind::RankMemory, {tensor, rank}, tensor->type());
  memory->set_name(tensor->name());
  return memory;
}

Value* RankOps::Slice(ir::Builder& b, Value* tensor, size_t dimension, const PartValues& part) {
  std::vector<Size> dims = tensor->type()->dims;
  Name size = module_.context().names.Intern(fmt::format("part_{}", ++slices_));
  b.Make(OpKind::BindSize, {b.Sub(part.end, part.first)}, b.I64Type(),
         {ir::MakeAttr<AttrKey::Name>(size)});
  dims[dimension] = b.types().sizes().Symbol(size);
  return b
      .Create(OpKind::Slice, {{tensor}, {part.first}, {part.end}},
              {b.types().Tensor(tensor->type()->scalar, std::move(dims))},
              {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(dimension)),
               ir::MakeAttr<AttrKey::Text>(tensor->name())})
      ->result();
}

ir::Attr RankOps::DimensionAttr(const Value* tensor) const {
  return ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(tensors_.dimensions.at(tensor)));
}

void RankOps::Fetch(ir::Builder& b, Value* tensor, Value* rank, const PartValues& part,
                    std::string_view cause) const {
  b.Create(OpKind::Fetch, {{tensor}, {rank}, {part.first}, {part.end}, {}}, {},
           {ir::MakeAttr<AttrKey::Cause>(module_.context().names.Intern(cause)), OnDevice(),
            DimensionAttr(tensor)});
}

void RankOps::FinishFetches(ir::Builder& b) const {
  b.Create(OpKind::FinishFetches, {}, {}, {OnDevice()});
}

void RankOps::Rewritten(ir::Builder& b, Value* tensor) const {
  b.Create(OpKind::Rewritten, {{tensor}, {}}, {}, {OnDevice(), DimensionAttr(tensor)});
}

}  // namespace kdl::passes
