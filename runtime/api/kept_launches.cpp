#include "api/kept_launches.h"

#include <algorithm>
#include <span>

namespace kdl::runtime {

namespace {

// How many launches a caller keeps.
constexpr std::size_t kMost = 32;
// A launch that needs more memory for its cores allocates it for each run.
constexpr std::int64_t kMostMemory = std::int64_t{1} << 20;

// Returns a number that no other buffer ever has, or 0 if there is none. A buffer that is not ours has no number of its own.
std::uint64_t NumberOf(const kdl_buffer* buffer) {
  if (buffer == nullptr) return 0;
  return IsOurs(buffer) ? Unwrap(buffer)->number() : UINT64_MAX;
}

bool IsSameView(const kdl_tensor& a, const kdl_tensor& b) {
  return a.data == b.data && a.rank == b.rank && a.element == b.element &&
         std::equal(a.size, a.size + a.rank, b.size) &&
         std::equal(a.stride, a.stride + a.rank, b.stride);
}

std::span<const kdl_arg> ArgumentsOf(const LaunchCall& call) {
  return {call.args, static_cast<std::size_t>(call.arg_count)};
}

}  // namespace

KeptLaunch::Argument::Argument(const kdl_arg& given)
    : arg(given), buffer(0), view{}, is_tensor(given.array != nullptr) {
  arg.array = nullptr;
  if (!is_tensor) return;
  buffer = NumberOf(given.array->buffer);
  view = given.array->view;
}

bool KeptLaunch::Argument::IsLike(const kdl_arg& given) const {
  if (is_tensor != (given.array != nullptr)) return false;
  if (!is_tensor) return arg.element == given.element && arg.bits == given.bits;
  if (buffer != NumberOf(given.array->buffer)) return false;
  return buffer == 0 || IsSameView(view, given.array->view);
}

void KeptLaunch::Keep(const LaunchCall& call) {
  memory_ = operation_.memory();
  function_ = call.function;
  core_num_ = call.core_num;
  workspace_ = NumberOf(call.workspace);
  for (const kdl_arg& arg : ArgumentsOf(call)) arguments_.emplace_back(arg);
}

bool KeptLaunch::Fits(const LaunchCall& call) const {
  if (function_ != call.function || core_num_ != call.core_num ||
      workspace_ != NumberOf(call.workspace))
    return false;
  return std::ranges::equal(
      arguments_, ArgumentsOf(call),
      [](const Argument& known, const kdl_arg& given) { return known.IsLike(given); });
}

Error KeptLaunch::Rearm() {
  operation_.Rearm();
  if (++runs_ == 2) return operation_.Reserve();
  return nullptr;
}

Error KeptLaunches::Find(const LaunchCall& call, KeptLaunch** kept) {
  for (const std::unique_ptr<KeptLaunch>& one : launches_) {
    if (!one->Fits(call)) continue;
    *kept = one.get();
    return nullptr;
  }
  auto made = std::make_unique<KeptLaunch>(call.caller.queue());
  KDL_RETURN_IF_ERROR(Prepare(call, &made->operation()));
  *kept = nullptr;
  if (made->operation().binding().workspace_bytes > kMostMemory && call.workspace == nullptr)
    return nullptr;
  made->Keep(call);
  *kept = made.get();
  if (launches_.size() < kMost) {
    launches_.push_back(std::move(made));
  } else {
    launches_[oldest_] = std::move(made);
    oldest_ = (oldest_ + 1) % kMost;
  }
  return nullptr;
}

}  // namespace kdl::runtime
