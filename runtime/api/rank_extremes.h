// The least and the greatest of the numbers of all processes that share the work of a program.
#pragma once

#include <cstdint>
#include <vector>

#include "core/error.h"
#include "kdl/ranks.h"

namespace kdl::runtime {

// The least and the greatest number of several processes, and the first process that has it.
struct Extremes {
  std::uint64_t least;
  std::uint64_t greatest;
  std::int64_t has_least;
  std::int64_t has_greatest;

  bool differ() const { return least != greatest; }
  void Add(const Extremes& other);
};

// Returns the extremes of the number of this process.
Extremes OwnExtremes(const kdl_transport& transport, std::uint64_t number);

// Replaces the values of each process by the extremes over all processes, each of which must call this. A process sends
// ceil(log2(count)) messages with this tag.
Error CombineAll(const kdl_transport& transport, std::int64_t tag, std::vector<Extremes>& values);

}  // namespace kdl::runtime
