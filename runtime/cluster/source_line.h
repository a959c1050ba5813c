// Where in the source an instruction comes from.
#pragma once

#include <cstdint>
#include <string>

#include "kdl/cluster_description.hpp"

namespace kdl::runtime {

// `FILE:12`, as the description's program for lines says of the image; empty: it is not here, or does not know.
std::string SourceLine(const ClusterDescription& description, int image, std::uint64_t instruction);

}  // namespace kdl::runtime
