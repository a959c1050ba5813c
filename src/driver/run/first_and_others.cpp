#include "driver/run/first_and_others.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "driver/run/executor.h"

namespace kdl::driver {

Status FirstAndOthers::Broadcast(std::span<char> bytes) {
  if (!transport_) return {};
  auto size = static_cast<int64_t>(bytes.size());
  if (!IsFirst()) {
    Status begun = StatusOf(transport_->receive(transport_->state, 0, bytes.data(), size));
    return begun.ok() ? Wait() : begun;
  }
  for (int64_t rank = 1; rank < transport_->count; ++rank) {
    Status begun = StatusOf(transport_->send(transport_->state, rank, bytes.data(), size));
    if (!begun.ok()) return begun;
  }
  return Wait();
}

Result<std::vector<char>> FirstAndOthers::Gather(std::span<const char> mine) {
  std::vector<char> all(mine.begin(), mine.end());
  if (!transport_) return all;
  auto size = static_cast<int64_t>(mine.size());
  Status begun;
  if (!IsFirst()) {
    begun = StatusOf(transport_->send(transport_->state, 0, all.data(), size));
  } else {
    all.resize(mine.size() * static_cast<size_t>(transport_->count));
    for (int64_t rank = 1; begun.ok() && rank < transport_->count; ++rank)
      begun =
          StatusOf(transport_->receive(transport_->state, rank, all.data() + rank * size, size));
  }
  if (begun.ok()) begun = Wait();
  if (!begun.ok()) return begun.failure();
  return all;
}

Result<bool> FirstAndOthers::AllOf(bool mine) {
  char one = mine ? 1 : 0;
  Result<std::vector<char>> all = Gather({&one, 1});
  if (!all.ok()) return all.failure();
  return std::ranges::all_of(*all, [](char is_true) { return is_true != 0; });
}

Result<uint64_t> FirstAndOthers::Sum(uint64_t mine) {
  char bytes[sizeof mine];
  std::memcpy(bytes, &mine, sizeof mine);
  Result<std::vector<char>> all = Gather(bytes);
  if (!all.ok()) return all.failure();
  uint64_t sum = 0;
  for (size_t at = 0; at < all->size(); at += sizeof mine) {
    std::memcpy(&mine, all->data() + at, sizeof mine);
    sum += mine;
  }
  return sum;
}

Result<bool> FirstAndOthers::Agree(bool mine) {
  Result<bool> all = AllOf(mine);
  if (!all.ok()) return all.failure();
  char verdict = *all ? 1 : 0;
  Status done = Broadcast({&verdict, 1});
  return done.ok() ? Result<bool>(verdict != 0) : done.failure();
}

Status FirstAndOthers::Wait() { return StatusOf(transport_->wait_all(transport_->state)); }

}  // namespace kdl::driver
