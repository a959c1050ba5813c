#pragma once

#include <vector>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// The folds behind a nest that it can take along: they fold what it makes, in lanes, over the axes that it walks
/// last, all over the same; and what else they read is there before the nest.
std::vector<Accumulation> RidersOf(Expander& e, const ir::Op* nest);

}  // namespace kdl::cpu
