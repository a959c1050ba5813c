#pragma once

#include <string>
#include <string_view>

#include "kdl/device_spec.hpp"
#include "support/result.h"

namespace kdl::targets {

/// A device spec, and its text as given.
struct Spec : DeviceSpec {
  std::string text;
};

Result<Spec> ParseSpec(std::string_view text);

}  // namespace kdl::targets
