#include "irgen/programs/programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>

#include "ir/op_kind.h"
#include "irgen/accesses/slices.h"
#include "irgen/contracts/contracts.h"
#include "irgen/programs/devices.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::Value;

/// Appends a constant of a launch to the list `before`, and returns text like `BM = 64, BN = 32`.
template <class Value>
std::string WithConstant(const std::string& before, std::string_view name, const Value& value) {
  return fmt::format("{}{}{} = {}", before, before.empty() ? "" : ", ", name, value);
}

/// A constant of a kernel that is known only at run time. There is a separate launch for each candidate
/// value.
struct Selection {
  std::string_view kernel;
  std::string_view name;
  std::vector<int64_t> candidates;
  Size size;
  Value* value;
};

/// Returns whether the constant is a dimension of a parameter. If so, the launch itself compares it with the
/// argument.
bool IsDimension(const sema::CheckedFunction& kernel, const sema::Entity* generic) {
  auto is_bare = [&](Size dim) {
    return dim->kind == SizeKind::Symbol && dim->symbol == generic->name;
  };
  return std::ranges::any_of(kernel.params, [&](const sema::ParamInfo& param) {
    return std::ranges::any_of(param.entity->type.dims, is_bare);
  });
}

/// Requires that the run-time value is the last candidate. The code must already have excluded all other
/// candidates.
void RequireLast(FunctionGen& gen, const Selection& selection) {
  ir::Builder& b = gen.builder;
  std::string text = fmt::format("{} of {} is {}", selection.name, selection.kernel,
                                 fmt::join(selection.candidates, " or "));
  Size last = b.types().sizes().Constant(selection.candidates.back());
  b.Create(ir::OpKind::Require, {}, {},
           {ir::MakeAttr<AttrKey::Left>(selection.size),
            ir::MakeAttr<AttrKey::Compare>(ir::CompareKind::Eq), ir::MakeAttr<AttrKey::Right>(last),
            ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(text))});
}

/// The constants of a launch. `known` lists those with known values; `selections` are those that are selected
/// at run time.
struct LaunchConstants {
  std::string known;
  std::vector<Selection> selections;
};

using ValuesOfName = std::function<std::vector<int64_t>(Name)>;

/// Returns all values that a size may have, without duplicates. `of_name` returns the values that a size name
/// may have. The result is empty if the size may have any value.
std::vector<int64_t> ValuesOf(FunctionGen& gen, Size size, const ValuesOfName& of_name) {
  if (IsConstant(size)) return {size->value};
  if (size->kind == SizeKind::Symbol) return of_name(size->symbol);
  std::vector<int64_t> values;
  SizeTable& sizes = gen.module.types().sizes();
  for (int64_t lhs : ValuesOf(gen, size->lhs, of_name)) {
    for (int64_t rhs : ValuesOf(gen, size->rhs, of_name)) {
      Size value = sizes.Binary(size->kind, sizes.Constant(lhs), sizes.Constant(rhs));
      bool is_new = IsConstant(value) && std::ranges::find(values, value->value) == values.end();
      if (is_new) values.push_back(value->value);
    }
  }
  return values;
}

/// Returns the values that a size may have, given the possible values of the integer parameters in it. They
/// are parameters of this program or of the program into which it is inlined. The result is empty if the size
/// may have any value.
std::vector<int64_t> HandedOn(FunctionGen& gen, Size size) {
  auto of_own = [&](Name name) -> std::vector<int64_t> {
    for (const sema::IntGenericInfo& generic : gen.checked.generics) {
      if (generic.entity->name == name) return generic.Candidates();
    }
    return {};
  };
  auto of_whole = [&](Name name) -> std::vector<int64_t> {
    for (const ir::Generic& generic : gen.function.generics) {
      bool is_given = generic.values.size() > 1 || generic.choices.empty();
      if (generic.name == name) return is_given ? generic.values : generic.choices;
    }
    return {};
  };
  std::vector<int64_t> values = ValuesOf(gen, size, of_own);
  return values.empty() ? ValuesOf(gen, gen.Bound(size), of_whole) : values;
}

