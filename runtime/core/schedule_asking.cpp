// The part of the scheduler for devices that complete operations only when they are asked to wait for them.
#include <utility>

#include "core/device.h"
#include "core/schedule.h"

namespace kdl::runtime {

void Scheduler::Want(Queue& queue, std::uint64_t value) {
  if (value <= queue.wanted_ || !queue.device().must_be_asked()) return;
  queue.wanted_ = value;
  Ask(queue);
}

void Scheduler::LimitLength(Queue& queue) {
  constexpr std::size_t kOften = 256;
  constexpr std::size_t kMost = 1024;
  if (queue.length_ >= kMost && queue.length_ % kOften == 0)
    Want(queue, queue.last_value_ - kMost / 2);
}

void Scheduler::Ask(Queue& queue) {
  const Operation* first = queue.first_;
  const bool is_needed =
      first != nullptr && first->is_with_device_ && first->value_ <= queue.wanted_;
  if (!is_needed || queue.is_asking_ || !queue.device().must_be_asked()) return;
  queue.is_asking_ = true;
  (last_asking_ == nullptr ? first_asking_ : last_asking_->next_asking_) = &queue;
  last_asking_ = &queue;
  ++ready_;
  if (waiting_ > 0) changed_.notify_all();
  // Callers often wait for the operation next, and then their thread asks.
  runners_.Summon(true);
}

bool Scheduler::AskFirst(Lock& lock) {
  Queue* queue = first_asking_;
  if (queue == nullptr) return false;
  first_asking_ = std::exchange(queue->next_asking_, nullptr);
  if (first_asking_ == nullptr) last_asking_ = nullptr;
  queue->is_asking_ = false;
  --ready_;
  Await(lock, *queue, queue->wanted_);
  return true;
}

void Scheduler::Await(Lock& lock, Queue& queue, std::uint64_t value) {
  const Device& device = queue.device();
  ++awaiting_;
  lock.unlock();
  device.ops().wait(device.state(), queue.index(), value);
  lock.lock();
  --awaiting_;
  Ask(queue);  // for operations that were submitted meanwhile
  if (is_closed_) changed_.notify_all();
}

Queue* Scheduler::FindAwaited(const Timeline& timeline, std::uint64_t* value, int depth) const {
  constexpr int kDeepest = 4;
  Queue* queue = timeline.queue_;
  if (queue == nullptr || queue->first_ == nullptr || depth > kDeepest) return nullptr;
  const Operation& first = *queue->first_;
  if (first.value_ > *value) return nullptr;
  if (first.is_with_device_) return queue->device().must_be_asked() ? queue : nullptr;
  for (const PendingWait& wait : first.waits_) {
    if (wait.timeline == nullptr || wait.is_devices) continue;
    *value = wait.value;
    return FindAwaited(*wait.timeline, value, depth + 1);
  }
  return nullptr;
}

}  // namespace kdl::runtime
