#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// Determines which elements an elementwise loop changes, if its results are stored in place of tiles to
/// which they are mostly equal. The loop runs only over the elements that change.
class Changes {
 public:
  explicit Changes(ElementwiseLoopBody& body);

  /// Narrows the range of axis `i` of the elementwise loop to the positions at which the conditions on that
  /// axis can be true. Where the loop over that axis begins, the indices of the first `mapped` axes are
  /// already known.
  void Narrow(size_t i, size_t mapped);
  /// Returns the positions of the axis over which the loop runs. If they have not been narrowed, these are
  /// all positions.
  Window NarrowedWindow(ir::AxisId axis) const;

 private:
  /// A range of positions along one axis, outside of which nothing changes.
  struct Reach {
    enum class Kind : uint8_t { None, Part, All } kind;
    ir::Value* lo = nullptr;  ///< set, like `hi`, if the kind is Part
    ir::Value* hi = nullptr;
    bool is_point = false;  ///< whether there is at most one position
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
  /// The tile that each result keeps. If empty, the whole loop must run.
  std::vector<ir::Value*> kept_;
  std::unordered_map<ir::AxisId, Window> windows_;  ///< the ranges of axes that have been narrowed
  size_t axis_ = 0;                                 ///< the axis that is being narrowed
  size_t mapped_ = 0;  ///< the number of outer axes whose indices are known
};

}  // namespace kdl::cpu
