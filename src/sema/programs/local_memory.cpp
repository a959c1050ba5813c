#include "sema/programs/local_memory.h"

#include <optional>

namespace kdl::sema {

void LocalMemory::Declare(const Entity* tensor) {
  written_.erase(tensor);
  unwritten_by_.erase(tensor);
}

void LocalMemory::Write(const Entity* tensor) {
  written_.insert(tensor);
  unwritten_by_.erase(tensor);
}

void LocalMemory::Forget(const Entity* tensor, Span span) {
  written_.erase(tensor);
  unwritten_by_.insert_or_assign(tensor, span);
}

void LocalMemory::Swap(const Entity* a, const Entity* b, Span span) {
  auto memory_of = [&](const Entity* tensor) -> std::optional<Span> {
    if (const Span* swap = UnwrittenBy(tensor)) return *swap;
    return written_.contains(tensor) ? std::nullopt : std::optional(span);
  };
  bool written[2] = {written_.contains(a), written_.contains(b)};
  std::optional<Span> unwritten[2] = {memory_of(a), memory_of(b)};
  const Entity* taker[2] = {b, a};
  for (int i = 0; i < 2; ++i) {
    Declare(taker[i]);
    if (written[i]) written_.insert(taker[i]);
    if (unwritten[i]) unwritten_by_.emplace(taker[i], *unwritten[i]);
  }
}

void LocalMemory::Join(const LocalMemory& other) {
  std::erase_if(written_, [&](const Entity* tensor) { return !other.IsWritten(tensor); });
  unwritten_by_.insert(other.unwritten_by_.begin(), other.unwritten_by_.end());
}

const Span* LocalMemory::UnwrittenBy(const Entity* tensor) const {
  auto found = unwritten_by_.find(tensor);
  return found == unwritten_by_.end() ? nullptr : &found->second;
}

}  // namespace kdl::sema
