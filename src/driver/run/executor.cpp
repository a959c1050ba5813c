#include "driver/run/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "driver/run/contracts.h"
#include "driver/run/launch_contract.h"
#include "interp/contract.h"
#include "support/check.h"
#include "targets/kinds.h"

namespace kdl::driver {

namespace {

using interp::EventId;
using interp::TensorId;

bool SameTypes(const ir::Function& a, const ir::Function& b) {
  auto same = [](const ir::Param& p, const ir::Param& q) {
    ir::Type left = p.value->type();
    ir::Type right = q.value->type();
    return left->kind == right->kind && left->scalar == right->scalar &&
           left->dims.size() == right->dims.size();
  };
  return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(), same);
}

}  // namespace

Executor::Executor(kdl_context* context, const ir::Module& module,
                   std::map<Name, kdl_device*> devices)
    : context_(context), module_(module), devices_(std::move(devices)) {
  KDL_CHECK(SetRanks({}).ok(), "a program has one rank");
}

Executor::~Executor() {
  for (kdl_array& array : tensors_) kdl_array_free(&array);
  for (const Workspace& workspace : workspaces_) kdl_buffer_free(workspace.buffer);
}

TensorId Executor::Add(const kdl_array& array) {
  if (free_tensors_.empty()) {
    tensors_.push_back(array);
    return TensorId(static_cast<uint32_t>(tensors_.size() - 1));
  }
  TensorId tensor = free_tensors_.back();
  free_tensors_.pop_back();
  tensors_[tensor.value] = array;
  return tensor;
}

void Executor::Remove(TensorId tensor) {
  kdl_array_free(&tensors_[tensor.value]);
  free_tensors_.push_back(tensor);
}

Status Executor::RunProgram(const ir::Function& program,
                            const interp::ProgramArguments& arguments) {
  if (Status agreed = Agree(program, arguments); !agreed.ok()) return agreed;
  Status walked = interp::RunProgram(module_, program, arguments, *this);
  Status worked = started_.End();
  return worked.ok() ? walked : worked;
}

void Executor::ForgetRuns(size_t arguments) {
  started_.Forget();
  for (const auto& [first, memories] : memories_) kdl_ranks_remove(ranks_.get(), &tensors_[first]);
  memories_.clear();
  for (size_t i = arguments; i < tensors_.size(); ++i) kdl_array_free(&tensors_[i]);
  tensors_.resize(arguments);
  free_tensors_.clear();
  for (const Workspace& workspace : workspaces_) kdl_buffer_free(workspace.buffer);
  workspaces_.clear();
}

std::vector<HostTensor> Executor::ShapesOf(const interp::LaunchRequest& request) const {
  std::vector<HostTensor> found;
  for (const interp::LaunchArgument& argument : request.arguments) {
    HostTensor& one = found.emplace_back(HostTensor{argument.scalar, {}, {}});
    if (argument.tensor.valid()) {
      const auto& view = array(argument.tensor).view;
      one.shape.assign(view.size, view.size + view.rank);
    } else {
      one.bytes.resize(static_cast<size_t>(Bytes(argument.scalar)));
      SetElementBits(one, 0, argument.bits);
    }
  }
  return found;
}

Result<kdl_device*> Executor::FindDevice(Name name) const {
  auto found = devices_.find(name);
  if (found == devices_.end()) {
    return Failure{fmt::format("device '{0}' is not bound; bind it with --device {0}=SPEC, for "
                               "example --device {0}=host",
                               name.text()),
                   FailureKind::User};
  }
  return found->second;
}

Result<kdl_queue*> Executor::FindQueue(Name device, int64_t index) {
  Result<kdl_device*> found = FindDevice(device);
  if (!found.ok()) return found.failure();
  kdl_queue* queue = nullptr;
  auto number = static_cast<int32_t>(std::clamp<int64_t>(index, INT32_MIN, INT32_MAX));
  Status status = StatusOf(kdl_device_queue(*found, number, &queue));
  if (!status.ok()) return status.failure();
  return queue;
}

