#include "driver/run/started_operations.h"

#include <utility>

#include "driver/run/runtime_values.h"

namespace kdl::driver {

using interp::EventId;

namespace {

/// How far a program may be ahead of its operations. More would not keep a device busier, but each operation needs memory,
/// and keeps that of its tensors.
constexpr size_t kMostStarted = 64;

}  // namespace

Result<EventId> StartedOperations::Add(kdl_event* event) {
  auto number = first_ + static_cast<uint32_t>(events_.size());
  events_.push_back(event);
  if (number + 1 == EventId::kNone) events_.push_back(nullptr);  // no operation has this id
  if (events_.size() > kMostStarted) {
    if (Status done = WaitForOldest(); !done.ok()) return done.failure();
  }
  return EventId(number);
}

std::vector<kdl_event*> StartedOperations::Find(const std::vector<EventId>& ids) const {
  std::vector<kdl_event*> found;
  for (EventId id : ids) {
    uint32_t place = id.value - first_;
    if (id.valid() && place < events_.size()) found.push_back(events_[place]);
  }
  return found;
}

/// An event that has failed is kept, for those that wait for it.
Status StartedOperations::WaitForOldest() {
  if (Status done = StatusOf(kdl_event_wait(events_.front(), -1)); !done.ok()) return done;
  kdl_event_free(events_.front());
  events_.pop_front();
  ++first_;
  return {};
}

Status StartedOperations::WaitForAll() {
  while (!events_.empty()) {
    if (Status done = WaitForOldest(); !done.ok()) return done;
  }
  return {};
}

Status StartedOperations::End() {
  Status first;
  for (kdl_event* event : events_) {
    Status status = StatusOf(kdl_event_wait(event, -1));
    if (first.ok()) first = std::move(status);
  }
  return first;
}

void StartedOperations::Forget() {
  for (kdl_event* event : events_) kdl_event_free(event);
  first_ += static_cast<uint32_t>(events_.size());
  events_.clear();
}

}  // namespace kdl::driver
