#include "passes/ranks/launch_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::passes {

namespace {

/// Returns the axes along which a tensor that the kernel writes is distributed, in ascending order.
std::vector<LaunchAxis> AxesOfTensor(const RankArgument& argument, const ProducedTensor& produced) {
  std::vector<LaunchAxis> axes;
  for (size_t d = 0; d < argument.distribution->size(); ++d) {
    const ir::RankDimension& dim = (*argument.distribution)[d];
    if (dim.axis >= 0)
      axes.push_back({dim.axis, produced.binders[d], argument.tensor->type()->dims[d], dim.block});
  }
  std::ranges::sort(axes, {}, &LaunchAxis::axis);
  return axes;
}

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
  std::optional<Producer> producer = ProducerOf(kernel, obstacle);
  if (!producer) {
    ReportKernel(context, launch, kernel, *written.tensor, obstacle);
    return std::nullopt;
  }
  std::optional<std::vector<LaunchAxis>> axes;
  for (const ProducedTensor& produced : producer->tensors) {
    auto argument = std::ranges::find(arguments, produced.param, &RankArgument::param);
    bool is_distributed = argument != arguments.end();
    std::vector<LaunchAxis> own =
        is_distributed ? AxesOfTensor(*argument, produced) : std::vector<LaunchAxis>();
    if (is_distributed && (!axes || *axes == own)) {
      axes = std::move(own);
      continue;
    }
    const Value* other = ir::LaunchOp(const_cast<Op*>(launch)).arguments()[produced.param];
    ReportOther(context, launch, kernel, name, other->name().text(), is_distributed);
    return std::nullopt;
  }
  return axes;
}

}  // namespace kdl::passes