LaunchConstants GenConstants(FunctionGen& gen, const sema::LaunchInfo& launch) {
  LaunchConstants constants;
  for (const sema::IntGenericInfo& generic : launch.kernel->generics) {
    auto given = std::ranges::find(launch.generics, generic.entity, &sema::GenericBinding::generic);
    if (given == launch.generics.end() || given->value == nullptr) continue;
    std::string_view name = generic.entity->name.text();
    Size value = gen.Bound(given->value);
    if (IsConstant(value)) {
      constants.known = WithConstant(constants.known, name, value->value);
      continue;
    }
    std::vector<int64_t> candidates = HandedOn(gen, given->value);
    bool is_handed_on = !candidates.empty();
    if (!is_handed_on) candidates = generic.Candidates();
    bool is_checked =
        !is_handed_on && candidates.size() == 1 && IsDimension(*launch.kernel, generic.entity);
    if (is_checked) continue;
    if (candidates
            .empty()) {  // the value depends on a parameter of the program that has no value yet
      constants.known = WithConstant(constants.known, name, ToString(value));
      continue;
    }
    constants.selections.push_back(
        {launch.kernel->entity->name.text(), name, candidates, value, GenSize(gen, value)});
  }
  return constants;
}

/// Generates `if v == 4 { … } else { … }` for the first selection, starting with candidate number `first`.
/// `gen_launch` generates the launch for one combination of candidates.
void GenSelected(FunctionGen& gen, std::span<const Selection> selections, size_t first,
                 const std::string& constants,
                 const std::function<void(const std::string&)>& gen_launch) {
  if (selections.empty()) return gen_launch(constants);
  const Selection& selection = selections[0];
  auto gen_this = [&] {
    GenSelected(gen, selections.subspan(1), 0,
                WithConstant(constants, selection.name, selection.candidates[first]), gen_launch);
  };
  if (first + 1 == selection.candidates.size()) {
    RequireLast(gen, selection);
    return gen_this();
  }
  ir::Builder& b = gen.builder;
  Value* is_this = b.Eq(selection.value, b.I64(selection.candidates[first]));
  ir::Op* choice = b.Create(ir::OpKind::If, {{is_this}}, {});
  for (size_t r = 0; r < 2; ++r) {
    b.SetInsertionPoint(choice->region(r));
    if (r == 0) gen_this();
    if (r == 1) GenSelected(gen, selections, first + 1, constants, gen_launch);
    b.Create(ir::OpKind::Yield, {{}}, {});
  }
  b.SetInsertionPoint(choice->parent_region());
}

/// Returns the value of a launch's argument: the tensor itself, or a view of it in which dimensions are merged to packs, or
/// a scalar, whose type is already that of the parameter.
Value* GenArgument(FunctionGen& gen, const sema::LaunchInfo& launch, size_t number) {
  const syntax::Expr* arg = launch.args[number];
  const sema::ExprInfo& info = gen.Info(arg);
  if (!launch.merged.empty() && !launch.merged[number].empty())
    return GenMerged(gen, arg, launch.merged[number], launch.kernel->params[number].entity->name);
  if (!info.type.is_tensor()) return GenRounded(gen, arg);
  if (info.entity->is_absent) GenLocalTensor(gen, info.entity, arg->span);
  return GenTensor(gen, arg);
}

/// Requires that all arguments have the same dimensions for a pack. The launch itself only compares the products.
void RequirePacks(FunctionGen& gen, const sema::LaunchInfo& launch) {
  auto is_merged = [](const std::vector<Size>& dims) { return !dims.empty(); };
  if (std::ranges::none_of(launch.merged, is_merged)) return;
  for (const sema::DimCheck& check : launch.checks) {
    LocScope loc(gen, launch.args[check.param]->span);
    RequireSizes(gen, check.formal, ir::CompareKind::Eq, check.actual,
                 fmt::format("{} == {}", ToString(check.formal), ToString(check.actual)));
  }
}

Value* GenZero(FunctionGen& gen, Scalar scalar) {
  return IsFloat(scalar) ? gen.builder.Bits(scalar, 0) : gen.builder.Int(scalar, 0);
}

/// Returns the index of one element as a list of i64 values.
std::vector<Value*> GenIndices(FunctionGen& gen, const sema::IndexInfo& index) {
  std::vector<Value*> indices;
  for (const sema::IndexDim& dim : index.dims) indices.push_back(GenIndexSum(gen, dim));
  return indices;
}

/// Returns a bool value that tells whether all indices are in bounds.
Value* AreInside(FunctionGen& gen, const sema::IndexInfo& index,
                 const std::vector<Value*>& indices) {
  ir::Builder& b = gen.builder;
  Value* inside = nullptr;
  for (size_t d = 0; d < indices.size(); ++d) {
    Value* from = b.Ge(indices[d], b.I64(0));
    Value* below = b.Lt(indices[d], GenSize(gen, index.base->type.dims[d]));
    Value* both = b.And(from, below);
    inside = inside ? b.And(inside, both) : both;
  }
  return inside;
}

