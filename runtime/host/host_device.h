// The host device: kernels are functions of this process, memory is its memory.
#pragma once

#include <string_view>

#include "core/error.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

const kdl_device_ops& HostDeviceOps();

// "there is no host[2]: wanted the 3rd, 1 matches".
Error NoSuchDevice(std::string_view kind, std::int64_t ordinal, std::int64_t count);

// The value of `key` as an integer from `least` to `most`.
Error ParseOption(const kdl_option& option, std::int64_t least, std::int64_t most,
                  std::int64_t* value);

// `resident=workers`, the default, or `resident=cores`: whether every core of a launch has a slice of
// workspace of its own, or only every worker.
Error ParseResident(const kdl_option& option, bool* slice_per_core);

// "host has no option 'thread'; did you mean 'threads'?"
// `keys` are separated by spaces (kdl/device_keys.h).
Error UnknownOption(std::string_view kind, std::string_view key, std::string_view keys);

}  // namespace kdl::runtime
