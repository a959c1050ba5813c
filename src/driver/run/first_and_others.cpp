#include "driver/run/first_and_others.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

Result<bool> FirstAndOthers::AllOf(bool mine) {
  if (!transport_) return mine;
  std::vector<char> all(IsFirst() ? static_cast<size_t>(transport_->count) : 1, mine ? 1 : 0);
  Status begun;
  if (!IsFirst()) begun = StatusOf(transport_->send(transport_->state, 0, all.data(), 1));
  for (int64_t rank = 1; IsFirst() && begun.ok() && rank < transport_->count; ++rank)
    begun =
        StatusOf(transport_->receive(transport_->state, rank, &all[static_cast<size_t>(rank)], 1));
  if (begun.ok()) begun = Wait();
  if (!begun.ok()) return begun.failure();
  return std::ranges::all_of(all, [](char one) { return one != 0; });
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