Result<EventId> Executor::Join(kdl_queue* queue, const std::vector<EventId>& after) {
  std::vector<kdl_event*> events = started_.Find(after);
  kdl_event* done = nullptr;
  auto nothing = [](void*) -> kdl_error* { return nullptr; };
  Status status = StatusOf(kdl_host_call(queue, nothing, nullptr, nullptr, events.data(),
                                         static_cast<int32_t>(events.size()), &done));
  if (!status.ok()) return status.failure();
  return started_.Add(done);
}

/// Waits for all events. A launch may depend on other launches only through their order in its
/// queue, so a reader of its results must wait for all of them.
Status Executor::WaitForStarted() { return started_.WaitForAll(); }

Status Executor::WaitFor(const std::vector<EventId>& after) {
  for (kdl_event* event : started_.Find(after)) {
    if (Status done = StatusOf(kdl_event_wait(event, -1)); !done.ok()) return done;
  }
  return {};
}

Status Executor::ReadAll(const std::vector<interp::LaunchArgument>& arguments,
                         const std::vector<EventId>& after, std::vector<HostTensor>& values,
                         interp::ContractData& data) {
  if (Status done = WaitFor(after); !done.ok()) return done;
  values.resize(arguments.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const interp::LaunchArgument& argument = arguments[i];
    values[i].scalar = argument.scalar;
    if (argument.tensor.valid()) {
      if (Status read = Read(argument.tensor, values[i]); !read.ok()) return read;
    } else {
      values[i].bytes.resize(static_cast<size_t>(Bytes(argument.scalar)));
      SetElementBits(values[i], 0, argument.bits);
    }
    data.now.push_back({values[i].bytes.data(), argument.scalar, values[i].shape,
                        interp::RowMajorStrides(values[i].shape)});
  }
  data.old.resize(values.size());
  return {};
}

namespace {

std::function<std::optional<int64_t>(Name)> SizeLookup(const std::map<Name, int64_t>& sizes) {
  return [&sizes](Name name) -> std::optional<int64_t> {
    auto known = sizes.find(name);
    return known == sizes.end() ? std::nullopt : std::optional(known->second);
  };
}

}  // namespace

Status Executor::Expect(const interp::ExpectRequest& request) {
  KDL_CHECK(contracts_, "a test runs without its contracts");
  interp::ContractData data;
  std::vector<HostTensor> values;
  Status read = ReadAll(request.arguments, request.after, values, data);
  if (!read.ok()) return read;
  data.size = request.sizes;
  const ir::Contract& contract = (*contracts_)[static_cast<size_t>(request.contract)];
  auto broken = interp::BrokenRequirements(contract, data, 1);
  if (!broken.empty()) {
    return Failure{broken[0].malformed ? broken[0].text
                                       : fmt::format("this does not hold{}", broken[0].text)};
  }
  if (auto wrong = interp::BrokenEquation(contract, data)) return Failure{wrong->text};
  return {};
}

Result<int64_t> Executor::Cores(Name device) {
  Result<kdl_device*> found = FindDevice(device);
  if (!found.ok()) return found.failure();
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  Status known = StatusOf(kdl_device_get_facts(*found, &facts));
  return known.ok() ? Result<int64_t>(facts.cores) : known.failure();
}

Result<EventId> Executor::Mark(Name device, int64_t queue) {
  Result<kdl_queue*> found = FindQueue(device, queue);
  if (!found.ok()) return found.failure();
  return Join(*found, {});
}

