#include "api/rank_processes.h"

#include <utility>

#include "api/rank_extremes.h"
#include "api/rank_failures.h"
#include "kdl/first_and_others.hpp"

namespace kdl::runtime {

Processes::~Processes() {
  if (transport_.release != nullptr) transport_.release(transport_.state);
}

Error Processes::Claim() {
  const std::lock_guard lock(mutex_);
  if (thread_ != std::thread::id())
    return Invalid(
        "another thread runs a program over these ranks; only one thread at a time can call "
        "programs over the ranks of a context, so use a context for each thread");
  thread_ = std::this_thread::get_id();
  return nullptr;
}

bool Processes::IsClaimed() {
  const std::lock_guard lock(mutex_);
  return thread_ == std::this_thread::get_id();
}

void Processes::Release() {
  const std::lock_guard lock(mutex_);
  thread_ = {};
}

Error Processes::Begin(const ProgramCall& call, Error failure) {
  if (transport_.count == 1) return failure;
  KDL_RETURN_IF_ERROR(Claim());
  Error failed = Agree(transport_, call, std::move(failure));
  if (!failed && transport_.watch != nullptr) failed = Error(transport_.watch(transport_.state));
  if (failed) Release();
  return failed;
}

Error Processes::End(Error failure) {
  if (transport_.count == 1 || !IsClaimed()) return failure;
  if (transport_.watch != nullptr) failure = Finish(std::move(failure));
  Release();
  return failure;
}

// If the transport fails, the memory of its transfers remains in use.
Error Processes::Finish(Error failure) {
  KDL_RETURN_IF_ERROR(Error(transport_.stop(transport_.state, failure ? 1 : 0)));
  std::vector<Extremes> values;
  AddFailure(transport_, failure.get(), values);
  KDL_RETURN_IF_ERROR(CombineAll(transport_, ranks::kEndTag, values));
  Error common = CommonFailure(transport_, values, std::move(failure));
  if (common) KDL_RETURN_IF_ERROR(Error(transport_.settle(transport_.state)));
  kept_.clear();
  return common;
}

void Processes::Keep(std::shared_ptr<const void> memory) { kept_.push_back(std::move(memory)); }

}  // namespace kdl::runtime
