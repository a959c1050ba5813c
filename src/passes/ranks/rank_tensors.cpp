#include "passes/ranks/rank_tensors.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/op_info.h"
#include "passes/diagnostics.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Returns the first op that names the device, or null.
const Op* UserOf(const ir::Function& program, Name device) {
  const Op* user = nullptr;
  ir::Walk(program.body, [&](const Op* op) {
    bool names_it = op->HasAttr(AttrKey::Device) && op->attr<AttrKey::Device>() == device;
    if (names_it && !user) user = op;
  });
  return user;
}

bool HasOneDevice(PassContext& context, const ir::Function& program, const RankTensors& tensors) {
  for (const ir::Device& device : context.module.devices) {
    const Op* user = device.name == tensors.device ? nullptr : UserOf(program, device.name);
    if (!user) continue;
    context.diagnostics.Report(diag::RankDevice, context.SpanOf(user->loc()),
                               tensors.all[0]->name().text(), device.name.text());
    return false;
  }
  return true;
}

/// Says what an op does with a distributed tensor; returns an empty string if that is supported.
std::string UnsupportedUse(const Op* op, const RankTensors& tensors) {
  switch (op->kind()) {
    case OpKind::Launch:
    case OpKind::Copy:
    case OpKind::CopyBack:
    case OpKind::Fill:
    case OpKind::Restore:
    case OpKind::Checkpoint:
      return "";
    case OpKind::Swap: {
      const ir::RankDistribution* a = tensors.FindDistribution(op->operand(0));
      const ir::RankDistribution* b = tensors.FindDistribution(op->operand(1));
      return a && b && *a == *b ? ""
                                : "exchanging it with a tensor that is distributed in another way";
    }
    case OpKind::Slice:
      return "a slice of it";
    case OpKind::View:
      return "a view of it";
    case OpKind::HostLoad:
      return "reading a single element";
    case OpKind::HostStore:
      return "writing a single element";
    case OpKind::Expect:
      return "`expect`";
    default:
      return fmt::format("`{}`", op->info().spelling);
  }
}

/// Returns what to write after the type of a tensor that is distributed in this way: `on grid by (M, _)`.
std::string PlacementText(const Value* tensor, const ir::RankDistribution& distribution,
                          Name device) {
  std::string entries;
  for (size_t d = 0; d < distribution.size(); ++d) {
    const ir::RankDimension& dim = distribution[d];
    entries += d > 0 ? ", " : "";
    entries += dim.is_distributed() ? ToString(tensor->type()->dims[d]) : "_";
    if (dim.block > 0) entries += fmt::format(": {}", dim.block);
  }
  return fmt::format("on {} by ({})", device.text(), entries);
}

/// Says how to declare the second of two tensors that are exchanged, or the first one if only the second one is distributed.
std::string HelpForSwap(const Op* swap, const RankTensors& tensors) {
  const Value* like = swap->operand(0);
  const Value* other = swap->operand(1);
  if (!tensors.FindDistribution(like)) std::swap(like, other);
  std::vector<std::string> dims;
  for (Size dim : other->type()->dims) dims.push_back(ToString(dim));
  return fmt::format("declare '{0}' like '{1}': `let {0}: {2}[{3}] {4};`", other->name().text(),
                     like->name().text(), Spelling(other->type()->scalar), fmt::join(dims, ", "),
                     PlacementText(like, *tensors.FindDistribution(like), tensors.device));
}

}  // namespace

const ir::RankDistribution* RankTensors::FindDistribution(const Value* tensor) const {
  auto known = distributions.find(tensor);
  return known == distributions.end() ? nullptr : &known->second;
}

RankTensors FindRankTensors(const ir::Function& program) {
  RankTensors tensors;
  for (const Op* alloc : OpsOfKind(program, OpKind::Alloc)) {
    ir::RankDistribution distribution = ir::DistributionOfAlloc(alloc);
    if (distribution.empty()) continue;
    tensors.device = alloc->attr<AttrKey::Device>();
    tensors.all.push_back(alloc->result());
    tensors.distributions[alloc->result()] = std::move(distribution);
  }
  return tensors;
}

void WarnIfShared(PassContext& context, const ir::Function& program) {
  for (const ir::Device& device : context.module.devices) {
    const Op* user = device.has_ranks ? UserOf(program, device.name) : nullptr;
    if (!user || user->loc().line == 0) continue;  // the driver's own program runs a single kernel
    context.diagnostics
        .Report(diag::NothingDistributed, context.SpanOf(user->loc()), program.base_name(),
                device.name.text())
        .Help(fmt::format("distribute the tensors that launches write: `let x: f32[M, N] on {} by "
                          "(M, _);`",
                          device.name.text()));
    return;
  }
}

bool CheckUses(PassContext& context, const ir::Function& program, const RankTensors& tensors) {
  if (!HasOneDevice(context, program, tensors)) return false;
  bool supported = true;
  for (const Value* tensor : tensors.all) {
    for (const ir::Use& use : tensor->uses()) {
      std::string what = UnsupportedUse(use.user, tensors);
      // Only the first one of two tensors that are exchanged is reported.
      bool is_second = use.user->kind() == OpKind::Swap && use.operand > 0 &&
                       tensors.FindDistribution(use.user->operand(0));
      if (what.empty() || is_second) {
        supported &= what.empty();
        continue;
      }
      supported = false;
      Diagnostic& report = context.diagnostics.Report(
          diag::RankUse, context.SpanOf(use.user->loc()), tensor->name().text(), what);
      report.Help(use.user->kind() == OpKind::Swap
                      ? HelpForSwap(use.user, tensors)
                      : fmt::format("declare another tensor without `by`, and write `copy({}, …);`",
                                    tensor->name().text()));
    }
  }
  return supported;
}

}  // namespace kdl::passes
