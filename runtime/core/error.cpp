#include "core/error.h"

#include <cstdlib>
#include <cstring>

// The message is stored directly after the struct, so that creating an error takes only one allocation. If
// that allocation fails, kOutOfMemory is returned instead. The layout must be the same in all versions,
// because a library that contains its own runtime may return errors to callers that free them with another
// runtime.
struct kdl_error {
  kdl_code code;
  bool is_static;
  char message[64];
};

namespace {

constexpr kdl_error kOutOfMemory = {KDL_ERROR_OUT_OF_MEMORY, true,
                                    "the process has no memory left"};

}  // namespace

kdl_error* kdl_error_create(kdl_code code, const char* message) {
  if (message == nullptr) message = "";
  const std::size_t length = std::strlen(message);
  const std::size_t bytes = std::max(sizeof(kdl_error), offsetof(kdl_error, message) + length + 1);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) return const_cast<kdl_error*>(&kOutOfMemory);
  auto* error = static_cast<kdl_error*>(memory);
  error->code = code;
  error->is_static = false;
  std::memcpy(static_cast<char*>(memory) + offsetof(kdl_error, message), message, length + 1);
  return error;
}

kdl_code kdl_error_code(const kdl_error* error) { return error == nullptr ? KDL_OK : error->code; }

const char* kdl_error_message(const kdl_error* error) {
  return error == nullptr ? ""
                          : reinterpret_cast<const char*>(error) + offsetof(kdl_error, message);
}

void kdl_error_free(kdl_error* error) {
  if (error != nullptr && !error->is_static) std::free(error);
}

namespace kdl::runtime {

bool IsFailure(kdl_code code) {
  return code >= KDL_ERROR_INVALID_ARGUMENT && code <= KDL_ERROR_CANCELLED &&
         code != KDL_ERROR_TIMEOUT;
}

Error Prefixed(std::string_view prefix, Error error) {
  return Fail(kdl_error_code(error.get()), prefix, kdl_error_message(error.get()));
}

Error OutOfMemory() { return Error(const_cast<kdl_error*>(&kOutOfMemory)); }

Error CopyError(const kdl_error* error) {
  if (error == nullptr) return nullptr;
  return Error(kdl_error_create(kdl_error_code(error), kdl_error_message(error)));
}

}  // namespace kdl::runtime
