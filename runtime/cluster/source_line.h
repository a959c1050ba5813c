// Finds the source line from which an instruction was compiled.
#pragma once

#include <cstdint>
#include <string>

#include "kdl/cluster_description.hpp"

namespace kdl::runtime {

// Returns the source line of an instruction, such as `FILE:12`, as printed by the description's `lines`
// program for the image. Returns an empty string if there is no such program or it does not know the line.
std::string SourceLine(const ClusterDescription& description, int image, std::uint64_t instruction);

}  // namespace kdl::runtime
