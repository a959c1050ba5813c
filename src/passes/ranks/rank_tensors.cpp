#include "passes/ranks/rank_tensors.h"

#include <fmt/format.h>

#include <string>
#include <utility>

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

bool CheckUses(PassContext& context, const ir::Function& program, const RankTensors& tensors) {
  if (!HasOneDevice(context, program, tensors)) return false;
  bool supported = true;
  for (const Value* tensor : tensors.all) {
    for (const ir::Use& use : tensor->uses()) {
      std::string what = UnsupportedUse(use.user, tensors);
      if (what.empty()) continue;
      supported = false;
      Diagnostic& report = context.diagnostics.Report(
          diag::RankUse, context.SpanOf(use.user->loc()), tensor->name().text(), what);
      if (use.user->kind() != OpKind::Swap)
        report.Help(fmt::format("declare another tensor without `by`, and write `copy({}, …);`",
                                tensor->name().text()));
    }
  }
  return supported;
}

}  // namespace kdl::passes
