#include "passes/ranks/launch_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ir/lookup.h"
#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::passes {

namespace {

/// Finds out which binders of a kernel's `spmd for` are the indices of the distributed dimensions that it writes. Other dimensions
/// may be written in any way, such as all elements of a row by a block.
class WrittenAxes {
 public:
  WrittenAxes(const ir::Function& kernel, Obstacle& obstacle)
      : kernel_(kernel), obstacle_(obstacle), spmd_(FindOnlySpmd(kernel, obstacle)) {}

  /// Returns the axes of one of the kernel's outputs in ascending order. If blocks do not write it along binders, returns nothing
  /// and states why.
  std::optional<std::vector<LaunchAxis>> FindAxes(const RankArgument& argument) {
    if (!spmd_ || !IsOnlyStored(argument.param)) return std::nullopt;
    std::vector<LaunchAxis> axes;
    for (size_t d = 0; d < argument.distribution->size(); ++d) {
      const ir::RankDimension& dim = (*argument.distribution)[d];
      if (dim.axis < 0) continue;
      std::optional<size_t> binder = BinderOf(kernel_.params[argument.param].value, d);
      if (!binder) return std::nullopt;
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

  bool IsOnlyStored(size_t param) {
    const Value* tensor = kernel_.params[param].value;
    std::string_view name = tensor->name().text();
    if (kernel_.params[param].direction == ir::Direction::InOut)
      return Refuse(kernel_.loc, fmt::format("it reads and writes '{}'", name));
    for (const ir::Use& use : tensor->uses()) {
      bool is_store = use.user->kind() == OpKind::Store && TensorOf(use.user) == tensor;
      if (!is_store || ir::Around(use.user, OpKind::Spmd) != spmd_)
        return Refuse(use.user->loc(),
                      fmt::format("it writes and reads '{}', or a view of it", name));
    }
    return true;
  }

  /// Returns the binder that is the index of this dimension in all stores.
  std::optional<size_t> BinderOf(const Value* tensor, size_t dimension) {
    std::optional<size_t> binder;
    for (const ir::Use& use : tensor->uses()) {
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
    return binder;
  }

  const ir::Function& kernel_;
  Obstacle& obstacle_;
  const Op* spmd_;
};

/// Reports that a kernel that writes a distributed tensor also writes one that is not distributed in the same way.
void ReportOther(PassContext& context, const Op* launch, const ir::Function& kernel,
                 std::string_view written, std::string_view other, bool is_distributed) {
  constexpr std::string_view kWays[] = {"not distributed", "distributed in another way"};
  std::string declare = is_distributed ? "declare both with the same `by`"
                                       : fmt::format("declare '{}' without `by`, too", written);
  context.diagnostics
      .Report(diag::RankKernel, context.SpanOf(launch->loc()), kernel.base_name(), written,
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

void ReportKernel(PassContext& context, const Op* launch, const ir::Function& kernel,
                  const Value& written, const Obstacle& obstacle) {
  std::string_view name = written.name().text();
  context.diagnostics
      .Report(diag::RankKernel, context.SpanOf(obstacle.loc), kernel.base_name(), name,
              obstacle.reason)
      .Note(context.SpanOf(launch->loc()), "it is launched here")
      .Help(fmt::format("declare '{}' without `by`, so that every rank computes all of it", name));
}

std::optional<std::vector<LaunchAxis>> FindLaunchAxes(PassContext& context, const Op* launch,
                                                      const ir::Function& kernel,
                                                      const std::vector<RankArgument>& arguments) {
  const RankArgument& written =
      *std::ranges::find_if(arguments, [](const auto& one) { return one.is_written; });
  std::string_view name = written.tensor->name().text();
  Obstacle obstacle;
  WrittenAxes written_axes(kernel, obstacle);
  std::optional<std::vector<LaunchAxis>> axes = written_axes.FindAxes(written);
  if (!axes || !written_axes.AreFree(*axes)) {
    ReportKernel(context, launch, kernel, *written.tensor, obstacle);
    return std::nullopt;
  }
  for (size_t p = 0; p < kernel.params.size(); ++p) {
    if (kernel.params[p].direction == ir::Direction::In) continue;
    auto argument = std::ranges::find(arguments, p, &RankArgument::param);
    bool is_distributed = argument != arguments.end();
    std::optional<std::vector<LaunchAxis>> own;
    if (is_distributed) own = written_axes.FindAxes(*argument);
    if (is_distributed && !own) {
      ReportKernel(context, launch, kernel, *argument->tensor, obstacle);
      return std::nullopt;
    }
    if (own == axes) continue;
    const Value* other = ir::LaunchOp(const_cast<Op*>(launch)).arguments()[p];
    ReportOther(context, launch, kernel, name, other->name().text(), is_distributed);
    return std::nullopt;
  }
  return axes;
}

}  // namespace kdl::passes
