#include <string>
#include <vector>

#include "driver/run/executor.h"

// The checkpoints of a program: the runtime writes and reads the files.

namespace kdl::driver {

namespace {

/// The tensors of a request in the runtime's types.
class NamedArrays {
 public:
  NamedArrays(const interp::CheckpointRequest& request, const Executor& executor) {
    for (const auto& [name, id] : request.tensors) names_.push_back(name.str());
    for (size_t i = 0; i < names_.size(); ++i)
      arrays_.push_back({names_[i].c_str(), &executor.array(request.tensors[i].second)});
  }
  const kdl_named_array* data() const { return arrays_.data(); }
  int32_t count() const { return static_cast<int32_t>(arrays_.size()); }

 private:
  std::vector<std::string> names_;
  std::vector<kdl_named_array> arrays_;
};

}  // namespace

Status Executor::SetCheckpoints(const CheckpointPlan& plan) {
  if (!plan.writes || plan.files.empty()) return {};
  const char* resume = plan.resume.empty() ? nullptr : plan.resume.c_str();
  if (Status set = StatusOf(kdl_context_resume(context_, resume)); !set.ok()) return set;
  std::vector<const char*> files;
  for (const std::string& file : plan.files) files.push_back(file.c_str());
  kdl_checkpoints* made = nullptr;
  Status status = StatusOf(kdl_checkpoints_create(context_, ranks_.get(), plan.program.c_str(),
                                                  plan.code.c_str(), files.data(),
                                                  static_cast<int32_t>(files.size()), &made));
  checkpoints_.reset(made);
  if (!status.ok()) return status;
  auto changed = [](void* temporary, const char* path) {
    auto& file = *static_cast<std::optional<RemovedBySignal>*>(temporary);
    file.reset();
    if (path) file.emplace(path);
  };
  kdl_checkpoints_observe(made, changed, &temporary_);
  return {};
}

// Both requests always wait for their events, because the program does not wait for these events again.

Status Executor::Checkpoint(const interp::CheckpointRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  if (!checkpoints_) return {};
  std::vector<kdl_arg> numbers;
  for (const auto& number : request.numbers)
    numbers.push_back({nullptr, number.bits, ElementCode(number.scalar), {}});
  NamedArrays arrays(request, *this);
  return StatusOf(kdl_checkpoints_write(
      checkpoints_.get(), request.path.str().c_str(), request.every, numbers.data(),
      static_cast<int32_t>(numbers.size()), arrays.data(), arrays.count()));
}

Status Executor::Restore(interp::CheckpointRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  if (!checkpoints_) return {};
  std::vector<kdl_variable> numbers;
  for (auto& number : request.numbers)
    numbers.push_back({&number.bits, ElementCode(number.scalar)});
  NamedArrays arrays(request, *this);
  return StatusOf(kdl_checkpoints_restore(checkpoints_.get(), request.path.str().c_str(),
                                          numbers.data(), static_cast<int32_t>(numbers.size()),
                                          arrays.data(), arrays.count()));
}

}  // namespace kdl::driver
