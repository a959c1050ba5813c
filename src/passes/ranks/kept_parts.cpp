#include "passes/ranks/kept_parts.h"

#include <algorithm>

#include "ir/eval/eval.h"
#include "ir/groups.h"
#include "passes/fusion/producer.h"
#include "passes/groups/kept_variables.h"
#include "passes/ranks/group_kernels.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Returns the axes along which a tensor that the loop reduces is distributed, in ascending order; nothing if the loop does not
/// keep a variable of one of them.
std::optional<std::vector<LaunchAxis>> AxesOfReduced(const Op* loop,
                                                     const std::vector<ir::UpdateOp>& updates,
                                                     const RankArgument& argument) {
  ir::GroupVariables variables = ir::GroupVariablesOf(loop);
  std::vector<LaunchAxis> axes;
  for (size_t d = 0; d < argument.distribution->size(); ++d) {
    const ir::RankDimension& dim = (*argument.distribution)[d];
    if (dim.axis < 0) continue;
    std::optional<size_t> variable = VariableOfDimension(loop, updates, d);
    if (!variable || Contains(variables.combined, *variable)) return std::nullopt;
    axes.push_back({dim.axis, *variable, argument.tensor->type()->dims[d], dim.block});
  }
  std::ranges::sort(axes, {}, &LaunchAxis::axis);
  return axes;
}

/// Returns whether any value depends on how the variables of these axes are divided into blocks. The blocks of ranks begin where
/// what they own begins, so they are others than those of one machine.
bool DependsOnBlocks(const ir::Function& kernel, const Op* loop,
                     const std::vector<LaunchAxis>& axes) {
  return FirstThatDependsOnBlock(kernel, [&](AxisId axis) {
    return std::ranges::any_of(axes, [&](const LaunchAxis& one) {
      const Value* variable = loop->region()->param(one.binder);
      return variable->type()->kind == ir::TypeKind::Block && variable->type()->axes[0] == axis;
    });
  });
}

}  // namespace

std::optional<std::vector<LaunchAxis>> FindKeptAxes(const ir::Function& kernel,
                                                    const std::vector<RankArgument>& arguments) {
  Obstacle obstacle;
  const Op* loop = FindGroupLoop(kernel, obstacle);
  if (!loop) return std::nullopt;
  std::optional<std::vector<LaunchAxis>> axes;
  for (const std::vector<ir::UpdateOp>& updates : GroupUpdatesOf(loop)) {
    auto argument = std::ranges::find_if(arguments, [&](const RankArgument& one) {
      return kernel.params[one.param].value == updates[0].tensor();
    });
    if (argument == arguments.end()) return std::nullopt;
    std::optional<std::vector<LaunchAxis>> own = AxesOfReduced(loop, updates, *argument);
    if (!own || own->empty() || (axes && *axes != *own)) return std::nullopt;
    axes = std::move(own);
  }
  if (!axes || DependsOnBlocks(kernel, loop, *axes)) return std::nullopt;
  return axes;
}

PartKernel MakeKeptPart(ir::Module& module, const ir::Function& kernel,
                        const std::vector<size_t>& variables) {
  ir::Function* unfilled = ir::CloneFunction(kernel, module, kernel.name);
  EraseFillLoops(*unfilled);
  PartKernel part = MakePartKernel(module, *unfilled, variables);
  std::erase(module.functions(), unfilled);
  return part;
}

uint64_t IdentityOf(const ir::Function& kernel, size_t param) {
  const Value* tensor = kernel.params[param].value;
  for (const ir::Use& use : tensor->uses()) {
    if (!IsGroupUpdate(use.user)) continue;
    Scalar scalar = tensor->type()->scalar;
    Scalar acc = IsNarrowFloat(scalar) ? Scalar::F32 : scalar;
    auto how = use.user->attr<AttrKey::How>();
    return ir::EvaluateCast(acc, scalar, ir::UpdateIdentity(how, acc));
  }
  return 0;
}

}  // namespace kdl::passes
