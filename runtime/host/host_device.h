// The host device. Its kernels are functions in this process, and its memory is the memory of this process.
#pragma once

#include <string_view>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& HostDeviceOps();

// Returns an error such as "there is no host[2]: wanted the 3rd, 1 matches".
Error NoSuchDevice(std::string_view kind, std::int64_t ordinal, std::int64_t count);

// Parses the value of an option as an integer from `least` to `most`.
Error ParseOption(const kdl_option& option, std::int64_t least, std::int64_t most,
                  std::int64_t* value);

// Parses `resident=workers` (the default) or `resident=cores`. The value determines whether each worker or
// each core of a launch gets its own slice of the workspace.
Error ParseResident(const kdl_option& option, bool* slice_per_core);

// Returns an error such as "host has no option 'thread'; did you mean 'threads'?" `keys` contains the known
// keys, separated by spaces (see kdl/device_keys.h).
Error UnknownOption(std::string_view kind, std::string_view key, std::string_view keys);

}  // namespace kdl::runtime
