// The error with which all processes end a call of a program that has failed in some of them.
#pragma once

#include <span>
#include <vector>

#include "api/rank_extremes.h"
#include "core/error.h"
#include "kdl/ranks.h"

namespace kdl::runtime {

// How many values AddFailure adds.
inline constexpr std::size_t kFailureValues = 2;

// Adds what CommonFailure needs to know about the failure of this process, which may be null.
void AddFailure(const kdl_transport& transport, const kdl_error* own,
                std::vector<Extremes>& values);

// Returns the common error after CombineAll has combined the values of all processes, or null if none has failed. All processes must
// call this. If all have failed with the same error, it is that. Otherwise, it is that of the first process that has failed by
// itself, which the message states.
Error CommonFailure(const kdl_transport& transport, std::span<const Extremes> combined, Error own);

}  // namespace kdl::runtime
