// The file descriptors of a cluster's process, in addition to the three standard ones.
#pragma once

namespace kdl::runtime {

inline constexpr int kMemoryFile = 3;
inline constexpr int kImageFile = 4;
inline constexpr int kLifeFile = 5;
inline constexpr const char* kImagePath = "/proc/self/fd/4";

}  // namespace kdl::runtime
