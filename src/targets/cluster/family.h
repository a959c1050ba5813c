#pragma once

#include "targets/family.h"

namespace kdl::cluster {

/// Machines that consist of clusters of small processors, where each cluster has a scratchpad. Each machine
/// is described by a file.
extern const targets::Family kFamily;

}  // namespace kdl::cluster
