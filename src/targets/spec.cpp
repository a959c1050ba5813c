#include "targets/spec.h"

#include <fmt/format.h>

namespace kdl::targets {

Result<Spec> ParseSpec(std::string_view text) {
  Spec spec;
  spec.text = text;
  std::string fault = ReadDeviceSpec(text, spec);
  if (fault.empty()) return spec;
  return Failure{fmt::format("target '{}': {}; write it as host, host?isa=x86-64-v3 or opencl[1]",
                             text, fault),
                 FailureKind::Usage};
}

}  // namespace kdl::targets