/// Generates a choice between two values. Only the chosen value is evaluated.
Value* Choose(FunctionGen& gen, ir::Type type, Value* condition,
              const std::function<Value*()>& where_true,
              const std::function<Value*()>& where_false) {
  ir::Op* choice = gen.builder.Create(ir::OpKind::If, {{condition}}, {type});
  for (size_t r = 0; r < 2; ++r) {
    gen.builder.SetInsertionPoint(choice->region(r));
    Value* value = r == 0 ? where_true() : where_false();
    gen.builder.Create(ir::OpKind::Yield, {{value}}, {});
  }
  gen.builder.SetInsertionPoint(choice->parent_region());
  return choice->result();
}

}  // namespace

/// Generates the load of an element. The element is read only if the conditions of the enclosing `if`
/// expressions are true.
Value* GenHostLoad(FunctionGen& gen, const syntax::IndexExpr& expr) {
  const sema::IndexInfo& index = *gen.Info(&expr).index;
  Value* tensor = gen.values.at(index.base);
  ir::Type type = gen.builder.types().ScalarOf(tensor->type()->scalar);
  auto load = [&](const std::vector<Value*>& indices) {
    return gen.builder
        .Create(ir::OpKind::HostLoad, {{tensor}, indices, {}}, {type},
                {ir::MakeAttr<AttrKey::Text>(gen.QuotedSource(expr.span))})
        ->result();
  };
  auto load_or_else = [&] {
    std::vector<Value*> indices = GenIndices(gen, index);
    if (!index.otherwise) return load(indices);
    return Choose(
        gen, type, AreInside(gen, index, indices), [&] { return load(indices); },
        [&] { return Round(gen, GenExpr(gen, index.otherwise), type->scalar); });
  };
  Value* mask = gen.Mask();
  if (!mask) return load_or_else();
  return Choose(gen, type, mask, load_or_else, [&] { return GenZero(gen, type->scalar); });
}

void GenHostStore(FunctionGen& gen, const syntax::IndexExpr& target, Value* value) {
  const sema::IndexInfo& index = *gen.Info(&target).index;
  Value* tensor = gen.values.at(index.base);
  Value* stored = Round(gen, value, tensor->type()->scalar);
  gen.builder.Create(ir::OpKind::HostStore, {{stored}, {tensor}, GenIndices(gen, index), {}}, {},
                     {ir::MakeAttr<AttrKey::Text>(gen.QuotedSource(target.span))});
}

Value* GenDeviceCores(FunctionGen& gen, const sema::Entity* device) {
  return gen.builder.Make(ir::OpKind::DeviceCores, {}, gen.builder.I64Type(),
                          {ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, device))});
}

void GenMoves(FunctionGen& gen, const sema::LaunchInfo& launch) {
  for (size_t i = 0; i < launch.moves.size(); ++i) {
    if (launch.moves[i] == nullptr) continue;
    LocScope loc(gen, launch.args[i]->span);
    Value* memory = gen.values.at(sema::ShownTensor(gen.Info(launch.args[i]).entity));
    GenMoveTo(gen, memory, launch.moves[i], "the source says so");
  }
}

void GenLives(FunctionGen& gen, const sema::Entity* param) {
  LocScope loc(gen, param->span);
  gen.builder.Create(ir::OpKind::Lives, {{gen.values.at(param)}}, {},
                     {ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, param->on))});
}

void GenDistributedParam(FunctionGen& gen, const sema::ParamInfo& param) {
  LocScope loc(gen, param.entity->span);
  Value* callers = gen.values.at(param.entity);
  GenLocalTensor(gen, param.entity, param.entity->span);
  if (param.direction == syntax::Direction::Out) return;
  gen.builder.Create(ir::OpKind::Copy, {{callers}, {gen.values.at(param.entity)}, {}},
                     {gen.builder.types().Event()},
                     {ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, param.entity->on)),
                      ir::MakeAttr<AttrKey::Queue>(0)});
}

