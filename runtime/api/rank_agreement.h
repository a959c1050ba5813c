// Whether all processes that share the work of a program call it with the same arguments.
#pragma once

#include <span>
#include <string_view>

#include "core/error.h"
#include "kdl/ranks.h"

namespace kdl::runtime {

// The arguments of one process. What differs in two processes would be another program, or transfers that do not fit together.
struct ProgramCall {
  std::string_view program;
  std::string_view code;
  std::span<const kdl_named_arg> args;
  const char* place;  // of the program in the source; may be null
};

// Compares the calls of all processes, each of which must call this. Returns an error in all of them if two differ, or if one has
// failed before: `failure` is that of this process, or null. While they agree, a process sends ceil(log2(count)) messages of a few
// bytes.
Error Agree(const kdl_transport& transport, const ProgramCall& call, Error failure);

}  // namespace kdl::runtime
