#include "tools/measure/crew.h"

#include <algorithm>

#include "support/machine.h"

namespace kdl::measure {

namespace {

// The number of polls before a thread sleeps. It is large enough to bridge the time until the next
// call in a trial, and small enough not to slow down the code that is measured next.
constexpr int kLooks = 20'000;

template <class T>
void WaitWhile(const std::atomic<T>& value, T old) {
  for (int look = 0; look < kLooks; ++look) {
    if (value.load(std::memory_order_acquire) != old) return;
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Crew::Crew(const std::vector<int>& processors)
    : size_(static_cast<int>(processors.size())), before_(AllowedProcessors()) {
  if (size_ > 1) StayOn({processors[0]});
  for (int number = 1; number < size_; ++number) {
    others_.emplace_back([this, number, processor = processors[static_cast<std::size_t>(number)]] {
      StayOn({processor});
      Work(number);
    });
  }
}

Crew::~Crew() {
  over_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  StayOn(before_);
}

void Crew::Do(std::int64_t count, std::int64_t grain,
              const std::function<void(std::int64_t, std::int64_t)>& part) {
  if (count <= 0) return;
  if (count <= grain) return part(0, count);
  count_ = count;
  grain_ = grain;
  part_ = &part;
  busy_ = size_ - 1;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  Take(0);
  for (int left = busy_; left != 0; left = busy_) WaitWhile(busy_, left);
}

void Crew::Work(int number) {
  for (std::uint64_t seen = 0;;) {
    WaitWhile(round_, seen);
    seen = round_;
    if (over_) return;
    Take(number);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void Crew::Take(int number) const {
  const std::int64_t grains = (count_ + grain_ - 1) / grain_;
  const std::int64_t first = grains * number / size_ * grain_;
  const std::int64_t end = std::min(grains * (number + 1) / size_ * grain_, count_);
  if (first < end) (*part_)(first, end - first);
}

}  // namespace kdl::measure
