#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// What a elementwise loop changes where its results stand in the place of the tiles that they keep. It walks nothing else.
class Changes {
 public:
  explicit Changes(ElementwiseLoopBody& body);

  /// Narrows the window of axis number `i` of the elementwise loop to what conditions on it leave. Points of `mapped` axes, from the
  /// first one on, are known where the loop over the axis begins.
  void Narrow(size_t i, size_t mapped);
  /// What is walked of the axis: all of it where nothing has narrowed it.
  Window WindowOf(ir::AxisId axis) const;

 private:
  /// Positions along one axis of which none outside is changed.
  struct Reach {
    enum class Kind : uint8_t { None, Part, All } kind;
    ir::Value* lo = nullptr;  ///< Part, as hi
    ir::Value* hi = nullptr;
    bool is_point = false;  ///< one at most
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
  std::vector<ir::Value*> kept_;  ///< by result; empty where all of the elementwise loop runs
  std::unordered_map<ir::AxisId, Window> windows_;  ///< of axes that are narrowed
  size_t axis_ = 0;                                 ///< that is narrowed now
  size_t mapped_ = 0;                               ///< axes before this one have points
};

}  // namespace kdl::cpu
