// The host device, whose kernels are functions of this process and whose memory is that of this process.
#pragma once

#include <string_view>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& HostDeviceOps();

// Returns an error such as "there is no host[2]: wanted the 3rd, 1 matches".
Error NoSuchDevice(std::string_view kind, std::int64_t ordinal, std::int64_t count);

// Parses the option's value as an integer from `least` to `most`.
Error ParseOption(const kdl_option& option, std::int64_t least, std::int64_t most,
                  std::int64_t* value);

// Parses `resident=workers` (the default) or `resident=cores`, which give each worker or each core of a
// launch its own slice of workspace.
Error ParseResident(const kdl_option& option, bool* slice_per_core);

// Returns an error such as "host has no option 'thread'; did you mean 'threads'?" `keys` are separated by
// spaces (kdl/device_keys.h).
Error UnknownOption(std::string_view kind, std::string_view key, std::string_view keys);

}  // namespace kdl::runtime
