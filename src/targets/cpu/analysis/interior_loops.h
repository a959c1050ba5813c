#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "targets/cpu/analysis/interior.h"

// Copies of an elementwise loop for parts of its points.

namespace kdl::cpu {

/// Returns the tensors whose rows must adjoin in memory, each once.
std::vector<ir::Value*> TensorsOfShortRows(const Interior& interior);

/// A copy of an elementwise loop with a simpler body.
struct SimplerLoop {
  ir::Op* loop;
  /// Reads that depend on the point in the original loop. They must not run before the copy's loop over the last axis,
  /// even if they are the same for the whole row there: their elements need not exist if no point of the row runs the copy.
  std::unordered_set<const ir::Op*> staying;
};

/// Inserts a copy of the elementwise loop, whose last axis is `last`, before the loop. The copy must run only in the
/// interior. `joined` maps the tensors of short rows to the same tensors with joined rows. Loads that are the same for a
/// whole row still check their indices: they run before it is known whether the row has an interior.
SimplerLoop MakeInteriorLoop(ir::Module& module, const ir::Op* elementwise,
                             const Interior& interior, const ir::ValueMap& joined,
                             const LastAxis& last);
/// The same for rows in which some of the conditions in `row_conditions` are false. The loads in `inside` then read
/// the nearest row that exists, and select the value after `else` if that is not their row.
SimplerLoop MakeRowLoop(ir::Module& module, const ir::Op* elementwise, const Interior& interior,
                        const LastAxis& last);
/// Inserts a copy of the elementwise loop before the loop, for points near borders that run one by one. The loads in
/// `inside` then read the nearest element that exists, and select the value after `else` if that is not theirs, so that
/// they need no branches. Returns nothing if no load can do that.
std::optional<SimplerLoop> MakeNearestLoop(ir::Module& module, const ir::Function& function,
                                           const ir::Op* elementwise, const Interior& interior,
                                           const LastAxis& last);

}  // namespace kdl::cpu
