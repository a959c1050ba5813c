#include "api/rank_extremes.h"

#include <cstddef>
#include <utility>

namespace kdl::runtime {

void Extremes::Add(const Extremes& other) {
  if (other.least < least || (other.least == least && other.has_least < has_least)) {
    least = other.least;
    has_least = other.has_least;
  }
  if (other.greatest > greatest ||
      (other.greatest == greatest && other.has_greatest < has_greatest)) {
    greatest = other.greatest;
    has_greatest = other.has_greatest;
  }
}

Extremes OwnExtremes(const kdl_transport& transport, std::uint64_t number) {
  return {number, number, transport.rank, transport.rank};
}

// After each round, a process has the extremes of twice as many processes: of itself and of the ones before it.
Error CombineAll(const kdl_transport& transport, std::int64_t tag, std::vector<Extremes>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(Extremes));
  std::vector<Extremes> others(values.size());
  for (std::int64_t distance = 1; distance < transport.count; distance *= 2) {
    const std::int64_t to = (transport.rank + distance) % transport.count;
    const std::int64_t from = (transport.rank - distance + transport.count) % transport.count;
    KDL_RETURN_IF_ERROR(Error(transport.receive(transport.state, from, tag, others.data(), bytes)));
    Error sent(transport.send(transport.state, to, tag, values.data(), bytes));
    Error waited(transport.wait_all(transport.state));
    if (sent || waited) return sent ? std::move(sent) : std::move(waited);
    for (std::size_t i = 0; i < values.size(); ++i) values[i].Add(others[i]);
  }
  return nullptr;
}

}  // namespace kdl::runtime
