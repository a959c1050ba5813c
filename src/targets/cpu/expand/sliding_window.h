#pragma once

#include <utility>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Where the elements of a slide are: the window's tile buffer, and along each axis of it on which the slide moves the sum of
/// positions that stands for the one there.
struct Sliding {
  struct Axis {
    ir::AxisId axis;
    ir::Value* base;  ///< where all positions are 0
    std::vector<std::pair<ir::AxisId, int64_t>>
        terms;  ///< position along the axis times the number
  };
  TileBuffer window;
  std::vector<Axis> axes;
};
Sliding SlidingOf(Expander& e, const ir::Op* sliding_window);

ir::Value* LoadSlid(Expander& e, const Sliding& sliding, kdl::Scalar scalar,
                    const Position& position, const Chunk& chunk = {});

}  // namespace kdl::cpu
