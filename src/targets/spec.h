#pragma once

#include <string>
#include <string_view>

#include "kdl/device_spec.hpp"
#include "support/result.h"

namespace kdl::targets {

/// A device spec and its original text.
struct Spec : DeviceSpec {
  std::string text;
};

Result<Spec> ParseSpec(std::string_view text);

}  // namespace kdl::targets
