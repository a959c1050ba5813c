#include "api/repeated_calls.h"

namespace kdl::runtime {

namespace {

// Whether a kernel needs no memory that its calls share, so that what a call binds may be kept.
bool MayKeep(const kdl_variant& variant) {
  return variant.frame_bytes == 0 && variant.footprint_bytes == 0 &&
         variant.shared_bytes == nullptr;
}

// Whether a kernel's calls may keep the memory that the kernel needs on each core. If not, they borrow it.
bool NeedsLittle(const kdl_variant& variant) {
  constexpr std::int64_t kMost = 16 * 1024;
  return variant.scratch_bytes <= kMost;
}

}  // namespace

Error RepeatedCalls::Call(const CalledKernel& kernel, const DenseArguments& arguments) {
  if (!MayKeep(*kernel.candidate.variant)) return CallOnce(kernel, arguments);
  const Ownership own(is_taken_);
  return own.has_it() ? CallKept(kernel, arguments) : CallOnce(kernel, arguments);
}

Error RepeatedCalls::CallOnce(const CalledKernel& kernel, const DenseArguments& arguments) {
  DirectCall call(device_, workspaces_);
  KDL_RETURN_IF_ERROR(call.Bind(kernel, arguments));
  device_.counters().CountCall();
  return call.RunKernel();
}

bool RepeatedCalls::Fits(const DenseArguments& arguments) {
  if (!kept_->call.has_value() || kept_->core_num != arguments.core_num) return false;
  if (kept_->last.AreThese(arguments)) return true;
  if (!kept_->call->Rebind(arguments)) return false;
  kept_->last.Keep(arguments);
  return true;
}

Error RepeatedCalls::CallKept(const CalledKernel& kernel, const DenseArguments& arguments) {
  if (!kept_.has_value()) kept_.emplace(device_, *kernel.candidate.variant);
  std::optional<DirectCall>& call = kept_->call;
  const bool fits = Fits(arguments);
  if (fits && !kept_->is_prepared && NeedsLittle(*kernel.candidate.variant)) {
    KDL_RETURN_IF_ERROR(call->Prepare());
    kept_->is_prepared = true;
  } else if (!fits) {
    call.reset();
    call.emplace(device_, workspaces_);
    if (Error error = call->Bind(kernel, arguments)) {
      call.reset();
      return error;
    }
    kept_->last.Keep(arguments);
    kept_->core_num = arguments.core_num;
    kept_->is_prepared = false;  // if sizes change with each call, that would take time in vain
  }
  kept_->counter.Count();
  return call->RunKernel();
}

}  // namespace kdl::runtime
