#include "driver/emit/host_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "codegen/llvm/before_launch/call_functions.h"
#include "codegen/llvm/before_launch/host_module.h"
#include "driver/compile/runtime_name.h"
#include "driver/diagnostics.h"
#include "driver/run/wrap_kernel.h"
#include "ir/builder.h"
#include "ir/print/equal.h"
#include "ir/print/printer.h"
#include "support/check.h"
#include "targets/hosts.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

/// Makes the module runnable without a compiler. Gives its devices the specs for the runtime and,
/// if the module has no program, adds a program for each kernel.
void AddPrograms(ir::Module& module, const DeviceSpecs& specs) {
  for (ir::Device& device : module.devices) {
    auto spec = specs.find(device.name.str());
    if (spec != specs.end()) device.spec = spec->second;
  }
  const std::vector<ir::Function*> own = module.functions();
  auto is_program = [](const ir::Function* f) { return f->kind == ir::FunctionKind::Program; };
  if (std::any_of(own.begin(), own.end(), is_program)) return;
  for (const ir::Function* function : own) {
    if (function->kind == ir::FunctionKind::Kernel)
      WrapKernel(module, *function, module.devices[0].name);
  }
}

/// Returns the highest level below `level` among the levels of the part that have the kernel.
/// Returns null if there is none.
const TargetCode* LevelBelow(const Part& part, const TargetCode& level, Name kernel) {
  const TargetCode* below = nullptr;
  for (const TargetCode* one : part.targets) {
    if (one == &level) break;
    if (one->kernels.contains(kernel)) below = one;
  }
  return below;
}

/// Adds the kernels of a part to `into`, the module that the interpreter runs. A kernel may have
/// several versions, because tile sizes may differ between levels, and results may depend on tile
/// sizes. With `lowest`, adds each kernel from its lowest level, which runs on any processor.
/// Otherwise, adds the kernels of higher levels that differ from the level below.
void AddKernels(Part& part, ir::Module& into, bool lowest) {
  Names& names = into.context().names;
  auto code = part.compiled.kernels.begin();
  for (const TargetCode* level : part.targets) {
    for (size_t k = 0; k < level->kernels.size(); ++k, ++code) {
      const ir::Function& kernel = *level->tiled->FindFunction(code->kernel->name);
      const TargetCode* below = LevelBelow(part, *level, kernel.name);
      if ((below == nullptr) != lowest) continue;
      code->reference.clear();
      if (below && ir::Difference(kernel, *below->tiled->FindFunction(kernel.name)).empty())
        continue;
      code->reference = kernel.name.str();
      if (below) {
        code->reference += "." + code->level;
        code->reference_features = code->required_features;
      }
      ir::CloneFunction(kernel, into, names.Intern(code->reference));
    }
  }
}

/// Adds the kernels that the interpreted part lacks to `into`, from the other parts.
void AddMissingKernels(std::span<Part* const> parts, const Part& interpreted, ir::Module& into) {
  for (Part* part : parts) {
    if (part == &interpreted) continue;
    auto code = part->compiled.kernels.begin();
    for (const TargetCode* level : part->targets) {
      for (size_t k = 0; k < level->kernels.size(); ++k, ++code) {
        Name name = code->kernel->name;
        code->reference.clear();
        if (into.FindFunction(name)) continue;
        code->reference = name.str();
        ir::CloneFunction(*level->tiled->FindFunction(name), into, name);
      }
    }
  }
}

/// Copies the programs of `from` to `into`.
void TakePrograms(const ir::Module& from, ir::Module& into) {
  for (const ir::Function* function : from.functions()) {
    if (function->kind == ir::FunctionKind::Program)
      ir::CloneFunction(*function, into, function->name);
  }
}

/// Returns the default devices of programs. If there is no code for any host, each device that
/// would be the host becomes a device that has code.
DeviceSpecs DefaultPlaces(const Compilation& made, std::span<Part* const> parts) {
  DeviceSpecs places = made.devices[0];
  std::string coded;
  for (const Part* part : parts) {
    if (targets::HostProcessor(part->compiled.arch)) return places;
    coded += (coded.empty() ? "" : ",") + part->targets[0]->target.device;
  }
  for (auto& [device, spec] : places) {
    if (spec == targets::kOwnKind && !coded.empty()) spec = coded;
  }
  return places;
}

