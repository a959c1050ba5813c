// Finds the source line of an instruction.
#pragma once

#include <cstdint>
#include <string>

#include "kdl/cluster_description.hpp"

namespace kdl::runtime {

// Returns `FILE:12`, as the description's `lines` program prints it for the image; empty if there is no such
// program, or it does not know.
std::string SourceLine(const ClusterDescription& description, int image, std::uint64_t instruction);

}  // namespace kdl::runtime
