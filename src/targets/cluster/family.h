#pragma once

#include "targets/family.h"

namespace kdl::cluster {

/// Machines of clusters of small processors, each cluster with a scratchpad; files describe them.
extern const targets::Family kFamily;

}  // namespace kdl::cluster
