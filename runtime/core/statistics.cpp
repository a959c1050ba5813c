#include "core/statistics.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace kdl::runtime {

CallCounter::CallCounter(DeviceCounters& device) : device_(device) { device.Add(this); }

CallCounter::~CallCounter() { device_.Remove(this); }

void DeviceCounters::Add(const CallCounter* counter) {
  const std::lock_guard lock(counters_mutex_);
  counters_.push_back(counter);
}

void DeviceCounters::Remove(const CallCounter* counter) {
  const std::lock_guard lock(counters_mutex_);
  std::erase(counters_, counter);
  calls_ += counter->calls();
}

void DeviceCounters::CountAllocation(std::int64_t bytes) {
  ++allocations_;
  bytes_allocated_ += bytes;
  const std::int64_t now = bytes_in_use_ += bytes;
  std::int64_t peak = bytes_peak_;
  while (now > peak && !bytes_peak_.compare_exchange_weak(peak, now)) {
  }
}

kdl_statistics DeviceCounters::Read() const {
  const std::lock_guard lock(counters_mutex_);
  std::int64_t calls = calls_;
  for (const CallCounter* counter : counters_) calls += counter->calls();
  return {.launches = launches_ + calls,
          .copies = copies_,
          .bytes_copied = bytes_copied_,
          .fills = fills_,
          .allocations = allocations_,
          .bytes_allocated = bytes_allocated_,
          .bytes_in_use = bytes_in_use_,
          .bytes_peak = bytes_peak_};
}

void TransferLog::Add(const char* cause, const char* from, const char* to, const char* tensor,
                      std::int64_t bytes) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  const Key key(from, to, tensor, cause);
  const auto key_of = [](const Entry& entry) {
    return Key(entry.from, entry.to, entry.tensor, entry.cause);
  };
  const std::lock_guard lock(mutex_);
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const Entry& known) { return key_of(known) >= key; });
  if (entry == entries_.end() || key_of(*entry) != key)
    entry = entries_.insert(entry, Entry{cause, from, to, tensor});
  ++entry->count;
  entry->bytes += bytes;
}

std::int64_t TransferLog::Read(kdl_transfer* transfers, std::int64_t capacity) const {
  const std::lock_guard lock(mutex_);
  std::int64_t at = 0;
  for (const Entry& entry : entries_) {
    if (at < capacity) {
      transfers[at] = {entry.cause.c_str(),  entry.from.c_str(), entry.to.c_str(),
                       entry.tensor.c_str(), entry.count,        entry.bytes};
    }
    ++at;
  }
  return at;
}

}  // namespace kdl::runtime
