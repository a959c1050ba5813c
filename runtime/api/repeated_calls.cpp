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
  const Ownership own(*this);
  return own.place() == nullptr ? CallOnce(kernel, arguments)
                                : CallKept(kernel, arguments, own.place()->kept);
}

bool RepeatedCalls::CallAgain(const kdl_ffi_any* arguments, std::int32_t count, Error* error) {
  const Ownership own(*this);
  if (own.place() == nullptr || !own.place()->kept.has_value()) return false;
  Kept& kept = *own.place()->kept;
  if (!kept.is_prepared || kept.core_num != KDL_CORES_AUTO || !kept.last.AreThese(arguments, count))
    return false;
  kept.counter.Count();
  *error = kept.call->RunKernel();
  return true;
}

Error RepeatedCalls::CallOnce(const CalledKernel& kernel, const DenseArguments& arguments) {
  DirectCall call(device_, workspaces_);
  KDL_RETURN_IF_ERROR(call.Bind(kernel, arguments));
  device_.counters().CountCall();
  return call.RunKernel();
}

bool RepeatedCalls::Kept::Fits(const DenseArguments& arguments) {
  if (!call.has_value() || core_num != arguments.core_num) return false;
  if (last.AreThese(arguments)) return true;
  if (!call->Rebind(arguments)) return false;
  last.Keep(arguments);
  return true;
}

Error RepeatedCalls::CallKept(const CalledKernel& kernel, const DenseArguments& arguments,
                              std::optional<Kept>& place) {
  if (!place.has_value()) place.emplace(device_, *kernel.candidate.variant);
  Kept& kept = *place;
  std::optional<DirectCall>& call = kept.call;
  const bool fits = kept.Fits(arguments);
  if (fits && !kept.is_prepared && NeedsLittle(*kernel.candidate.variant)) {
    KDL_RETURN_IF_ERROR(call->Prepare());
    kept.is_prepared = true;
  } else if (!fits) {
    call.reset();
    kept.is_prepared = false;  // if sizes change with each call, preparing would take time in vain
    call.emplace(device_, workspaces_);
    if (Error error = call->Bind(kernel, arguments)) {
      call.reset();
      return error;
    }
    kept.last.Keep(arguments);
    kept.core_num = arguments.core_num;
  }
  kept.counter.Count();
  return call->RunKernel();
}

}  // namespace kdl::runtime
