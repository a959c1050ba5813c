#include "workgroup/launch_arguments.h"

#include <algorithm>

#include "core/trap.h"

namespace kdl::runtime {

Error TrapOf(const kdl_launch_request& request, std::span<const std::int64_t> record,
             const std::string& who) {
  kdl_trap trap = {};
  trap.code = static_cast<std::int32_t>(record[0]);
  trap.location = static_cast<std::int32_t>(record[1]);
  trap.index = record[2];
  trap.bound = record[3];
  std::string message = TrapMessage(*request.kernel, *request.variant, trap);
  message.insert(std::min(message.find('\n'), message.size()), who);  // before the notes
  return Fail(KDL_ERROR_TRAP, message);
}

}  // namespace kdl::runtime