/// Returns the KIR that the interpreter runs in place of the kernels. Also stores, in the parts,
/// the names that the kernels have in this KIR. Kernels come from `part` if it has them, and from
/// other parts otherwise.
std::string InterpretedText(const Compilation& made, std::span<Part* const> parts, Part& part) {
  const ir::Module& tiled = *part.targets[0]->tiled;
  ir::Module all(tiled.context());
  all.name = tiled.name;
  all.devices = tiled.devices;
  for (const ir::Function* function : tiled.functions()) {
    if (function->kind == ir::FunctionKind::Fn) ir::CloneFunction(*function, all, function->name);
  }
  AddKernels(part, all, true);
  AddMissingKernels(parts, part, all);
  TakePrograms(*made.module, all);
  AddPrograms(all, DefaultPlaces(made, parts));
  AddKernels(part, all, false);
  return ir::Print(all, {.locs = true});
}

}  // namespace

std::vector<std::string> HostArchs(const Code& code) {
  std::vector<std::string> archs;
  for (const Part& part : code.parts) {
    const std::string& arch = part.compiled.arch;
    bool is_new = std::ranges::find(archs, arch) == archs.end();
    if (is_new && targets::HostProcessor(arch)) archs.push_back(arch);
  }
  if (archs.empty()) archs.emplace_back(targets::OwnArch());
  return archs;
}

bool RunsHere(const Code& code, DiagnosticEngine& diagnostics) {
  std::vector<std::string> archs = HostArchs(code);
  if (std::ranges::find(archs, targets::OwnArch()) != archs.end()) return true;
  diagnostics.Report(diag::OtherArch, {}, archs[0], targets::OwnArch());
  return false;
}

std::vector<Part*> LinkedParts(Code& code, std::string_view arch) {
  std::vector<Part*> parts;
  for (Part& part : code.parts) {
    bool is_other_host = part.compiled.arch != arch && targets::HostProcessor(part.compiled.arch);
    if (!is_other_host) parts.push_back(&part);
  }
  return parts;
}

bool EmbedsIr(const Options& options, const Code& code) {
  return options.embed_ir || options.verify || options.locate_errors ||
         std::ranges::any_of(code.targets,
                             [](const TargetCode& one) { return one.target.interprets; });
}

std::string CompileCallsObject(Session& s, const codegen::CallTable& table) {
  Result<codegen::Backend> backend = codegen::Backend::Create(
      *targets::HostProcessor(targets::OwnArch()), static_cast<int>(*s.options.opt_level));
  if (backend.ok()) return codegen::CompileCalls(*backend, table);
  s.diagnostics.Report(diag::MachineFailed, {}, backend.failure().message);
  return "";
}

const std::string* CompileHostObject(Session& s, Compilation& made, std::string_view arch,
                                     bool embeds_ir) {
  Code& code = made.code;
  auto [object, is_new] = code.host_objects.try_emplace({std::string(arch), embeds_ir});
  if (!is_new) return &object->second;
  std::optional<codegen::Processor> host = targets::HostProcessor(arch);
  KDL_CHECK(host, "{} cannot run programs", arch);
  Result<codegen::Backend> backend =
      codegen::Backend::Create(*host, static_cast<int>(*s.options.opt_level));
  if (!backend.ok()) {
    s.diagnostics.Report(diag::MachineFailed, {}, backend.failure().message);
    code.host_objects.erase(object);
    return nullptr;
  }
  std::vector<codegen::CompiledModule*> devices;
  std::vector<Part*> parts = LinkedParts(code, arch);
  for (Part* part : parts) devices.push_back(&part->compiled);
  // The interpreter uses the tile sizes of the host's own code, if that code exists.
  auto own = std::ranges::find_if(parts, [&](Part* p) { return p->compiled.arch == arch; });
  Part* interpreted = own != parts.end() ? *own : parts.empty() ? nullptr : parts[0];
  std::string kir = embeds_ir && interpreted ? InterpretedText(made, parts, *interpreted) : "";
  object->second = codegen::CompileHostModule(*backend, RuntimeName(s, made), s.names, devices,
                                              {targets::kReferenceKind, kir});
  return &object->second;
}

}  // namespace kdl::driver
