#include "passes/ranks/rank_ops.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "ir/op_kind.h"
#include "passes/rewriting/structured.h"

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

PartValues RankOps::Owned(ir::Builder& b, Size size, Value* rank, int64_t axis) const {
  Value* whole = SizeValue(b, size);
  Op* owned = b.Create(OpKind::Owned, {{whole}, {rank}}, {b.I64Type(), b.I64Type()},
                       {OnDevice(), ir::MakeAttr<AttrKey::RankAxis>(axis)});
  return {owned->result(0), owned->result(1)};
}

void RankOps::ForEachOwned(ir::Builder& b, const Value* tensor, Value* rank,
                           const std::function<void(const BoxValues&)>& body) const {
  ForEachOwned(b, tensor->type()->dims, *tensors_.FindDistribution(tensor), rank, body);
}

void RankOps::ForEachOwned(ir::Builder& b, const std::vector<Size>& sizes,
                           const ir::RankDistribution& dims, Value* rank,
                           const std::function<void(const BoxValues&)>& body) const {
  BoxValues box;
  AddOwned(b, sizes, dims, rank, box, body);
}

/// Adds the dimensions after those of `box`.
void RankOps::AddOwned(ir::Builder& b, const std::vector<Size>& sizes,
                       const ir::RankDistribution& dims, Value* rank, BoxValues& box,
                       const std::function<void(const BoxValues&)>& body) const {
  size_t d = box.size();
  if (d == dims.size()) return MakeIf(b, HasAny(b, box), [&] { body(box); });
  auto add = [&](const PartValues& part) {
    box.push_back(part);
    AddOwned(b, sizes, dims, rank, box, body);
    box.pop_back();
  };
  if (!dims[d].is_distributed()) return add({b.I64(0), SizeValue(b, sizes[d])});
  if (dims[d].block == 0) return add(Owned(b, sizes[d], rank, dims[d].axis));
  Value* whole = SizeValue(b, sizes[d]);
  std::vector<ir::Attr> attrs = {OnDevice(), ir::MakeAttr<AttrKey::RankAxis>(dims[d].axis),
                                 ir::MakeAttr<AttrKey::RankBlock>(dims[d].block)};
  Op* count = b.Create(OpKind::OwnedBlocks, {{whole}, {rank}}, {b.I64Type()}, attrs);
  MakeLoop(b, {b.I64(0), count->result()}, [&](Value* number) {
    Op* block = b.Create(OpKind::OwnedBlock, {{whole}, {rank}, {number}},
                         {b.I64Type(), b.I64Type()}, attrs);
    add({block->result(0), block->result(1)});
  });
}

BoxValues RankOps::WholeBox(ir::Builder& b, const Value* tensor) {
  BoxValues box;
  for (Size size : tensor->type()->dims) box.push_back({b.I64(0), SizeValue(b, size)});
  return box;
}

Value* RankOps::HasAny(ir::Builder& b, const std::vector<PartValues>& parts) {
  Value* any = nullptr;
  for (const PartValues& part : parts) {
    Value* has = b.Lt(part.first, part.end);
    any = any ? b.And(any, has) : has;
  }
  return any;
}

Value* RankOps::Memory(ir::Builder& b, Value* tensor, Value* rank) const {
  Value* memory = b.Make(OpKind::RankMemory, {tensor, rank}, tensor->type());
  memory->set_name(tensor->name());
  return memory;
}

std::vector<Value*> RankOps::Slices(ir::Builder& b, std::vector<Value*> tensors,
                                    const BoxValues& box, const Value* like) {
  std::vector<Name> names;
  for (const Value* tensor : tensors) names.push_back(tensor->name());
  const ir::RankDistribution& dims = *tensors_.FindDistribution(like);
  for (size_t d = 0; d < box.size(); ++d) {
    if (dims[d].axis < 0) continue;
    Size size = PartSize(b, box[d]);
    for (size_t i = 0; i < tensors.size(); ++i)
      tensors[i] = SliceDimension(b, tensors[i], d, box[d], size, names[i]);
  }
  return tensors;
}

namespace {

/// Returns the names of all sizes of the program that contains the region.
std::set<Name> SizeNamesAround(const ir::Region* region) {
  while (region->parent()) region = region->parent()->parent_region();
  const ir::Function& program = *region->function();
  std::set<Name> names(program.dims.begin(), program.dims.end());
  ir::Walk(program.body, [&](const Op* op) {
    if (op->kind() == OpKind::BindSize) names.insert(op->attr<AttrKey::Name>());
  });
  return names;
}

}  // namespace

Size RankOps::PartSize(ir::Builder& b, const PartValues& part) {
  if (size_names_.empty()) size_names_ = SizeNamesAround(b.region());
  Name size;
  do size = module_.context().names.Intern(fmt::format("part_{}", ++slices_));
  while (!size_names_.insert(size).second);
  b.Make(OpKind::BindSize, {b.Sub(part.end, part.first)}, b.I64Type(),
         {ir::MakeAttr<AttrKey::Name>(size)});
  return b.types().sizes().Symbol(size);
}

Value* RankOps::SliceDimension(ir::Builder& b, Value* tensor, size_t dimension,
                               const PartValues& part, Size size, Name name) {
  std::vector<Size> dims = tensor->type()->dims;
  dims[dimension] = size;
  return b
      .Create(OpKind::Slice, {{tensor}, {part.first}, {part.end}},
              {b.types().Tensor(tensor->type()->scalar, std::move(dims))},
              {ir::MakeAttr<AttrKey::Dimension>(static_cast<int64_t>(dimension)),
               ir::MakeAttr<AttrKey::Text>(name)})
      ->result();
}

void RankOps::Fetch(ir::Builder& b, Value* tensor, Value* rank, const BoxValues& box,
                    std::string_view cause) const {
  std::vector<Value*> first;
  std::vector<Value*> end;
  for (const PartValues& part : box) {
    first.push_back(part.first);
    end.push_back(part.end);
  }
  b.Create(OpKind::Fetch, {{tensor}, {rank}, std::move(first), std::move(end), {}}, {},
           {ir::MakeAttr<AttrKey::Cause>(module_.context().names.Intern(cause)), OnDevice()});
}

void RankOps::FinishFetches(ir::Builder& b) const {
  b.Create(OpKind::FinishFetches, {}, {}, {OnDevice()});
}

void RankOps::Rewritten(ir::Builder& b, Value* tensor) const {
  b.Create(OpKind::Rewritten, {{tensor}, {}}, {}, {OnDevice()});
}

}  // namespace kdl::passes