void GenCopyToCaller(FunctionGen& gen, const sema::ParamInfo& param) {
  if (param.direction == syntax::Direction::In) return;
  LocScope loc(gen, param.entity->span);
  Value* callers = gen.function.params[param.entity->param].value;
  Name cause = gen.module.context().names.Intern("the caller has it");
  gen.builder.Create(ir::OpKind::CopyBack, {{gen.values.at(param.entity)}, {callers}, {}},
                     {gen.builder.types().Event()},
                     {ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, param.entity->on)),
                      ir::MakeAttr<AttrKey::Queue>(0), ir::MakeAttr<AttrKey::Cause>(cause)});
}

void GenMoveTo(FunctionGen& gen, Value* tensor, const sema::Entity* device,
               std::string_view cause) {
  gen.builder.Create(
      ir::OpKind::Relocate, {{tensor}, {}}, {gen.builder.types().Event()},
      {ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, device)), ir::MakeAttr<AttrKey::Queue>(0),
       ir::MakeAttr<AttrKey::Cause>(gen.module.context().names.Intern(cause))});
}

void GenLaunch(FunctionGen& gen, const syntax::LaunchStmt& statement) {
  const sema::LaunchInfo& launch = *gen.checked.Info(&statement).launch;
  GenMoves(gen, launch);
  Names& names = gen.module.context().names;
  std::vector<Value*> cores;
  if (launch.core_num) cores.push_back(GenIndex(gen, launch.core_num));
  std::vector<Value*> args;
  RequirePacks(gen, launch);
  for (size_t i = 0; i < launch.args.size(); ++i) args.push_back(GenArgument(gen, launch, i));
  int64_t queue = 0;
  if (!launch.queues.empty())
    queue = static_cast<int64_t>(gen.Info(launch.queues[0]).constant->bits);
  LaunchConstants all = GenConstants(gen, launch);
  for (const sema::OptionalInfo& optional : launch.kernel->optionals)
    all.known = WithConstant(all.known, optional.name.text(), optional.is_present ? 1 : 0);
  GenSelected(gen, all.selections, 0, all.known, [&](const std::string& constants) {
    std::vector<ir::Attr> attrs = {
        ir::MakeAttr<AttrKey::Callee>(names.Intern(launch.kernel->InstanceName())),
        ir::MakeAttr<AttrKey::Device>(DeviceNameOf(gen, launch.device)),
        ir::MakeAttr<AttrKey::Queue>(queue),
    };
    if (!constants.empty())
      attrs.push_back(ir::MakeAttr<AttrKey::Constants>(names.Intern(constants)));
    gen.builder.Create(ir::OpKind::Launch, {cores, {}, args, {}}, {gen.builder.types().Event()},
                       std::move(attrs));
  });
}

void GenFuse(FunctionGen& gen, const syntax::BlockStmt& fuse) {
  int64_t number = 1;
  ir::Walk(gen.function.body, [&](const ir::Op* op) {
    if (op->HasAttr(AttrKey::Fuse)) number = std::max(number, op->attr<AttrKey::Fuse>() + 1);
  });
  ir::Region* region = gen.builder.region();
  ir::Op* next = gen.builder.before();
  ir::Op* last = next ? next->prev() : region->last();
  GenStmts(gen, fuse.stmts);
  auto mark = [&](ir::Op* op) {
    if (op->kind() == ir::OpKind::Launch) op->SetAttr(ir::MakeAttr<AttrKey::Fuse>(number));
  };
  for (ir::Op* op = last ? last->next() : region->first(); op != next; op = op->next()) {
    for (ir::Region* nested : op->regions()) ir::Walk(nested, mark);
    mark(op);
  }
}

void GenRandom(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* seed) {
  Value* number = GenIndex(gen, seed);
  gen.builder.Create(ir::OpKind::Draw, {{gen.values.at(tensor)}, {number}, {}}, {});
}

void GenElements(FunctionGen& gen, const sema::Entity* tensor, Span span) {
  LocScope loc(gen, span);
  ir::Builder& b = gen.builder;
  std::vector<int64_t> index(tensor->type.dims.size());
  Name text = gen.QuotedSource(span);
  for (uint64_t bits : tensor->elements) {
    std::vector<Value*> indices;
    for (int64_t i : index) indices.push_back(b.I64(i));
    b.Create(ir::OpKind::HostStore,
             {{b.Bits(tensor->type.scalar, bits)}, {gen.values.at(tensor)}, indices, {}}, {},
             {ir::MakeAttr<ir::AttrKey::Text>(text)});
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < tensor->type.dims[d]->value) break;
      index[d] = 0;
    }
  }
}

