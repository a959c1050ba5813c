#include "passes/ranks/launch_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "ir/lookup.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::passes {

namespace {

/// Finds out which binders of a kernel's `spmd for` are the indices of the distributed dimensions that it writes. Other dimensions
/// may be written in any way, such as all elements of a row by a block.
class WrittenAxes {
 public:
  WrittenAxes(SizeTable& sizes, const ir::Function& kernel, Obstacle& obstacle)
      : sizes_(sizes), kernel_(kernel), obstacle_(obstacle), spmd_(FindOnlySpmd(kernel, obstacle)) {
    obstacle_.help.clear();  // it is about `fuse`
  }

  /// Returns the axes of one of the kernel's outputs in ascending order. If blocks do not write it along binders, returns nothing
  /// and states why.
  std::optional<std::vector<LaunchAxis>> FindAxes(const RankArgument& argument) {
    if (!spmd_ || !IsAccessedInSpmd(argument.param)) return std::nullopt;
    std::vector<LaunchAxis> axes;
    for (size_t d = 0; d < argument.distribution->size(); ++d) {
      const ir::RankDimension& dim = (*argument.distribution)[d];
      if (dim.axis < 0) continue;
      const Value* tensor = kernel_.params[argument.param].value;
      std::optional<size_t> binder = BinderOf(tensor, d);
      // An `out` tensor is written completely.
      bool is_whole = kernel_.params[argument.param].direction == ir::Direction::Out;
      if (!binder || !(is_whole || HasAllIndices(tensor, d, *binder))) return std::nullopt;
      axes.push_back({dim.axis, *binder, argument.tensor->type()->dims[d], dim.block});
    }
    std::ranges::sort(axes, {}, &LaunchAxis::axis);
    return axes;
  }

  /// Returns whether no value depends on where the blocks along the axes begin, which is at the first element of each rank.
  bool AreFree(const std::vector<LaunchAxis>& axes) {
    const Op* bad = FirstThatDependsOnBlock(kernel_, [&](AxisId axis) {
      return std::ranges::any_of(axes, [&](const LaunchAxis& one) {
        const Value* binder = spmd_->region()->param(one.binder);
        return binder->type()->kind == ir::TypeKind::Block && binder->type()->axes[0] == axis;
      });
    });
    return !bad || Refuse(bad->loc(),
                          "this depends on the block of the `spmd for`, but the blocks of a rank "
                          "begin at its first element");
  }

 private:
  bool Refuse(const ir::Loc& loc, std::string reason) {
    obstacle_ = {Obstacle::Kind::Kernel, 0, "", loc, std::move(reason), ""};
    return false;
  }

  static bool IsStore(const ir::Use& use) { return use.user->kind() == OpKind::Store; }

  /// Returns whether only the blocks of the `spmd for` store and load elements of the tensor.
  bool IsAccessedInSpmd(size_t param) {
    const Value* tensor = kernel_.params[param].value;
    for (const ir::Use& use : tensor->uses()) {
      bool is_access = (IsStore(use) || use.user->kind() == OpKind::Load) &&
                       TensorOf(use.user) == tensor && ir::Around(use.user, OpKind::Spmd) == spmd_;
      if (!is_access)
        return Refuse(use.user->loc(), fmt::format("it writes and reads '{}', or a view of it",
                                                   tensor->name().text()));
    }
    return true;
  }

  /// Returns the binder that is the index of this dimension in all stores.
  std::optional<size_t> BinderOf(const Value* tensor, size_t dimension) {
    std::optional<size_t> binder;
    for (const ir::Use& use : tensor->uses()) {
      if (!IsStore(use)) continue;
      std::optional<size_t> own = BinderOfIndex(spmd_, use.user, dimension);
      if (!own || (binder && own != binder)) {
        Refuse(use.user->loc(),
               fmt::format("index {} of '{}' is not a variable of its `spmd for`, but the elements "
                           "are distributed along this dimension",
                           dimension + 1, tensor->name().text()));
        return std::nullopt;
      }
      binder = own;
    }
    if (!binder) Refuse(kernel_.loc, fmt::format("it never writes '{}'", tensor->name().text()));
    return binder;
  }

  /// Returns whether the binder has all indices of the dimension, so that a rank can run any part of them.
  bool HasAllIndices(const Value* tensor, size_t dimension, size_t binder) {
    std::span<Value* const> bounds = spmd_->operands();
    Size end = ir::SizeOfValue(kernel_, sizes_, bounds[2 * binder + 1]);
    bool has_all =
        ir::ConstantOf(bounds[2 * binder]) == 0 && end == tensor->type()->dims[dimension];
    return has_all || Refuse(spmd_->loc(), fmt::format("the `spmd for` does not have all indices "
                                                       "of dimension {} of '{}'",
                                                       dimension + 1, tensor->name().text()));
  }

