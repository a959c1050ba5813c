#include "irgen/contracts/tables.h"

#include <algorithm>
#include <span>

#include "ir/op_kind.h"
#include "irgen/accesses/elements.h"
#include "irgen/contracts/parts.h"
#include "irgen/walk/carried.h"
#include "irgen/walk/generate.h"

namespace kdl::irgen {

namespace {

using ir::OpKind;
using ir::Value;
using Values = std::vector<Value*>;

void GenForAllOf(FunctionGen& gen, std::span<const sema::Entity* const> names,
                 const std::function<void()>& body) {
  if (names.empty()) return body();
  GenLoopOver(gen, names[0], false, {}, [&](Value*, const Values&) {
    GenForAllOf(gen, names.subspan(1), body);
    return Values();
  });
}

}  // namespace

Size NameExtent(const FunctionGen& gen, const sema::Entity* name) {
  return gen.tiles ? gen.tiles->extents.at(name) : gen.Bound(name->range.domain);
}

Size CombinationCount(const FunctionGen& gen, const IndexNames& names) {
  SizeTable& sizes = gen.module.types().sizes();
  Size count = sizes.Constant(1);
  for (const sema::Entity* name : names)
    count = sizes.Binary(SizeKind::Mul, count, NameExtent(gen, name));
  return count;
}

Kept AddTables(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               Knows knows, ir::ContractInput input) {
  ir::TypeTable& table = gen.builder.types();
  Names& texts = gen.module.context().names;
  std::vector<Size> dims;
  for (const sema::Entity* name : names) dims.push_back(NameExtent(gen, name));
  if (dims.empty()) dims.push_back(table.sizes().Constant(1));
  Kept kept{names, nullptr, {}};
  ir::ContractParam param{input};
  if (knows == Knows::Yes)
    kept.known =
        AddContractParam(gen, table.Tensor(Scalar::Bool, dims), texts.Intern("known"), param);
  for (Scalar type : types)
    kept.tables.push_back(
        AddContractParam(gen, table.Tensor(type, dims), texts.Intern("kept"), param));
  return kept;
}

sema::IndexInfo KeptIndex(const FunctionGen& gen, const Kept& kept) {
  SizeTable& sizes = gen.module.types().sizes();
  sema::IndexInfo place;
  for (const sema::Entity* name : kept.names)
    place.dims.push_back({{{sizes.Constant(1), name, nullptr}}, sizes.Constant(0), {}});
  if (kept.names.empty()) place.dims.push_back({{}, sizes.Constant(0), {}});
  return place;
}

Values LoadKept(FunctionGen& gen, const Kept& kept) {
  Values values;
  for (Value* table : kept.tables)
    values.push_back(GenElement(gen, table, KeptIndex(gen, kept), nullptr, {}));
  return values;
}

void StoreKept(FunctionGen& gen, const Kept& kept, const Values& values) {
  sema::IndexInfo place = KeptIndex(gen, kept);
  for (size_t i = 0; i < values.size(); ++i) GenElementStore(gen, values[i], kept.tables[i], place);
  if (kept.known) GenElementStore(gen, gen.builder.Bool(true), kept.known, place);
}

Values GenLoopOver(FunctionGen& gen, const sema::Entity* name, bool is_sum, const Values& carried,
                   const GenIterationOf& body) {
  ir::Builder& b = gen.builder;
  std::vector<ir::Attr> attrs;
  if (is_sum) attrs.push_back(ir::MakeAttr<ir::AttrKey::Reduction>(ir::ReductionKind::Sum));
  Value* first = b.I64(0);
  Value* end = GenSize(gen, NameExtent(gen, name));
  Value* step = b.I64(1);
  ir::Op* op = b.Create(OpKind::Loop, {{first}, {end}, {step}, carried}, ValueTypes(carried),
                        std::move(attrs));
  Value* index = b.AddParam(op->region(), b.I64Type(), name->name);
  Values params;
  for (const Value* value : carried)
    params.push_back(b.AddParam(op->region(), value->type(), Name()));
  b.SetInsertionPoint(op->region());
  auto around = gen.values.find(name);
  Value* before = around == gen.values.end() ? nullptr : around->second;
  gen.values[name] = index;
  Values next = body(index, params);
  b.Create(OpKind::Yield, {next}, {});
  if (before) gen.values[name] = before;
  b.SetInsertionPoint(op->parent_region());
  return op->results();
}

void GenForAll(FunctionGen& gen, const IndexNames& names, const std::function<void()>& body) {
  GenForAllOf(gen, names, body);
}

/// If the table would be too large, it has no elements when the code runs. Lookups find nothing in it, so the
/// values are computed on every use, and stores have no effect.
Values GenOnce(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               const GenValues& make) {
  ir::Builder& b = gen.builder;
  Kept kept = AddTables(gen, names, types, Knows::Yes, ir::ContractInput::KeptSmall);
  Value* known = GenElement(gen, kept.known, KeptIndex(gen, kept), b.Bool(false), {});
  auto make_and_keep = [&] {
    Values made = make();
    Value* count = GenSize(gen, CombinationCount(gen, names));
    Value* fits = b.Le(count, b.I64(ir::kMostKept));
    auto store = [&] {
      StoreKept(gen, kept, made);
      return Values();
    };
    GenChoice(gen, fits, {}, store, [] { return Values(); });
    return made;
  };
  return GenChoice(gen, known, types, [&] { return LoadKept(gen, kept); }, make_and_keep);
}

Values GenFilledOnce(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
                     const std::function<void(const Kept&)>& fill) {
  Kept kept = AddTables(gen, names, types, Knows::Yes);
  Value* known = GenElement(gen, kept.known, KeptIndex(gen, kept), nullptr, {});
  auto fill_and_load = [&] {
    fill(kept);
    return LoadKept(gen, kept);
  };
  return GenChoice(gen, known, types, [&] { return LoadKept(gen, kept); }, fill_and_load);
}

AroundScope::AroundScope(FunctionGen& gen, const IndexNames& names)
    : gen_(gen), before_(gen.contract->around) {
  IndexNames& around = gen.contract->around;
  for (const sema::Entity* name : names) {
    if (std::ranges::find(around, name) == around.end()) around.push_back(name);
  }
}

IndexNames InOrder(IndexNames names) {
  std::ranges::sort(names, {}, [](const sema::Entity* name) { return name->number; });
  return names;
}

}  // namespace kdl::irgen
