// The part of Device that manages its queues and calls its scheduler.
#include "core/device.h"
#include "core/schedule.h"

namespace kdl::runtime {

Device::Device(const DeviceKind& kind, const DeviceSpec& spec, const Services& services)
    : kind_(kind), spec_(spec), uri_(CanonicalSpec(spec)), services_(services) {}

Device::~Device() {
  // The threads that Retire would wait for exist only in the parent process.
  if (in_child()) return;
  Retire();
  if (state_ != nullptr) ops().close(state_);
}

void Device::Retire() {
  const std::lock_guard lock(mutex_);
  for (const auto& [image, module] : modules_) {
    if (ops().unload != nullptr) ops().unload(state_, module);
  }
  modules_.clear();
  for (auto& queue : queues_) queue.reset();
}

Error Device::FindQueue(std::int32_t index, Queue** queue) {
  if (index < 0 || index >= kMaxQueues) {
    return Invalid("queue ", index, " of ", uri_, " does not exist; queues go from 0 to ",
                   kMaxQueues - 1);
  }
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Queue>& slot = queues_[static_cast<std::size_t>(index)];
  if (slot == nullptr) slot = std::make_unique<Queue>(*this, index, services_.scheduler);
  *queue = slot.get();
  return nullptr;
}

bool Device::in_child() const { return scheduler().in_child(); }

void Device::CheckOrders() const { scheduler().CheckOrders(); }

Error Device::CheckHostAccess(Buffer& buffer, bool writes) const {
  return scheduler().CheckHostAccess(buffer, writes);
}

}  // namespace kdl::runtime
