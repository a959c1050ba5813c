#include "tools/timing/placed_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "driver/compile/perf_remarks.h"
#include "driver/compile/resume.h"
#include "driver/compile/wanted_targets.h"
#include "driver/diagnostics.h"
#include "driver/run/contracts.h"
#include "driver/run/launch_contract.h"
#include "driver/run/select.h"
#include "driver/run/wrap_kernel.h"
#include "ir/eval/eval.h"
#include "support/contains.h"
#include "tools/loading/load.h"
#include "tools/testing/draw_inputs.h"

namespace kdl::tools {

namespace {

constexpr uint8_t kUnwritten = 0xAB;

}  // namespace

PlacedKernel::PlacedKernel(driver::Options options, const targets::Registry& families,
                           std::string kernel, std::string spec,
                           std::shared_ptr<driver::ScheduleFile> schedules)
    : options_(std::move(options)),
      kernel_(std::move(kernel)),
      spec_(std::move(spec)),
      session_(options_, families) {
  session_.schedules = std::move(schedules);
  session_.wants_remarks = options_.command == driver::Command::Bench;
  auto arguments = driver::ReadArguments(options_, session_.diagnostics);
  if (arguments) Make(*arguments);
}

void PlacedKernel::Make(const std::vector<driver::ArgumentSpec>& arguments) {
  driver::CompileRequest request;
  request.edit = [&](driver::Compilation& made) { return Prepare(made, arguments); };
  request.places = {.under_test = {spec_}, .bindings = options_.device, .keeps_first = true};
  compilation_ = driver::Compile(session_, std::move(request));
  context_ = compilation_.ok() ? Load(session_, compilation_, options_.annotate ? &image_ : nullptr)
                               : nullptr;
  if (!context_) return;
  place_.emplace(driver::RunPlace{context_.get(), *compilation_.module, compilation_.devices[0],
                                  session_.sources, nullptr});
  if (is_program_) before_ = *bound_;
  // Elements that the first run does not write are then noticed by those who read its outputs.
  driver::RunMemory memory;
  if (!options_.out.empty()) memory.poison = kUnwritten;
  placed_.emplace(*place_, *program_, memory);
  Status placed = placed_->Place(*bound_);
  if (placed.ok() && is_program_)
    placed_->executor().SetObserver([this](const auto& request) { Observe(request); });
  if (placed.ok()) placed = placed_->RunProgram();
  if (placed.ok()) placed_->executor().SetObserver(nullptr);
  if (placed.ok() && !options_.out.empty()) placed = WriteOutputs();
  if (session_.diagnostics.has_errors()) placed_.reset();
  if (!placed_) return;
  if (placed.ok()) placed = Restore();
  if (placed.ok()) placed = ReadFacts();
  if (!placed.ok()) {
    driver::ReportFailure(placed.failure(), session_.sources, session_.diagnostics);
    placed_.reset();
    return;
  }
  CountBytes();
  if (is_program_) {
    CountLaunches();
  } else {
    Count();
  }
}

/// Replaces the programs of the module with one that launches the kernel, and binds the kernel's
/// arguments.
bool PlacedKernel::Prepare(driver::Compilation& made,
                           const std::vector<driver::ArgumentSpec>& arguments) {
  if (!options_.program.empty()) return PrepareProgram(made, arguments);
  driver::Options named = options_;
  named.kernel = kernel_;
  std::vector<ir::Function*> kernels =
      driver::SelectKernels(*made.module, options_.files[0], named, session_.diagnostics);
  if (kernels.empty()) return false;
  ir::Function* kernel = kernels[0];
  instance_ = kernel->name;
  where_ = kernel->loc;
  if (!driver::BindGenerics(*kernel, arguments, options_, session_.diagnostics)) return false;
  std::optional<driver::BoundContract> contract =
      driver::FindContract(made.contracts.list, *made.module, *kernel);
  ir::Function* program = driver::WrapKernel(*made.module, *kernel,
                                             driver::DeviceOfAddedLaunch(*made.module, options_));
  if (options_.core_num) driver::SetCoreNum(*made.module, *program, *options_.core_num);
  driver::KeepOnly(*made.module, {program});
  program_ = program;
  driver::Options sizes = driver::WithoutConstants(options_, *kernel);
  bound_ = driver::BindProgram(*made.module, *program, arguments, sizes, session_.diagnostics);
  return bound_ && (!contract || DrawUngiven(*contract, *kernel, session_.sources, *bound_,
                                             session_.diagnostics));
}

bool PlacedKernel::PrepareProgram(driver::Compilation& made,
                                  const std::vector<driver::ArgumentSpec>& arguments) {
  ir::Function* program = driver::SelectFunction(*made.module, options_.files[0], arguments,
                                                 options_, session_.diagnostics);
  if (!program) return false;
  if (options_.core_num) driver::SetCoreNum(*made.module, *program, *options_.core_num);
  driver::KeepOnly(*made.module, {program});
  program_ = program;
  where_ = program->loc;
  is_program_ = true;
  bound_ = driver::BindProgram(*made.module, *program, arguments, options_, session_.diagnostics);
  return bound_.has_value();
}

Status PlacedKernel::WriteOutputs() {
  driver::BoundProgram after = *bound_;
  if (Status back = placed_->TakeBack(after); !back.ok()) return back;
  driver::WriteOutputs({}, after, session_.diagnostics);
  return {};
}

/// Records a launch of the program.
void PlacedKernel::Observe(const interp::LaunchRequest& request) {
  const ir::Function* kernel = compilation_.module->FindFunction(request.kernel);
  std::vector<driver::HostTensor> shapes = placed_->executor().ShapesOf(request);
  for (size_t i = 0; kernel && i < shapes.size(); ++i) {
    if (!request.arguments[i].tensor.valid()) continue;
    auto bytes =
        static_cast<double>(driver::ElementCount(shapes[i].scalar, shapes[i].shape).value_or(0) *
                            Bytes(shapes[i].scalar));
    moved_ += kernel->params[i].direction == ir::Direction::InOut ? 2 * bytes : bytes;
  }
  auto sizes =
      kernel ? driver::SizesAtLaunch(*kernel, shapes, request.constants.text()) : std::nullopt;
  ++launches_[{request.kernel, sizes.value_or(std::map<Name, int64_t>())}];
}

/// Adds up the work of the program's launches.
void PlacedKernel::CountLaunches() {
  for (const driver::TargetCode& target : compilation_.code.targets) {
    std::optional<Operations> all = Operations();
    for (const auto& [launch, count] : launches_) {
      const auto& [name, sizes] = launch;
      const ir::Function* tiled = On(target, name);
      auto size_of = [&](Name wanted) -> std::optional<int64_t> {
        for (const auto& [size, value] : sizes) {
          if (size.text() == wanted.text()) return value;
        }
        return std::nullopt;
      };
      auto one = tiled ? CountWork(*target.tiled, *tiled, size_of) : std::nullopt;
      if (!one) all.reset();
      if (!all) break;
      for (const auto& [scalar, number] : *one)
        (*all)[scalar] += number * static_cast<double>(count);
    }
    if (all) work_ = all;
  }
}

/// Reads the facts of the device. Only one device is in use.
Status PlacedKernel::ReadFacts() {
  for (const auto& [name, spec] : compilation_.devices[0]) {
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

void PlacedKernel::CountBytes() {
  for (const driver::BoundArgument& argument : bound_->arguments) {
    if (!argument.is_tensor) continue;
    auto bytes = static_cast<double>(argument.tensor.bytes.size());
    double& moved = argument.direction == ir::Direction::In    ? bytes_.read
                    : argument.direction == ir::Direction::Out ? bytes_.written
                                                               : bytes_.changed;
    moved += bytes;
  }
  if (!is_program_) moved_ = bytes_.all();
}

void PlacedKernel::Count() {
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
  for (const driver::TargetCode& target : compilation_.code.targets) {
    if (const ir::Function* tiled = On(target)) work_ = CountWork(*target.tiled, *tiled, size_of);
  }
}

const ir::Function* PlacedKernel::On(const driver::TargetCode& level, Name kernel) {
  if (!level.tiled) return nullptr;
  auto tiled = std::ranges::find_if(level.tiled->functions(), [&](const ir::Function* one) {
    return one->kind == ir::FunctionKind::Kernel && one->name.text() == kernel.text();
  });
  return tiled == level.tiled->functions().end() ? nullptr : *tiled;
}

const driver::TargetCode* PlacedKernel::level() const {
  const driver::TargetCode* best = nullptr;
  for (const driver::TargetCode& one : compilation_.code.targets) {
    uint64_t missing = one.target.facts->required_features & ~facts_.features;
    if (missing == 0 && one.kernels.contains(instance_)) best = &one;
  }
  return best;
}

std::vector<passes::Remark> PlacedKernel::Remarks() const {
  std::vector<passes::Remark> remarks;
  const driver::TargetCode* runs = level();
  for (const driver::LevelRemark& one : driver::MergeRemarks(session_, compilation_.code)) {
    bool applies = one.levels.empty() || (runs && Contains(one.levels, runs->target.facts->level));
    if (one.remark.kernel == instance_ && applies) remarks.push_back(one.remark);
  }
  return remarks;
}

std::string PlacedKernel::WorstRemark() const {
  std::vector<passes::Remark> remarks = Remarks();
  if (remarks.empty()) return "";
  const passes::Remark& worst = remarks.front();
  return fmt::format("{}:{}: {} [{}]", worst.loc.line, worst.loc.column, worst.text, worst.id);
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
