#include "irgen/programs/host_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "ir/tensor_view.h"
#include "irgen/accesses/slices.h"
#include "irgen/programs/programs.h"
#include "irgen/walk/generate.h"
#include "irgen/walk/sizes.h"
#include "support/check.h"
#include "support/contains.h"

// Generates the calls in a program: calls of other programs, of `copy` and of `swap`. Also generates the
// sizes that the program computes from numbers.

namespace kdl::irgen {

namespace {

using ir::AttrKey;
using ir::OpKind;
using ir::Value;

/// Returns the callee's sizes and integer parameters, expressed in the caller's sizes.
std::unordered_map<Name, Size> CalleeSizes(const FunctionGen& gen, const sema::LaunchInfo& call) {
  std::unordered_map<Name, Size> sizes;
  const sema::CheckedFunction& callee = *call.kernel;
  for (size_t i = 0; i < callee.dims.size(); ++i) {
    KDL_CHECK(call.dims[i], "'{}' has no value", callee.dims[i].entity->name.text());
    sizes[callee.dims[i].entity->name] = gen.Bound(call.dims[i]);
  }
  for (const sema::IntGenericInfo& generic : callee.generics) {
    if (generic.values.size() == 1)
      sizes[generic.entity->name] = gen.module.types().sizes().Constant(generic.values[0]);
  }
  for (const sema::GenericBinding& binding : call.generics) {
    if (binding.value) sizes[binding.generic->name] = gen.Bound(binding.value);
  }
  return sizes;
}

/// Binds the callee's parameters to the arguments: tensors by reference, scalars by value.
void BindArguments(FunctionGen& gen, const sema::LaunchInfo& call, FunctionGen& inner) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    const sema::Entity* param = call.kernel->params[i].entity;
    const sema::ExprInfo& info = gen.Info(call.args[i]);
    if (info.type.is_tensor()) {
      inner.values[param] = GenTensor(gen, call.args[i]);
    } else {
      inner.values[param] = GenRounded(gen, call.args[i]);
    }
    SetName(inner.values[param], param->name);
  }
}

/// Stops the program if two slices of one tensor overlap and the callee writes one of them. Different tensors
/// cannot overlap, because the parameters of a program are checked when it starts.
void RequireApart(FunctionGen& gen, const sema::LaunchInfo& call, const FunctionGen& inner) {
  auto is_written = [&](size_t i) {
    return call.kernel->params[i].direction != syntax::Direction::In;
  };
  std::vector<size_t> tensors;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (gen.Info(call.args[i]).type.is_tensor()) tensors.push_back(i);
  for (size_t i : tensors) {
    for (size_t j : tensors) {
      const sema::Entity& written = *call.kernel->params[i].entity;
      const sema::Entity& other = *call.kernel->params[j].entity;
      Value* a = inner.values.at(&written);
      Value* b = inner.values.at(&other);
      bool is_known = i == j || !is_written(i) || (j < i && is_written(j));
      if (is_known || ir::MemoryOf(a) != ir::MemoryOf(b)) continue;
      LocScope loc(gen, call.args[i]->span);
      std::string text = fmt::format(
          "'{}' is passed to '{}', which is written, but overlaps the argument for '{}'",
          gen.QuotedSource(call.args[i]->span).text(), written.name.text(), other.name.text());
      gen.builder.Create(OpKind::Apart, {{a}, {b}}, {},
                         {ir::MakeAttr<AttrKey::Text>(gen.module.context().names.Intern(text))});
    }
  }
}

/// Generates run-time checks for those dimensions of the arguments that are not known to match the callee's
/// parameters.
void RequireArguments(FunctionGen& gen, const sema::LaunchInfo& call) {
  for (const sema::DimCheck& check : call.checks) {
    LocScope loc(gen, call.args[check.param]->span);
    const sema::Entity& param = *call.kernel->params[check.param].entity;
    std::string text = fmt::format("dimension {} of {} is {}", check.dim, param.name.text(),
                                   ToString(param.type.dims[check.dim]));
    Require(gen, check.actual, ir::CompareKind::Eq, check.formal,
            gen.module.context().names.Intern(text));
  }
}

}  // namespace

void GenProgramCall(FunctionGen& gen, const sema::LaunchInfo& call) {
  FunctionGen inner{*call.kernel, gen.sources, gen.module, gen.function, gen.builder, {},
                    {},           {},          {},         {},           {}};
  GenMoves(gen, call);
  BindArguments(gen, call, inner);
  RequireApart(gen, call, inner);
  for (const sema::ParamInfo& param : call.kernel->params) {
    // The caller decides how its tensors are distributed.
    if (param.entity->on == nullptr || !param.entity->distribution.empty()) continue;
    std::string cause = fmt::format("{} needs it there", call.kernel->entity->name.text());
    GenMoveTo(gen, ir::MemoryOf(inner.values.at(param.entity)), param.entity->on, cause);
  }
  inner.sizes = CalleeSizes(gen, call);
  RequireArguments(gen, call);
  inner.builder.SetInsertionPoint(gen.builder.region(), gen.builder.before());
  GenRequirements(inner);
  for (const sema::DimInfo& dim : call.kernel->dims)
    inner.values[dim.entity] = GenSize(inner, gen.module.types().sizes().Symbol(dim.entity->name));
  for (const sema::ParamInfo& param : call.kernel->params) GenSizeName(inner, param.entity);
  GenBlock(inner, *call.kernel->item->body);
  gen.builder.SetInsertionPoint(inner.builder.region(), inner.builder.before());
}

void GenTensorCall(FunctionGen& gen, const sema::TensorCallInfo& call) {
  Value* from = GenTensor(gen, call.from);
  Value* to = GenTensor(gen, call.to);
  if (call.swaps) {
    gen.builder.Create(OpKind::Swap, {{from}, {to}}, {});
    return;
  }
  const sema::ExprInfo& source = gen.Info(call.from);
  const sema::ExprInfo& target = gen.Info(call.to);
  for (size_t d = 0; d < from->type()->dims.size(); ++d) {
    if (from->type()->dims[d] == to->type()->dims[d]) continue;
    std::string text = fmt::format("dimension {} of {} equals that of {}", d,
                                   gen.QuotedSource(call.to->span).text(),
                                   gen.QuotedSource(call.from->span).text());
    Require(gen, target.type.dims[d], ir::CompareKind::Eq, source.type.dims[d],
            gen.module.context().names.Intern(text));
  }
  gen.builder.Create(OpKind::Copy, {{from}, {to}, {}}, {gen.builder.types().Event()},
                     {ir::MakeAttr<AttrKey::Device>(Name()), ir::MakeAttr<AttrKey::Queue>(0)});
}

}  // namespace kdl::irgen
