// The part of the scheduler that checks ordering: it computes clocks and compares them.
#include <new>

#include "core/device.h"
#include "core/schedule.h"

namespace kdl::runtime {

void Scheduler::CheckOrders() {
  const Lock lock(mutex_);
  if (host_order_ == nullptr) host_order_ = std::make_unique<HostOrder>();
}

// Returns what had completed by the time the timeline reached `value`.
Clock Scheduler::ClockOf(const Timeline& timeline, std::uint64_t value,
                         const ClockCell* cell) const {
  if (cell != nullptr) return cell->clock;
  const auto signal = timeline.signals_.lower_bound(value);
  return signal != timeline.signals_.end() ? signal->second : timeline.clock_;
}

void Scheduler::Learn(Timeline& timeline, std::uint64_t value, const ClockCell* cell) {
  if (host_order_ == nullptr) return;
  host_order_->Learn(ClockOf(timeline, value, cell), {timeline.id_, value});
}

void Scheduler::CheckOrder(Operation& operation) {
  FailurePtr failure;
  try {
    failure = FindRace(operation);
  } catch (const std::bad_alloc&) {
    failure = no_memory_;
  }
  if (!operation.failure_) operation.failure_ = std::move(failure);
}

FailurePtr Scheduler::FindRace(Operation& operation) {
  OrderNote& note = *operation.order_;
  Timeline& timeline = *operation.queue_->timeline_;
  Clock& clock = note.cell->clock;
  clock = note.host;
  Join(&clock, timeline.clock_);
  if (operation.value_ > 1) Join(&clock, {{timeline.id_, operation.value_ - 1}});
  for (const Ref<Event>& event : note.after) {
    FailurePtr unused;
    const State state = Poll(event->timeline(), event->value(), &unused);
    // An event of an operation that was submitted to the same device has a clock even before the operation
    // has ended, because the device orders this operation after it.
    if (state == State::kPending && event->cell_ == nullptr) continue;
    Join(&clock, ClockOf(event->timeline(), event->value(), event->cell_.get()));
    Join(&clock, {{event->timeline().id_, event->value()}});
  }
  note.after.clear();
  timeline.clock_ = clock;
  if (operation.failure_) return {};
  const TimelinePoint point = {timeline.id_, operation.value_};
  const std::string who = operation.Describe();
  const std::vector<Access> accesses = operation.Accesses();
  for (const Access& access : accesses) {
    const std::string conflict = access.buffer->access_log().FindConflict(access, clock);
    if (conflict.empty()) continue;
    return MakeFailure(
        Invalid(who, access.writes ? " writes " : " reads ", Describe(*access.buffer), ", and ",
                conflict, ", but nothing orders the two; let one wait for the event of the other"));
  }
  for (const Access& access : accesses) {
    access.buffer->access_log().Add(access, clock, point, who);
  }
  return {};
}

void Scheduler::LearnInHostCall(Operation& operation) {
  try {
    host_order_->Learn(operation.order_->cell->clock,
                       {operation.queue_->timeline_->id_, operation.value_});
  } catch (const std::bad_alloc&) {
    operation.failure_ = no_memory_;
  }
}

void Scheduler::LearnFromHostCall(Operation& operation) {
  try {
    Join(&operation.order_->cell->clock, host_order_->clock());
    Join(&operation.queue_->timeline_->clock_, host_order_->clock());
  } catch (const std::bad_alloc&) {
    if (!operation.failure_) operation.failure_ = no_memory_;
  }
}

Error Scheduler::CheckHostAccess(Buffer& buffer, bool writes) {
  const Lock lock(mutex_);
  if (host_order_ == nullptr || buffer.bytes() == 0) return nullptr;
  const std::string conflict =
      host_order_->Touch({&buffer, WholeOf(buffer), writes}, &buffer.access_log());
  if (conflict.empty()) return nullptr;
  return Invalid("the host ", writes ? "writes " : "reads ", Describe(buffer), ", and ", conflict,
                 "; the host must wait for its event first");
}

}  // namespace kdl::runtime