void GenFill(FunctionGen& gen, const sema::Entity* tensor, const syntax::Expr* value) {
  LocScope loc(gen, value->span);
  Value* element = Round(gen, GenExpr(gen, value), tensor->type.scalar);
  gen.builder.Create(ir::OpKind::Fill, {{gen.values.at(tensor)}, {element}, {}},
                     {gen.builder.types().Event()},
                     {ir::MakeAttr<AttrKey::Device>(Name()), ir::MakeAttr<AttrKey::Queue>(0)});
}

void GenExpect(FunctionGen& gen, const syntax::Stmt& statement) {
  std::vector<Value*> arguments;
  std::unordered_map<const sema::Entity*, uint32_t> numbers;
  auto argument = [&](const sema::Entity* entity) {
    auto [known, is_new] = numbers.try_emplace(entity, static_cast<uint32_t>(arguments.size()));
    if (is_new) arguments.push_back(gen.values.at(entity));
    return known->second;
  };
  auto number = static_cast<int64_t>(gen.contracts->list.size());
  gen.contracts->list.push_back(
      GenerateExpectation(gen.checked, *gen.checked.Info(&statement).expect, gen.sources, gen.sizes,
                          argument, *gen.contracts->module));
  gen.builder.Create(ir::OpKind::Expect, {arguments, {}}, {},
                     {ir::MakeAttr<AttrKey::Contract>(number)});
}

namespace {

/// Returns whether a size expression may be negative or may divide by zero.
bool MayBeNoSize(Size size) {
  if (!size->lhs) return false;
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  return size->kind == SizeKind::Sub || (divides && !IsConstant(size->rhs)) ||
         MayBeNoSize(size->lhs) || MayBeNoSize(size->rhs);
}

/// Returns whether a size depends on the number of cores, which is determined late in a launch.
bool MentionsCores(Size size) {
  if (size->kind == SizeKind::Symbol) return size->symbol.text() == ir::kCoreNum;
  return size->lhs && (MentionsCores(size->lhs) || MentionsCores(size->rhs));
}

/// Requires that no dimension of a tensor that the launch allocates is negative or undefined. Otherwise the
/// launch is rejected.
void RequireNatural(FunctionGen& gen, ir::Type tensor) {
  for (Size dim : tensor->dims) {
    if (!MayBeNoSize(dim) || MentionsCores(dim)) continue;
    RequireSizes(gen, dim, ir::CompareKind::Ge, gen.builder.types().sizes().Constant(0),
                 fmt::format("{} >= 0", ToString(dim)));
  }
}

/// Adds the attributes that say how a tensor is distributed over ranks.
void AddDistribution(const sema::Distribution& distribution, std::vector<ir::Attr>& attrs) {
  if (distribution.empty()) return;
  ir::NumberList axes;
  ir::NumberList blocks;
  for (const sema::DistributedDim& dim : distribution) {
    axes.push_back(dim.axis);
    blocks.push_back(dim.block);
  }
  bool has_blocks = std::ranges::any_of(blocks, [](int64_t block) { return block > 0; });
  attrs.push_back(ir::MakeAttr<AttrKey::RankAxes>(std::move(axes)));
  if (has_blocks) attrs.push_back(ir::MakeAttr<AttrKey::RankBlocks>(std::move(blocks)));
}

}  // namespace

void GenLocalTensor(FunctionGen& gen, const sema::Entity* tensor, Span span) {
  LocScope loc(gen, span);
  std::vector<Size> dims;
  for (Size dim : tensor->type.dims) dims.push_back(gen.Bound(dim));
  ir::Type type = gen.builder.types().Tensor(tensor->type.scalar, std::move(dims));
  bool in_kernel = gen.function.kind == ir::FunctionKind::Kernel;
  if (in_kernel) RequireNatural(gen, type);
  std::vector<ir::Attr> attrs = {ir::MakeAttr<AttrKey::Name>(tensor->name)};
  Name device = tensor->on != nullptr ? DeviceNameOf(gen, tensor->on) : Name();
  if (!in_kernel) attrs.push_back(ir::MakeAttr<AttrKey::Device>(device));
  AddDistribution(tensor->distribution, attrs);
  Value* value = gen.builder.Make(in_kernel ? ir::OpKind::LaunchTensor : ir::OpKind::Alloc, {},
                                  type, std::move(attrs));
  value->set_name(tensor->name);
  gen.values[tensor] = value;
}

}  // namespace kdl::irgen
