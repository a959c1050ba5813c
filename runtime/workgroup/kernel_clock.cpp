#include "workgroup/kernel_clock.h"

#include "core/trace.h"

namespace kdl::runtime {

void KernelClock::Add(const kdl_launch_request& request, std::int64_t ns) {
  sum_ns_ += ns;
  if (request.observer == nullptr) return;
  constexpr std::int32_t kAll = -1;
  const std::int64_t now = TraceNow();
  request.observer->busy(request.observer->context, kAll, now - ns, now);
}

}  // namespace kdl::runtime
