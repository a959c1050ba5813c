#include "driver/run/runtime_values.h"

#include <algorithm>
#include <iterator>

#include "support/check.h"

namespace kdl::driver {

namespace {

FailureKind FailureKindFor(kdl_code code) {
  bool of_user = code == KDL_ERROR_INVALID_ARGUMENT || code == KDL_ERROR_TRAP;
  return of_user ? FailureKind::User : FailureKind::Environment;
}

}  // namespace

uint8_t ElementCode(Scalar scalar) { return Info(scalar).code; }

Scalar ElementScalar(uint8_t code) {
  const auto* info = std::ranges::find(kScalars, code, &ScalarInfo::code);
  KDL_CHECK(info != std::end(kScalars), "element code {} is not a scalar type", code);
  return info->scalar;
}

Status StatusOf(kdl_error* error) {
  if (error == nullptr) return {};
  kdl_code code = kdl_error_code(error);
  KDL_CHECK(code != KDL_ERROR_INTERNAL, "{}", kdl_error_message(error));
  Failure failure{kdl_error_message(error), FailureKindFor(code)};
  kdl_error_free(error);
  return failure;
}

}  // namespace kdl::driver
