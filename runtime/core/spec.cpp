#include "core/spec.h"

#include <algorithm>

namespace kdl::runtime {

Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec) {
  DeviceSpec parsed;
  const std::string fault = ReadDeviceSpec(text, parsed);
  if (!fault.empty()) {
    return Invalid("device spec '", text, "': ", fault,
                   "; write kind[ordinal]?key=value, such as host, debug[1] or host?threads=4");
  }
  if (!parsed.path.empty()) parsed.kind += ":" + std::exchange(parsed.path, {});
  *spec = std::move(parsed);
  return nullptr;
}

std::string CanonicalSpec(DeviceSpec spec) {
  std::sort(spec.options.begin(), spec.options.end());
  return ToString(spec);
}

}  // namespace kdl::runtime
