#pragma once

#include <utility>
#include <vector>

#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// Where the elements of a `sliding_window` are in memory: the window's buffer and, for each axis along which the
/// slide moves, how to compute the position in the window.
struct Sliding {
  struct Axis {
    ir::AxisId axis;
    ir::Value* base;  ///< the position if those of all terms are 0
    /// Each axis with the factor by which its position is multiplied.
    std::vector<std::pair<ir::AxisId, int64_t>> terms;
  };
  TileBuffer window;
  std::vector<Axis> axes;
};
Sliding SlidingOf(Expander& e, const ir::Op* sliding_window);

ir::Value* LoadSlid(Expander& e, const Sliding& sliding, kdl::Scalar scalar,
                    const Position& position, const Chunk& chunk = {});

}  // namespace kdl::cpu
