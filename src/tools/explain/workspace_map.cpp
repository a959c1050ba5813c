#include "tools/explain/workspace_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/views.h"
#include "support/check.h"
#include "tools/explain/placement_map.h"

namespace kdl::tools {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

PipeMap MapPipe(const Op* op) {
  ir::Type type = op->result()->type();
  std::string sizes;
  for (Size dim : type->dims)
    fmt::format_to(std::back_inserter(sizes), "{}{}", sizes.empty() ? "" : ", ", dim->value);
  return {op->attr<AttrKey::Name>().str(), fmt::format("{}[{}]", Spelling(type->scalar), sizes),
          op->attr<AttrKey::From>().str(), op->attr<AttrKey::To>().str(), ir::RingOf(op)};
}

KernelMap MapKernel(const ir::Function& kernel) {
  KernelMap map;
  map.kernel = kernel.name.str();
  map.footprint = ir::Footprint(kernel);
  for (const Op* op : ir::PipesOf(kernel)) {
    if (!op->HasAttr(AttrKey::Slot)) continue;
    const PipeMap& pipe = map.pipes.emplace_back(MapPipe(op));
    size_t number = map.pipes.size() - 1;
    int64_t at = pipe.ring.offset + pipe.ring.header;
    map.ranges.push_back({pipe.ring.offset, at, number, pipe.name + " header"});
    for (int64_t slot = 0; slot < pipe.ring.depth; ++slot, at += pipe.ring.slot)
      map.ranges.push_back(
          {at, at + pipe.ring.slot, number, fmt::format("{} slot {}", pipe.name, slot)});
  }
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::LaunchTensor) return;
    ir::Type type = op->result()->type();
    std::string sizes;
    for (Size dim : type->dims)
      fmt::format_to(std::back_inserter(sizes), "{}{}", sizes.empty() ? "" : ", ", ToString(dim));
    map.shared.push_back(
        {op->attr<AttrKey::Name>().str(), fmt::format("{}[{}]", Spelling(type->scalar), sizes)});
  });
  return map;
}

bool SameLayout(const KernelMap& a, const KernelMap& b) {
  auto same = [](const AddressRange& x, const AddressRange& y) {
    return x.begin == y.begin && x.end == y.end && x.what == y.what;
  };
  return a.kernel == b.kernel && a.shared == b.shared &&
         std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(), same);
}

/// Returns the maps of the kernels. Targets on which a kernel's pipes have the same layout share a
/// map.
std::vector<KernelMap> MapKernels(const ir::Module& module, const driver::Code& code) {
  std::vector<KernelMap> maps;
  for (const ir::Function* function : module.functions()) {
    if (function->kind != ir::FunctionKind::Kernel) continue;
    for (const driver::TargetCode& target : code.targets) {
      const ir::Function* code_of = target.module->FindFunction(function->name);
      if (!code_of) continue;
      KernelMap map = MapKernel(*code_of);
      auto known = std::find_if(maps.begin(), maps.end(),
                                [&](const KernelMap& other) { return SameLayout(other, map); });
      if (known == maps.end()) known = maps.insert(maps.end(), std::move(map));
      known->targets.push_back(target.target.facts->level);
    }
  }
  return maps;
}

struct Infix {
  OpKind kind;
  std::string_view text;
};
constexpr Infix kInfix[] = {{OpKind::Add, "+"},
                            {OpKind::Sub, "-"},
                            {OpKind::Mul, "*"},
                            {OpKind::Div, "/"},
                            {OpKind::Rem, "%"}};

std::string Factor(const Value* value);

/// Returns the text of a number that the host computes, as an expression of sizes, parameters and
/// values that the host reads.
std::string Symbolic(const Value* value) {
  const Op* def = value->def();
  if (!def) return value->name().str();
  if (def->kind() == OpKind::Const)
    return fmt::format("{}", static_cast<int64_t>(def->attr<AttrKey::Bits>()));
  if (def->kind() == OpKind::DeviceCores)
    return fmt::format("cores({})", def->attr<AttrKey::Device>().text());
  if (def->kind() == OpKind::HostLoad) return def->attr<AttrKey::Text>().str();
  for (const Infix& infix : kInfix) {
    if (infix.kind != def->kind()) continue;
    return fmt::format("{} {} {}", Factor(def->operand(0)), infix.text, Factor(def->operand(1)));
  }
  return value->name().empty() ? "a number computed at run time" : value->name().str();
}

/// Returns the text of the number as a factor of a product, in parentheses if needed.
std::string Factor(const Value* value) {
  std::string text = Symbolic(value);
  return text.find(' ') == std::string::npos ? text : fmt::format("({})", text);
}

