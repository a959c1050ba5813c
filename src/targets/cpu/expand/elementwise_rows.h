#pragma once

#include <functional>
#include <vector>

#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/lane_walk.h"
#include "targets/cpu/expand/row_interior.h"

namespace kdl::cpu {

/// Emits an elementwise loop row by row.
class ElementwiseRows {
 public:
  explicit ElementwiseRows(ElementwiseLoopBody& body);
  /// Makes the rows of the border around an interior. Borders are small, so their stores do not bypass the
  /// caches. A border runs element by element if masked accesses are slow.
  static ElementwiseRows ForBorder(ElementwiseLoopBody& body);
  /// Makes rows of which there are only a few, so that their code should be short, in vectors of `lanes` lanes.
  static ElementwiseRows ForFewRows(ElementwiseLoopBody& body, int64_t lanes);
  void ExpandRows();
  /// The same for a loop with reductions. `inner` has a simpler body, for the part of each row that `interior` finds.
  void ExpandFolds(ElementwiseLoopBody& inner, RowInterior& interior);
  /// Expands the ops whose results are the same for a whole row.
  void BeginRow();
  /// Emits the chunks of a row, or of a part of it.
  void RunRow(const Window& window);
  /// Emits the chunks of a part of a row that has at least one full chunk. If elements may be left after the
  /// full chunks (`has_rest`), the last chunk is not masked, but computes some elements a second time.
  void RunWithoutMasks(const Window& window, bool has_rest);
  /// Emits masked chunks for the parts of a row before and after its full vectors.
  void RunBorders(const Window& row, const Window& vectors);
  /// Returns the full vectors of a row that are in `inside`.
  Window FullVectors(const Window& row, const Window& inside);
  void RunFullVectors(const Window& vectors);
  /// Returns the position of the first full vector in `inside`, which is at most `most`: if stores bypass the caches, it
  /// is aligned, otherwise it is `most`.
  ir::Value* FirstVectorUpTo(ir::Value* most, const Window& inside);
  /// Emits full vectors that contain all positions from `from` to `to`. The last one may reach beyond `to`, but no vector
  /// starts after `last`, unless it is null.
  void RunCovering(ir::Value* from, ir::Value* to, ir::Value* last);
  /// Emits a full vector at the position.
  void RunChunkAt(ir::Value* position);
  /// Emits a row in masked vectors.
  void RunMasked(const Window& row);
  /// Emits a masked vector at the position, of a row that ends at `end`.
  void RunMaskedAt(ir::Value* position, ir::Value* end);
  int64_t lanes() const { return lanes_; }
  /// Whether stores may bypass the caches.
  bool may_stream() const { return streaming_.large != nullptr; }
  /// A bool that says whether they do, because the outputs are large; null if they never do.
  Value* large() const { return streaming_.large; }
  /// From now on, no store bypasses the caches.
  void StopStreaming() { streaming_ = {}; }

 private:
  void RunChunks(const Window& window);
  bool TouchesTensors() const;
  /// Expands the rest of the body for one chunk, then calls `after`.
  template <class After>
  void RunChunk(const Chunk& chunk, After&& after) {
    body_.Locally([&] {
      body_.MapPoint(body_.axes().size() - 1);
      body_.Expand(chunk, [&](const Op* op) { return !body_.last().IsInvariant(op); });
      after();
    });
  }

  /// Returns the position of the first full vector in `inside`: if stores bypass the caches, an aligned one, otherwise
  /// the result of `first`.
  ir::Value* FirstVector(const std::function<ir::Value*()>& first, const Window& inside);
  std::function<void(const Chunk&)> Body();
  /// Emits loops that also carry the accumulators of the reductions.
  void RunFolds();
  /// Lets the reductions use the simpler body inside of the row's interior.
  void RunInside(LaneWalk& walk);
  /// Returns the interior of the current row, which is empty at its start if there is none.
  Window InsideOfRow();
  /// Whether the body only loads and computes, with few ops.
  bool IsSimple() const;
  /// Whether rows may be reduced a second time.
  bool MayRepeat() const;
  /// Emits the condition that rows come from memory rather than from a cache, and that the body has few ops.
  /// In that case, hardware prefetchers work better along several rows than along one. Returns null if the
  /// condition is never true, for example if an earlier loop has left the rows in a cache, or if a later loop
  /// reads the same rows.
  Value* ComeFromMemory();
  /// Returns the results of the elementwise loop that its reductions compute, in the order of the reductions.
  std::vector<const Value*> FoldResults() const;
  /// Returns the terms that each reduction accumulates from the current chunk.
  std::vector<Values> Terms();
  /// The same, computed by the simpler body.
  std::vector<Values> TermsInside(const Chunk& chunk, int64_t before);
  using ChunkTerms = std::function<std::vector<Values>(const Chunk&, int64_t before)>;
  /// The same near a border, where masks are slow: only vectors that need them use the body that works anywhere.
  std::vector<Values> TermsOfBorder(const Chunk& chunk, int64_t before, const ChunkTerms& anywhere);
  /// Emits the full chunks between two positions and returns the position where they end. If maxima are watched and one
  /// of them may be wrong, runs the chunks a second time.
  Value* FullChunks(Value* from, Value* to);
  Value* RunFullChunks(Value* from, Value* to);
  /// Emits a loop, each iteration of which runs this many chunks. Returns the position where they end.
  Value* RunIterations(Value* from, Value* to, int64_t chunks);
  /// Returns where streaming stores begin in the part of a row from the position on.
  RowStart StartAt(ir::Value* position);
  /// Emits code for the full vectors and then for the rest of the row.
  void RunStreamed(const Window& row);
  /// Emits code for the full vectors of a row and returns the position where they end. If the outputs are too
  /// large for the caches, the vectors bypass them, from the first aligned vector on. Then `before` emits the
  /// elements that precede the position of that vector.
  Value* StreamFullChunks(const Window& row, const std::function<void(Value*)>& before);

  Expander& e_;
  ElementwiseLoopBody& body_;
  ir::AxisId axis_;
  int64_t lanes_;
  bool is_few_ = false;  ///< whether there are only a few such rows
  bool leaves_rest_ =
      false;  ///< whether full chunks that are fewer than `together_` remain to be emitted
  bool is_border_ = false;  ///< whether the code should be short, because it runs for few elements
  int64_t together_;        ///< the number of chunks that an iteration over full chunks processes
  Streaming streaming_;
  /// The simpler body for the interior of rows that are reduced, and the interior; null if there are none.
  ElementwiseLoopBody* inner_ = nullptr;
  RowInterior* interior_ = nullptr;
  Window inside_ = {};      ///< the interior of the current row
  bool is_inside_ = false;  ///< whether the simpler body computes the terms
  /// In the row of FullVectors: whether stores bypass the caches; null if they never do.
  ir::Value* streams_ = nullptr;
};

/// Emits the rows of an elementwise loop in three parts: border, interior, border. The interior has a simpler
/// body and needs no masks. Returns false and emits nothing if no interior is worthwhile.
bool ExpandInteriorRows(Expander& e, ElementwiseLoopBody& body);

/// Emits the rows of an elementwise loop in two parts, in each of which a condition on the index is constant. Returns
/// false and emits nothing if there is no such condition.
bool ExpandSplitRows(Expander& e, ElementwiseLoopBody& body);

/// Emits an elementwise loop in vectors over its last two axes, if the last one has only a few points. Returns false
/// and emits nothing if that is not possible.
bool ExpandFusedRows(Expander& e, ElementwiseLoopBody& body);

}  // namespace kdl::cpu
