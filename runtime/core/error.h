// Errors inside the runtime: owning pointers to the C interface's kdl_error.
#pragma once

#include <memory>

#include "core/text.h"
#include "kdl/runtime.h"

namespace kdl::runtime {

struct ErrorFree {
  void operator()(kdl_error* error) const { kdl_error_free(error); }
};

// Null means success.
using Error = std::unique_ptr<kdl_error, ErrorFree>;

template <class... Pieces>
[[nodiscard]] Error Fail(kdl_code code, const Pieces&... pieces) {
  return Error(kdl_error_create(code, Concat(pieces...).c_str()));
}

template <class... Pieces>
[[nodiscard]] Error Invalid(const Pieces&... pieces) {
  return Fail(KDL_ERROR_INVALID_ARGUMENT, pieces...);
}

// Returns the same error with `prefix` before its message.
[[nodiscard]] Error Prefixed(std::string_view prefix, Error error);

[[nodiscard]] Error CopyError(const kdl_error* error);

// Returns whether an operation may fail with this code. It may not fail with KDL_ERROR_TIMEOUT, which tells a caller that a
// wait has ended early: the caller would wait again, for an operation that has ended.
[[nodiscard]] bool IsFailure(kdl_code code);

// Returns the error for insufficient memory. Does not allocate.
[[nodiscard]] Error OutOfMemory();

}  // namespace kdl::runtime

// Evaluates `expression`. If the result is an error, returns it from the enclosing function, whose return
// type must be Error.
#define KDL_RETURN_IF_ERROR(expression)                                           \
  do {                                                                            \
    if (kdl::runtime::Error kdl_error_here = (expression)) return kdl_error_here; \
  } while (false)
