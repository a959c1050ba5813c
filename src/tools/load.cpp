#include "tools/load.h"

#include <string>
#include <utility>
#include <vector>

#include "driver/devices.h"
#include "driver/diagnostics.h"
#include "driver/executor.h"
#include "driver/host_object.h"
#include "driver/outputs.h"
#include "driver/toolchain.h"
#include "support/io.h"
#include "targets/hosts.h"
#include "tools/interpreters.h"

namespace kdl::tools {

std::optional<driver::DeviceSpecs> ResolveTargets(
    driver::Compilation& c, const std::vector<std::string>& targets,
    std::map<std::string, driver::DeviceSpecs>& by_target) {
  std::optional<driver::DeviceSpecs> all;
  for (const std::string& target : targets) {
    auto specs =
        driver::ResolveSpecs(*c.module, c.options.files[0], target, true, c.options, c.diagnostics);
    if (!specs) return std::nullopt;
    by_target[target] = driver::RuntimeSpecs(*specs, c.families);
    if (!all) {
      all = std::move(specs);
      continue;
    }
    for (auto& [name, list] : *all) list += "," + specs->at(name);
  }
  c.runtime_specs = by_target.at(targets[0]);
  return all;
}

std::optional<driver::Code> CompileAll(driver::Compilation& c, const driver::DeviceSpecs& specs) {
  if (!driver::MayBeUnproven(c, specs)) return std::nullopt;
  auto targets = driver::ParseTargets(specs, c);
  if (!targets || driver::RunModulePasses(c) != driver::PipelineEnd::Done) return std::nullopt;
  std::optional<driver::Code> code(std::in_place);
  driver::PipelineEnd end = driver::CompileForTargets(c, std::move(*targets), {}, *code);
  if (end != driver::PipelineEnd::Done) return std::nullopt;
  return code;
}

driver::Context Load(driver::Compilation& c, driver::Code& code) {
  if (!driver::RunsHere(code, c.diagnostics)) return nullptr;
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  kdl_context* made = nullptr;
  Status status =
      folder.ok() ? driver::StatusOf(kdl_context_create(&made)) : Status(folder.failure());
  driver::Context context(made);
  if (status.ok()) status = AddInterpreters(context.get(), c.families);
  if (status.ok()) {
    std::vector<std::string> objects = driver::WriteObjects(
        c, code, targets::OwnArch(), driver::EmbedsIr(c, code), folder->path());
    std::string shared = folder->path() + "/kernels.so";
    if (objects.empty() || !driver::LinkShared(objects, shared, c.diagnostics)) return nullptr;
    status = driver::StatusOf(kdl_context_load(context.get(), shared.c_str()));
  }
  if (status.ok()) return context;
  c.diagnostics.Report(driver::diag::MachineFailed, {}, status.failure().message);
  return nullptr;
}

}  // namespace kdl::tools
