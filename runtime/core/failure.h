// How failures propagate: all operations and events that fail for the same reason share one cause.
#pragma once

#include <utility>

#include "core/error.h"
#include "core/ref.h"

namespace kdl::runtime {

// The original cause of failures. It is shared by everything that fails because of it.
class Failure final : public Counted {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}

  Error ToError() const { return CopyError(error_.get()); }
  const char* message() const { return kdl_error_message(error_.get()); }

 private:
  const Error error_;
};
using FailurePtr = Ref<Failure>;

inline FailurePtr MakeFailure(Error error) { return MakeRef<Failure>(std::move(error)); }

}  // namespace kdl::runtime