/// Whether each core of a launch on the device has its own slice. Otherwise, there is one slice for
/// each core that the device can run concurrently.
bool HasSlicePerCore(const driver::DeviceSpecs& specs, Name device) {
  auto found = specs.find(device.str());
  return found != specs.end() && found->second.find("resident=cores") != std::string::npos;
}

std::string InstancesText(const driver::DeviceSpecs& specs, const Op* instances) {
  Name device = instances->attr<AttrKey::Device>();
  std::span<Value* const> cores = instances->Segment(ir::InstancesOp::at_cores);
  std::string count = cores.empty() ? fmt::format("cores({})", device.text()) : Symbolic(cores[0]);
  // `auto` requests exactly the number of cores that the device can run concurrently.
  if (cores.empty()) return count;
  if (HasSlicePerCore(specs, device)) return Factor(cores[0]);
  return fmt::format("min({}, cores that {} runs at once)", count, device.text());
}

bool IsInLoop(const Op* op) {
  for (const Op* outer = op->parent_region()->parent(); outer;
       outer = outer->parent_region()->parent()) {
    if (outer->kind() == OpKind::Loop) return true;
  }
  return false;
}

LaunchMap MapLaunch(const Op* launch) {
  LaunchMap map;
  map.place = SourcePlace(launch);
  map.kernel = launch->attr<AttrKey::Callee>().str();
  map.in_loop = IsInLoop(launch);
  return map;
}

/// Sets the sizes in `map` from the `reserve` op that precedes the launch.
void AddSizes(const driver::DeviceSpecs& specs, const Op* launch, LaunchMap& map) {
  const Value* workspace = launch->Segment(ir::LaunchOp::at_workspace)[0];
  const Op* reserve = launch->prev();
  while (reserve && (reserve->kind() != OpKind::Reserve || reserve->operand(0) != workspace))
    reserve = reserve->prev();
  if (!reserve) return;
  const Op* instances = reserve->operand(1)->def();
  if (instances->kind() == OpKind::Instances) map.instances = InstancesText(specs, instances);
  const Op* footprint = reserve->operand(2)->def();
  if (footprint->kind() != OpKind::Const) {
    map.footprint = fmt::format("a slice of {}", map.kernel);
    return;
  }
  auto bytes = static_cast<int64_t>(footprint->attr<AttrKey::Bits>());
  map.footprint = fmt::format("{}", bytes);
  std::span<Value* const> cores = launch->Segment(ir::LaunchOp::at_cores);
  if (cores.empty() || !cores[0]->def() || cores[0]->def()->kind() != OpKind::Const) return;
  int64_t most = 0;
  auto count = static_cast<int64_t>(cores[0]->def()->attr<AttrKey::Bits>());
  if (!__builtin_mul_overflow(count, bytes, &most)) map.at_most = most;
}

ProgramMap MapProgram(const driver::DeviceSpecs& specs, const ir::Function& program) {
  ProgramMap map;
  map.name = program.name.str();
  std::vector<const Value*> workspaces;
  ir::Walk(program.body, [&](const Op* op) {
    if (op->kind() == OpKind::Workspace) {
      workspaces.push_back(op->result());
      map.workspaces.push_back(
          {op->attr<AttrKey::Name>().str(), op->attr<AttrKey::Device>().str(), 0, {}});
    }
    if (op->kind() != OpKind::Launch) return;
    LaunchMap launch = MapLaunch(op);
    std::span<Value* const> given = op->Segment(ir::LaunchOp::at_workspace);
    if (given.empty()) {
      map.others.push_back(std::move(launch));
      return;
    }
    AddSizes(specs, op, launch);
    auto found = std::find(workspaces.begin(), workspaces.end(), given[0]);
    KDL_CHECK(found != workspaces.end(), "the launch of '{}' has no workspace", launch.kernel);
    WorkspaceMap& workspace = map.workspaces[static_cast<size_t>(found - workspaces.begin())];
    workspace.queue = op->attr<AttrKey::Queue>();
    workspace.launches.push_back(std::move(launch));
  });
  return map;
}

}  // namespace

WorkspaceReport MapWorkspaces(const std::string& file, const driver::Compilation& made) {
  WorkspaceReport report{file, MapKernels(*made.module, made.code), {}};
  for (const ir::Function* function : made.module->functions()) {
    if (function->kind == ir::FunctionKind::Program)
      report.programs.push_back(MapProgram(made.devices[0], *function));
  }
  return report;
}

}  // namespace kdl::tools
