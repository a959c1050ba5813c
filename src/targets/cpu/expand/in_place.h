#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// The elements that an elementwise loop changes, if its results are stored in place of tiles that they
/// mostly keep. The loop then runs only over those elements.
class Changes {
 public:
  explicit Changes(ElementwiseLoopBody& body);

  /// Narrows the window of the elementwise loop's axis number `i` to the positions for which the conditions
  /// on it can be true. The points of the first `mapped` axes are already known where the loop over the axis
  /// begins.
  void Narrow(size_t i, size_t mapped);
  /// Returns the positions of the axis over which to run; all of them if nothing has narrowed it.
  Window NarrowedWindow(ir::AxisId axis) const;

 private:
  /// Positions along one axis outside of which nothing changes.
  struct Reach {
    enum class Kind : uint8_t { None, Part, All } kind;
    ir::Value* lo = nullptr;  ///< if the kind is Part; likewise `hi`
    ir::Value* hi = nullptr;
    bool is_point = false;  ///< at most one position
  };

  bool NoteKept(size_t result);
  Reach Both(const Reach& a, const Reach& b);
  Reach Either(const Reach& a, const Reach& b);
  Reach OfValue(const ir::Value* value, const ir::Value* kept, int depth);
  Reach Where(const ir::Value* condition, bool holds, int depth);
  Reach OfComparison(const ir::Op* op, bool holds);
  ir::Value* Known(ir::Value* value);
  bool IsWorthwhile(const Reach& reach) const;
  Window OneChunk(const Reach& reach, int64_t size, int64_t lanes);
  Window WholeChunks(const Reach& reach, ir::Value* size, int64_t lanes);

  Expander& e_;
  ElementwiseLoopBody& body_;
  /// The tile that each result keeps; empty: the whole loop must run.
  std::vector<ir::Value*> kept_;
  std::unordered_map<ir::AxisId, Window> windows_;  ///< windows of the axes that have been narrowed
  size_t axis_ = 0;                                 ///< the axis that is being narrowed
  size_t mapped_ = 0;  ///< the points of axes before this one are known
};

}  // namespace kdl::cpu
