// Device specs as text: `kind[ordinal]?key=value&key=value`, several separated by commas. A plugin's kind is
// `plugin:PATH`, with a PATH without `[`, `?` and `,`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace kdl::runtime {

struct DeviceSpec {
  std::string kind;
  std::int64_t ordinal = 0;
  std::vector<std::pair<std::string, std::string>> options;  // in the order written
};

Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec);

// The shortest spelling; options sorted, so that equal devices have equal text.
std::string CanonicalSpec(const DeviceSpec& spec);

}  // namespace kdl::runtime