  SizeTable& sizes_;
  const ir::Function& kernel_;
  Obstacle& obstacle_;
  const Op* spmd_;
};

/// Reports that a kernel that writes a distributed tensor also writes one that is not distributed in the same way.
void ReportOther(PassContext& context, const Op* launch, std::string_view written,
                 std::string_view other, bool is_distributed) {
  constexpr std::string_view kWays[] = {"not distributed", "distributed in another way"};
  std::string declare = is_distributed ? "declare both with the same `by`"
                                       : fmt::format("declare '{}' without `by`, too", written);
  context.diagnostics
      .Report(diag::RankKernel, context.SpanOf(launch->loc()), KernelOf(context.module, launch),
              written,
              fmt::format("it also writes '{}', which is {}", other, kWays[is_distributed ? 1 : 0]))
      .Help(
          fmt::format("launch one kernel that writes '{}' and another one that writes '{}'; or {}",
                      written, other, declare));
}

}  // namespace

std::vector<RankArgument> FindRankArguments(const Op* launch, const ir::Function& kernel,
                                            const RankTensors& tensors) {
  std::vector<RankArgument> found;
  std::span<Value* const> arguments = ir::LaunchOp(const_cast<Op*>(launch)).arguments();
  for (size_t p = 0; p < arguments.size(); ++p) {
    const ir::RankDistribution* distribution = tensors.FindDistribution(arguments[p]);
    bool is_written = kernel.params[p].direction != ir::Direction::In;
    if (distribution) found.push_back({p, arguments[p], distribution, is_written});
  }
  return found;
}

std::string KernelOf(const ir::Module& module, const Op* launch) {
  return std::string(module.FindFunction(launch->attr<AttrKey::Callee>())->base_name());
}

void ReportKernel(PassContext& context, const Op* launch, const Value& written,
                  const Obstacle& obstacle) {
  std::string_view name = written.name().text();
  std::string help = fmt::format(
      "launch it with a tensor without `by`, of which every rank computes all "
      "elements, and copy that one afterwards: `copy(…, {});`",
      name);
  context.diagnostics
      .Report(diag::RankKernel, context.SpanOf(obstacle.loc), KernelOf(context.module, launch),
              name, obstacle.reason)
      .Note(context.SpanOf(launch->loc()), "it is launched here")
      .Help(obstacle.help.empty() ? help : obstacle.help);
}

Obstacle ReadsOfOthers(const ir::Loc& loc, const Value& written) {
  std::string_view name = written.name().text();
  return {Obstacle::Kind::Kernel,
          0,
          "",
          loc,
          "it reads elements of it that other ranks may own and write",
          fmt::format("declare an `in` and an `out` tensor in the kernel, launch it with '{0}' and "
                      "another tensor that is distributed like '{0}', and then exchange them: "
                      "`swap({0}, …);`",
                      name)};
}

std::optional<std::vector<LaunchAxis>> FindLaunchAxes(PassContext& context, const Op* launch,
                                                      const ir::Function& kernel,
                                                      const std::vector<RankArgument>& arguments) {
  const RankArgument& written =
      *std::ranges::find_if(arguments, [](const auto& one) { return one.is_written; });
  std::string_view name = written.tensor->name().text();
  Obstacle obstacle;
  WrittenAxes written_axes(context.module.types().sizes(), kernel, obstacle);
  std::optional<std::vector<LaunchAxis>> axes = written_axes.FindAxes(written);
  if (!axes || !written_axes.AreFree(*axes)) {
    ReportKernel(context, launch, *written.tensor, obstacle);
    return std::nullopt;
  }
  for (size_t p = 0; p < kernel.params.size(); ++p) {
    if (kernel.params[p].direction == ir::Direction::In) continue;
    auto argument = std::ranges::find(arguments, p, &RankArgument::param);
    bool is_distributed = argument != arguments.end();
    std::optional<std::vector<LaunchAxis>> own;
    if (is_distributed) own = written_axes.FindAxes(*argument);
    if (is_distributed && !own) {
      ReportKernel(context, launch, *argument->tensor, obstacle);
      return std::nullopt;
    }
    if (own == axes) continue;
    const Value* other = ir::LaunchOp(const_cast<Op*>(launch)).arguments()[p];
    ReportOther(context, launch, name, other->name().text(), is_distributed);
    return std::nullopt;
  }
  return axes;
}

}  // namespace kdl::passes