/// Returns `module.kernel<constants>`. Types are among the constants, but are included only if the
/// argument types do not identify the kernel.
std::string Executor::RuntimeNameOf(Name function, Name bound, TypeNames types) const {
  const ir::Function* kernel = module_.FindFunction(function);
  KDL_CHECK(kernel, "launch of '{}', which is not in the module", function.text());
  std::string constants = bound.str();
  bool is_ambiguous = std::any_of(
      module_.functions().begin(), module_.functions().end(), [&](const ir::Function* other) {
        return other != kernel && other->kind == ir::FunctionKind::Kernel &&
               other->base_name() == kernel->base_name() &&
               (types == TypeNames::WhereSeveral || SameTypes(*kernel, *other));
      });
  if (is_ambiguous) {
    for (const ir::TypeBinding& binding : kernel->bindings) {
      constants += fmt::format("{}{}={}", constants.empty() ? "" : ", ", binding.name.text(),
                               Spelling(binding.scalar));
    }
  }
  std::string name(kernel->base_name());
  if (!module_.name.empty()) name = fmt::format("{}.{}", module_.name.text(), name);
  return constants.empty() ? name : fmt::format("{}<{}>", name, constants);
}

Result<interp::WorkspaceId> Executor::MakeWorkspace(Name device, Name name) {
  Result<kdl_device*> found = FindDevice(device);
  if (!found.ok()) return found.failure();
  workspaces_.push_back({*found, name, nullptr});
  return interp::WorkspaceId(static_cast<uint32_t>(workspaces_.size() - 1));
}

Result<int64_t> Executor::Footprint(Name device, Name kernel, Name constants) {
  Result<kdl_device*> found = FindDevice(device);
  if (!found.ok()) return found.failure();
  const kdl_function* function = nullptr;
  std::string name = RuntimeNameOf(kernel, constants, TypeNames::WhereSeveral);
  Status status = StatusOf(kdl_context_find_kernel(context_, name.c_str(), &function));
  int64_t bytes = 0;
  if (status.ok()) status = StatusOf(kdl_function_footprint(function, *found, &bytes));
  return status.ok() ? Result<int64_t>(bytes) : status.failure();
}

/// If the program computed a number of cores that happens to equal KDL_CORES_AUTO, returns 0, which
/// the launch rejects like any other invalid number of cores.
Result<int64_t> Executor::Instances(Name device, std::optional<int64_t> core_num) {
  Result<kdl_device*> found = FindDevice(device);
  if (!found.ok()) return found.failure();
  if (core_num == KDL_CORES_AUTO) return int64_t{0};
  return kdl_device_instances(*found, core_num.value_or(KDL_CORES_AUTO));
}

Status Executor::Reserve(const interp::ReserveRequest& request) {
  Workspace& workspace = workspaces_[request.workspace.value];
  return StatusOf(kdl_workspace_reserve(workspace.device, request.instances, request.footprint,
                                        workspace.name.str().c_str(), &workspace.buffer));
}

/// Returns the contract of the kernel with the launch's data. Returns a failure if the requirements
/// are not met.
Result<Executor::CheckedLaunch> Executor::CheckRequired(const interp::LaunchRequest& request) {
  Result<kdl_device*> device = FindDevice(request.device);
  bool is_debug = device.ok() && kdl_device_kind(*device) == targets::kDebugKind;
  if (!contracts_ || (checks_ == LaunchChecks::Nothing && !is_debug)) return CheckedLaunch();
  const ir::Function* kernel = module_.FindFunction(request.kernel);
  auto contract = kernel ? FindContract(*contracts_, module_, *kernel) : std::nullopt;
  bool ensures = checks_ == LaunchChecks::All;
  if (!contract || (contract->contract->requirements.empty() && !ensures)) return CheckedLaunch();
  CheckedLaunch launch;
  interp::ContractData data;
  if (Status settled = WaitForStarted(); !settled.ok()) return settled.failure();
  Status read = ReadAll(request.arguments, {}, launch.before, data);
  if (!read.ok()) return read.failure();
  auto sizes = SizesAtLaunch(*kernel, launch.before, request.constants.text());
  if (!sizes) return CheckedLaunch();  // the launch itself reports the mismatch
  launch.contract = std::move(contract);
  launch.sizes = std::move(*sizes);
  for (size_t i = 0; i < launch.before.size(); ++i) data.old[i] = launch.before[i].bytes.data();
  data.size = SizeLookup(launch.sizes);
  auto broken = interp::BrokenRequirements(*launch.contract->contract, data, 1);
  if (broken.empty()) return launch;
  return Failure{DescribeRequired(broken[0], *sources_), FailureKind::User};
}

