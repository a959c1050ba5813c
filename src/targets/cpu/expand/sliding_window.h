#pragma once

#include <utility>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Describes where the elements of a `sliding_window` are in memory. The description consists of the window's
/// buffer and, for each axis along which the window moves, the formula for the position in the window.
struct Sliding {
  struct Axis {
    ir::AxisId axis;
    ir::Value* base;  ///< the position in the window if the positions of all terms are 0
    /// The axes whose positions are added up, each with the factor by which its position is multiplied.
    std::vector<std::pair<ir::AxisId, int64_t>> terms;
  };
  TileBuffer window;
  std::vector<Axis> axes;
};
Sliding SlidingOf(Expander& e, const ir::Op* sliding_window);

ir::Value* LoadSlid(Expander& e, const Sliding& sliding, kdl::Scalar scalar,
                    const Position& position, const Chunk& chunk = {});

}  // namespace kdl::cpu
