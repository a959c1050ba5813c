#include "tools/placed_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/contracts.h"
#include "driver/devices.h"
#include "driver/diagnostics.h"
#include "driver/resume.h"
#include "driver/select.h"
#include "driver/wanted_targets.h"
#include "driver/wrap_kernel.h"
#include "ir/eval.h"
#include "tools/draw_inputs.h"
#include "tools/load.h"

namespace kdl::tools {

namespace {

/// The options without what they say of where the kernel runs, which is decided already.
driver::Options WithoutPlace(const driver::Options& options, const ir::Module& module) {
  driver::Options left = options;
  if (module.devices.empty()) return left;
  const std::string binds = driver::NameInSource(module.devices[0].name.text()) + "=";
  auto is_place = [&](const std::string& text) { return text.starts_with(binds); };
  if (std::ranges::count_if(left.device, is_place) == 1) std::erase_if(left.device, is_place);
  return left;
}

}  // namespace

PlacedKernel::PlacedKernel(driver::Options options, const targets::Registry& families,
                           std::string kernel, std::string spec)
    : options_(std::move(options)),
      kernel_(std::move(kernel)),
      spec_(std::move(spec)),
      compilation_(options_, families) {
  Make();
}

void PlacedKernel::Make() {
  driver::Compilation& c = compilation_;
  auto arguments = driver::ReadArguments(c.options, c.diagnostics);
  if (driver::CompileToIr(c) != driver::PipelineEnd::Done || !arguments) return;
  driver::Options named = c.options;
  named.kernel = kernel_;
  std::vector<ir::Function*> kernels =
      driver::SelectKernels(*c.module, c.options.files[0], named, c.diagnostics);
  if (kernels.empty()) return;
  ir::Function* kernel = kernels[0];
  instance_ = kernel->name;
  if (!driver::BindGenerics(*kernel, *arguments, c.options, c.diagnostics)) return;
  std::optional<driver::BoundContract> contract =
      driver::FindContract(c.contracts.list, *c.module, *kernel);
  ir::Function* program =
      driver::WrapKernel(*c.module, *kernel, driver::DeviceOfAddedLaunch(*c.module, c.options));
  if (c.options.core_num) driver::SetCoreNum(*c.module, *program, *c.options.core_num);
  driver::KeepOnly(*c.module, {program});
  program_ = program;
  driver::Options sizes = driver::WithoutConstants(c.options, *kernel);
  bound_ = driver::BindProgram(*c.module, *program, *arguments, sizes, c.diagnostics);
  if (!bound_) return;
  if (contract && !DrawUngiven(*contract, *kernel, c.sources, *bound_, c.diagnostics)) return;
  auto specs = driver::ResolveSpecs(*c.module, c.options.files[0], spec_, true,
                                    WithoutPlace(c.options, *c.module), c.diagnostics);
  if (!specs) return;
  c.runtime_specs = driver::RuntimeSpecs(*specs, c.families);
  code_ = CompileAll(c, *specs);
  context_ = code_ ? Load(c, *code_) : nullptr;
  if (!context_) return;
  place_.emplace(driver::RunPlace{context_.get(), *c.module, c.runtime_specs, c.sources, nullptr});
  placed_.emplace(*place_, *program_, driver::RunMemory{});
  Status placed = placed_->Place(*bound_);
  if (placed.ok()) placed = placed_->Run();
  if (placed.ok()) placed = ReadFacts();
  if (!placed.ok()) {
    driver::ReportFailure(placed.failure(), c.sources, c.diagnostics);
    placed_.reset();
    return;
  }
  Count();
}

/// Of the only device that is used.
Status PlacedKernel::ReadFacts() {
  for (const auto& [name, spec] : compilation_.runtime_specs) {
    if (spec.empty()) continue;
    Status selected = driver::StatusOf(kdl_select_device(context_.get(), spec.c_str(), &device_));
    if (!selected.ok()) return selected;
  }
  facts_.size = sizeof facts_;
  return driver::StatusOf(kdl_device_get_facts(device_, &facts_));
}

std::optional<int64_t> PlacedKernel::NanosecondsInKernels() const {
  std::vector<kdl_count> counts(static_cast<size_t>(kdl_device_get_counts(device_, nullptr, 0)));
  kdl_device_get_counts(device_, counts.data(), static_cast<int64_t>(counts.size()));
  auto time = std::ranges::find(counts, std::string_view(KDL_COUNT_KERNEL_TIME), &kdl_count::name);
  return time == counts.end() ? std::nullopt : std::optional(time->value);
}

void PlacedKernel::Count() {
  for (const driver::BoundArgument& argument : bound_->arguments) {
    if (!argument.is_tensor) continue;
    auto bytes = static_cast<double>(argument.tensor.bytes.size());
    double& moved = argument.direction == ir::Direction::In    ? bytes_.read
                    : argument.direction == ir::Direction::Out ? bytes_.written
                                                               : bytes_.changed;
    moved += bytes;
  }
  auto size_of = [&](Name name) -> std::optional<int64_t> {
    for (size_t i = 0; i < bound_->dims.size(); ++i) {
      if (program_->dims[i].text() == name.text()) return bound_->dims[i];
    }
    for (const driver::BoundArgument& argument : bound_->arguments) {
      bool is_number = !argument.is_tensor && IsInteger(argument.tensor.scalar);
      if (is_number && argument.name == name.text())
        return ir::Extended(argument.tensor.scalar, driver::ElementBits(argument.tensor, 0));
    }
    return std::nullopt;
  };
  for (const driver::TargetCode& target : code_->targets) {
    if (const ir::Function* tiled = On(target)) work_ = WorkOf(*target.tiled, *tiled, size_of);
  }
}

const ir::Function* PlacedKernel::On(const driver::TargetCode& level) const {
  if (!level.tiled) return nullptr;
  auto tiled = std::ranges::find_if(level.tiled->functions(), [&](const ir::Function* one) {
    return one->kind == ir::FunctionKind::Kernel && one->name.text() == instance_.text();
  });
  return tiled == level.tiled->functions().end() ? nullptr : *tiled;
}

const driver::TargetCode* PlacedKernel::level() const {
  const driver::TargetCode* best = nullptr;
  for (const driver::TargetCode& one : code_->targets) {
    uint64_t missing = one.target.facts->required_features & ~facts_.features;
    if (missing == 0 && one.kernels.contains(instance_)) best = &one;
  }
  return best;
}

std::map<std::string, int64_t> PlacedKernel::Sizes() const {
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < bound_->dims.size(); ++i) sizes[program_->dims[i].str()] = bound_->dims[i];
  return sizes;
}

Result<std::vector<driver::HostTensor>> PlacedKernel::Written() {
  Status back = placed_->TakeBack(*bound_);
  if (!back.ok()) return back.failure();
  std::vector<driver::HostTensor> written;
  for (const driver::BoundArgument& argument : bound_->arguments) {
    if (argument.is_tensor && argument.direction != ir::Direction::In)
      written.push_back(argument.tensor);
  }
  return written;
}

std::string PlacedKernel::SizesText() const {
  std::string text;
  for (size_t i = 0; i < bound_->dims.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", program_->dims[i].text(), bound_->dims[i]);
  return text;
}

}  // namespace kdl::tools
