#include "core/timeline.h"

#include <utility>

#include "core/caller.h"

namespace kdl::runtime {

Timeline::Timeline(std::shared_ptr<Scheduler> scheduler, std::uint64_t id, std::uint64_t value)
    : scheduler_(std::move(scheduler)), id_(id), value_(value) {}

Timeline::~Timeline() = default;

Event::Event(Ref<Timeline> timeline, std::uint64_t value)
    : timeline_(std::move(timeline)), value_(value) {}

Event::Event(Ref<Timeline> timeline, std::uint64_t value, Caller& caller)
    : timeline_(std::move(timeline)), value_(value), caller_(Ref<Caller>::Share(&caller)) {}

Event::~Event() = default;

// Most waits are added in ascending order of their values, so the search for the position starts at the end
// of the list.
void Timeline::Link(PendingWait* wait) {
  PendingWait* before = last_wait_;
  while (before != nullptr && before->value > wait->value) before = before->before;
  wait->timeline = this;
  wait->before = before;
  wait->after = before == nullptr ? first_wait_ : before->after;
  (before == nullptr ? first_wait_ : before->after) = wait;
  (wait->after == nullptr ? last_wait_ : wait->after->before) = wait;
}

void Timeline::Unlink(PendingWait* wait) {
  (wait->before == nullptr ? first_wait_ : wait->before->after) = wait->after;
  (wait->after == nullptr ? last_wait_ : wait->after->before) = wait->before;
  wait->timeline = nullptr;
}

}  // namespace kdl::runtime
