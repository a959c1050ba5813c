#pragma once

#include "targets/family.h"

namespace kdl::cluster {

/// Machines that consist of clusters of small processors. Each cluster has a scratchpad memory. A file
/// describes each machine.
extern const targets::Family kFamily;

}  // namespace kdl::cluster