/// Checks that a finished launch meets the kernel's contract.
Status Executor::CheckEnsured(const interp::LaunchRequest& request, const CheckedLaunch& launch,
                              interp::EventId done) {
  if (!launch.contract || checks_ != LaunchChecks::All) return {};
  interp::ContractData data;
  std::vector<HostTensor> values;
  Status read = ReadAll(request.arguments, {done}, values, data);
  if (!read.ok()) return read;
  for (size_t i = 0; i < values.size(); ++i) data.old[i] = launch.before[i].bytes.data();
  data.size = SizeLookup(launch.sizes);
  auto broken = interp::BrokenEquation(*launch.contract->contract, data);
  if (!broken) return {};
  return Failure{DescribeEnsured(*broken, *sources_), FailureKind::User};
}

Result<EventId> Executor::Launch(const interp::LaunchRequest& request) {
  if (observer_) observer_(request);
  Result<CheckedLaunch> checked = CheckRequired(request);
  if (!checked.ok()) return checked.failure();
  Result<EventId> done = StartLaunch(request);
  if (!done.ok()) return done;
  Status ensured = CheckEnsured(request, *checked, *done);
  return ensured.ok() ? done : ensured.failure();
}

Result<Executor::Launching> Executor::Prepare(const interp::LaunchRequest& request) {
  Launching launch;
  Result<kdl_queue*> queue = FindQueue(request.device, request.queue);
  if (!queue.ok()) return queue.failure();
  launch.queue = *queue;
  std::string name = RuntimeNameOf(request.kernel, request.constants, TypeNames::WhereNeeded);
  Status status = StatusOf(kdl_context_find_kernel(context_, name.c_str(), &launch.function));
  if (!status.ok()) return status.failure();
  for (const interp::LaunchArgument& argument : request.arguments) {
    kdl_arg arg = {};
    if (argument.tensor.valid()) {
      arg.array = &array(argument.tensor);
    } else {
      arg.bits = argument.bits;
      arg.element = ElementCode(argument.scalar);
    }
    launch.args.push_back(arg);
  }
  if (request.core_num ==
      KDL_CORES_AUTO) {  // the program computed this number, so it does not mean `auto`
    return Failure{fmt::format("launch of '{}': core_num is {}; a launch runs on 1 core or more",
                               name, *request.core_num),
                   FailureKind::User};
  }
  launch.core_num = request.core_num.value_or(KDL_CORES_AUTO);
  if (request.workspace.valid()) launch.workspace = workspaces_[request.workspace.value].buffer;
  return launch;
}

Result<EventId> Executor::StartLaunch(const interp::LaunchRequest& request) {
  Result<Launching> launch = Prepare(request);
  if (!launch.ok()) return launch.failure();
  // What has been requested travels while the kernel runs.
  Status sending = StatusOf(kdl_ranks_start_fetches(ranks_.get(), launch->queue));
  if (!sending.ok()) return sending.failure();
  last_ = std::move(*launch);
  std::vector<kdl_event*> after = started_.Find(request.after);
  kdl_event* done = nullptr;
  Status status =
      StatusOf(kdl_launch_kernel(last_.queue, last_.function, last_.core_num, last_.args.data(),
                                 static_cast<int32_t>(last_.args.size()), last_.workspace,
                                 after.data(), static_cast<int32_t>(after.size()), &done));
  if (!status.ok()) return status.failure();
  return started_.Add(done);
}

Status Executor::Relaunch() {
  return StatusOf(kdl_run_kernel(last_.queue, last_.function, last_.core_num, last_.args.data(),
                                 static_cast<int32_t>(last_.args.size()), last_.workspace, nullptr,
                                 0));
}

}  // namespace kdl::driver
