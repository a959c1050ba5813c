// Converts errors of the C interface to exceptions, and exceptions to errors.
#pragma once

#if !defined(__cpp_exceptions) || __cplusplus < 202002L
#error \
    "kdl/errors.hpp needs C++20 and exceptions; use kdl/status.hpp for C++17 or without exceptions"
#endif

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "kdl/runtime.h"

namespace kdl::inline KDL_VERSIONED {

class Error : public std::runtime_error {
 public:
  Error(kdl_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  kdl_code code() const { return code_; }

 private:
  kdl_code code_;
};

// If a function of the C interface returned an error, throws it.
inline void Check(kdl_error* error) {
  if (error == nullptr) return;
  const std::unique_ptr<kdl_error, void (*)(kdl_error*)> owned(error, kdl_error_free);
  throw Error(kdl_error_code(error), kdl_error_message(error));
}

// If there is an error, throws it. If `place` is not null, the message starts with it. `place` is the
// position of the statement in the source. A message that starts with a position in a launched kernel
// gets a note instead.
inline void Check(kdl_error* error, const char* place) {
  if (error == nullptr || place == nullptr) return Check(error);
  const std::unique_ptr<kdl_error, void (*)(kdl_error*)> owned(error, kdl_error_free);
  const std::string message = kdl_error_message(error);
  const bool has_place = message.find(": error: ") != std::string::npos;
  throw Error(kdl_error_code(error), has_place
                                         ? message + "\n" + place + ": note: it is launched here"
                                         : std::string(place) + ": error: " + message);
}

// Calls `call` on behalf of a C caller. If `call` throws an exception, returns it as an error.
template <class Call>
kdl_error* Try(Call call) {
  try {
    call();
    return nullptr;
  } catch (const Error& error) {
    return kdl_error_create(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return kdl_error_create(KDL_ERROR_OUT_OF_MEMORY, "the process has no memory left");
  } catch (const std::exception& error) {
    return kdl_error_create(KDL_ERROR_DEVICE, error.what());
  }
}

}  // namespace kdl::inline KDL_VERSIONED
