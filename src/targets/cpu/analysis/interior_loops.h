#pragma once

#include <vector>

#include "targets/cpu/analysis/interior.h"

// Copies of an elementwise loop for parts of its points.

namespace kdl::cpu {

/// Returns the tensors whose rows must adjoin in memory, each once.
std::vector<ir::Value*> TensorsOfShortRows(const Interior& interior);

/// Inserts a copy of the elementwise loop before the loop. The body of the copy is simpler, and must run only
/// in the interior. `joined` maps the tensors of short rows to the same tensors with joined rows. If `last` is not null,
/// loads that are the same for a whole row still check their indices: they run before it is known whether the row has an
/// interior.
ir::Op* MakeInteriorLoop(ir::Module& module, const ir::Op* elementwise, const Interior& interior,
                         const ir::ValueMap& joined, const LastAxis* last = nullptr);
/// The same for rows in which some of the conditions in `row_conditions` are false. The loads in `inside` then read
/// the nearest row that exists, and select the value after `else` if that is not their row.
ir::Op* MakeRowLoop(ir::Module& module, const ir::Op* elementwise, const Interior& interior,
                    const LastAxis& last);
/// Inserts a copy of the elementwise loop before the loop, for points near borders that run one by one. The loads in
/// `inside` then read the nearest element that exists, and select the value after `else` if that is not theirs, so that
/// they need no branches. Returns null if no load can do that.
ir::Op* MakeNearestLoop(ir::Module& module, const ir::Function& function, const ir::Op* elementwise,
                        const Interior& interior);

}  // namespace kdl::cpu
