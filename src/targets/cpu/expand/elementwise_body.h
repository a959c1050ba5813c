#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/expand/accumulate.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/expand/prefetching.h"
#include "targets/cpu/expand/watched_maxima.h"

namespace kdl::cpu {

/// The body of one elementwise loop, which is expanded once for each place where it runs.
class ElementwiseLoopBody {
 public:
  ElementwiseLoopBody(Expander& e, const ir::Op* elementwise);
  /// Makes a body that stores its results in the buffers of `other`, whose loop has the same results. Accesses
  /// to elements that are a few elements apart are vectors, and so are scans of integers along the last axis. The ops in
  /// `staying` stay in the loop over that axis.
  ElementwiseLoopBody(Expander& e, const ir::Op* elementwise, const ElementwiseLoopBody& other,
                      std::unordered_set<const ir::Op*> staying = {});

  Expander& e() const { return e_; }
  const ir::Op* elementwise() const { return elementwise_; }
  const LastAxis& last() const { return last_; }
  const ir::AxisList& axes() const { return axes_; }
  const std::vector<Accumulation>& folds() const { return folds_; }
  const std::vector<TileBuffer>& tile_buffers() const { return tile_buffers_; }
  /// Returns how many elements along the last axis a vector contains.
  int64_t Lanes() const;

  /// The position of the body. From it, `MapPoint` computes the absolute index along axis `i`; along the last
  /// axis, that is the index of the chunk's first element.
  Position& position() { return position_; }
  void MapPoint(size_t i);
  void PlaceAt(const Position& position);
  /// Returns the new value of an operand that is the same for a whole row, once `Expand` has expanded it.
  ir::Value* InRow(ir::Value* old) { return At(old); }
  /// Emits loops over all axes but `a` and `b`. Inside them, calls `run` with the body at the indices of
  /// these loops.
  void Around(ir::AxisId a, ir::AxisId b, const std::function<void()>& run);

  /// Expands the ops for which `wanted` returns true, for a chunk of the last axis.
  template <class Wanted>
  void Expand(const Chunk& chunk, Wanted&& wanted) {
    chunk_ = chunk;
    stepped_.clear();
    scanned_ = 0;
    for (ir::Op* op : *elementwise_->region()) {
      if (!wanted(op)) continue;
      e_.b.set_loc(op->loc());
      ExpandOp(op);
    }
    if (maxima_.is_watching()) watched = {maxima_.Recorded(watched[0])};
  }
  /// Calls `make` and then discards the mappings of values that `make` has added.
  template <class Make>
  void Locally(Make&& make) {
    ir::ValueMap around = map_;
    make();
    map_ = std::move(around);
  }
  /// The accumulators of all scans in the body: before `Expand` those before the current point, and after it
  /// those after the point.
  Values accumulators;
  /// For each result, a bool that says whether its element at the current point is stored; null if it always is.
  Values store_conditions;
  WatchedMaxima& maxima() { return maxima_; }
  /// What `maxima` has recorded; empty if it does not watch.
  Values watched;
  /// The body emits no prefetches from now on.
  void StopLookingAhead() { looks_ahead_ = false; }
  /// Returns the term of a reduction for the chunk that was expanded last.
  ir::Value* Term(ir::Value* term) { return Lane(term); }
  void Bind(const ir::Value* old, ir::Value* value) { map_[old] = value; }

  /// Makes the body use `value` for the elements of `tile` from now on, and emit no prefetches.
  void Give(const ir::Value* tile, ir::Value* value);
  /// Calls `make`, in which the indices of these accesses need no checks.
  template <class Make>
  void WithoutChecks(const std::unordered_set<const ir::Op*>& accesses, Make&& make) {
    checked_ = &accesses;
    make();
    checked_ = nullptr;
  }
  /// If the body compares bits of floats with bits that are the same for a whole row, returns whether the latter
  /// are those of numbers other than zero. Such numbers are equal if and only if their bits are. Returns null
  /// if there is no such comparison.
  ir::Value* AreBitsOrdinary();
  /// Sets whether these comparisons compare numbers instead of bits.
  void CompareNumbers(bool compares) { compares_numbers_ = compares; }
  /// Emits the remainders that are the same for all chunks of `lanes` points that begin a multiple of `lanes` points
  /// after position `first`. From now on, such chunks use them.
  void HoistRemainders(ir::Value* first, int64_t lanes);
  void ForgetRemainders() { remainders_.clear(); }
  /// Whether the op is a condition on the index along the last axis, or a remainder in such a condition, that vectors of
  /// `lanes` elements compute in narrow integers.
  bool IsNarrow(const ir::Op* op, int64_t lanes) const {
    return IsNarrowComparison(op, lanes) || (lanes > 1 && IsNarrowRemainder(op));
  }
  /// Sets whether vectors begin at multiples of their length and cover rows up to their ends. Those at an end may then
  /// also store the rest of a vector in a tile buffer, because nothing reads a buffer beyond the end of a row.
  void FillRows(bool fills) { fills_rows_ = fills; }
  /// Sets the number of elements that the current iteration processes before the next chunk.
  void ComeTo(int64_t before) { before_ = before; }

  /// Makes these stores bypass the caches from now on if they store a full vector. If `stores` is empty, no
  /// store bypasses the caches.
  void StorePastCaches(std::span<const ir::Op* const> stores) { past_caches_ = stores; }
  /// Returns the access of a load or store at the body's current position. The value, `else` and mask of the
  /// access are not set.
  ElementAccess AccessHere(const ir::Op* op, const Chunk& chunk);

 private:
  bool IsKept(const ir::Value* result) const;
  bool HasSlowFma() const;
  bool RunsByElements() const { return !last_.Vectorizes() && !last_.Transposes(); }
  ir::Value* At(ir::Value* old);
  ir::Value* Lane(ir::Value* old);
  ir::Value* Optional(ir::Value* old) { return old ? Lane(old) : nullptr; }
  bool IsUniformAccess(const ir::Op* op) const;
  ir::Value* ElementChunk(const ir::Op* op);
  ir::Value* AtPoint(ir::Value* index, int64_t ahead);
  Position PlaceOf(const ir::Op* element);
  bool BeginsPair(const ElementAccess& access) const;
  bool GoesOnInLine(const ElementAccess& access) const;
  void Prefetch(const ElementAccess& access);
  void ExpandPrefetchOp(ir::Op* op);
  void ExpandLoadOp(ir::Op* op);
  void ExpandRepeated(ir::Op* op, int64_t repeats);
  void ExpandStepped(const StepGroup& group, const ir::Op* op);
  bool IsTakenApart(const ir::Op* op) const;
  Values RowsOf(const StepGroup& group);
  int64_t ElementCount(const StepGroup& group) const;
  Values LoadGroup(const StepGroup& group);
  Values ComputeGroup(const StepGroup& group);
  bool IsPermuted() const;
  int64_t PointOf(int64_t lane) const;
  int64_t LaneOf(int64_t point) const;
  ir::Value* Permuted(ir::Value* value);
  ir::Value* InOrder(ir::Value* value);
  ir::Value* LoadAhead(const ir::Op* op, int64_t elements);
  ir::Value* PickStepped(const StepGroup& group, const ir::Op* op);
  ir::Value* PickElements(const ir::Op* element, const TileBuffer& tile_buffer);
  ir::Value* PickEvery(int64_t step, const Values& rows, int64_t offset, int64_t count);
  void StoreStepped(const StepGroup& group, const ir::Op* op, ir::Value* value);
  void ExpandStoreOp(ir::Op* op);
  void ExpandAppend(ir::StoreOp store);
  void AppendLanes(ElementAccess& access, ir::Value* value, ir::Value* mask);
  ir::Value* CountLanes(ir::Value* mask);
  void ExpandPlaces(const ir::Op* scan);
  void ExpandUpdateOp(ir::Op* op);
  ir::Value* NarrowIndices(kdl::Scalar scalar);
  bool IsSumOfIndices(const ir::Value* value) const;
  bool IsNarrowRemainder(const ir::Op* op) const;
  bool IsNarrowComparison(const ir::Op* op, int64_t lanes) const;
  ir::Value* NarrowRemainder(const ir::Op* op);
  ir::Value* NarrowComparison(const ir::Op* op);
  ir::Value* NumberOf(ir::Value* bits);
  ir::Value* ExpandFaster(ir::Op* op);
  ir::Value* ExpandElementwise(ir::Op* op);
  void ExpandWhile(ir::Op* op);
  void ExpandScan(const ir::Op* op);
  void ExpandScanAlong(const ir::Op* scan);
  ir::Value* CombineBefore(const ir::Op* scan, ir::Value* terms);
  void ExpandAssert(ir::Op* op);
  void StoreResult(size_t i, ir::Value* element);
  void ExpandOp(ir::Op* op);

  Expander& e_;
  const ir::Op* elementwise_;
  LastAxis last_;
  Prefetching prefetching_;
  WatchedMaxima maxima_;
  std::vector<Accumulation> folds_;
  /// Buffers of the results; empty for reductions and unused results.
  std::vector<TileBuffer> tile_buffers_;
  ir::AxisList axes_;
  std::span<const ir::Op* const> past_caches_;
  bool looks_ahead_ = true;
  bool is_permuted_ = false;  ///< whether points are in lanes in the order of PointOf
  bool compares_numbers_ = false;
  bool fills_rows_ = false;
  /// The remainders that are the same for all chunks of a row.
  std::unordered_map<const ir::Op*, ir::Value*> remainders_;
  /// The accesses whose indices have been checked; null if there are none.
  const std::unordered_set<const ir::Op*>* checked_ = nullptr;
  int64_t before_ = 0;  ///< the number of elements of the current iteration before the chunk
  struct {
    const ir::Value* tile = nullptr;
    ir::Value* value = nullptr;
  } given_;
  Position position_;
  Chunk chunk_;
  /// The vectors that the groups of the chunk have loaded or computed, or will store.
  std::unordered_map<const StepGroup*, Values> stepped_;
  size_t scanned_ =
      0;  ///< the number of accumulators of the scans that the current chunk has passed
  ir::ValueMap map_;
};

/// The stores of an elementwise loop that bypass the caches if the loop's outputs are too large for them, and
/// the condition that the outputs are too large.
struct Streaming {
  std::vector<const ir::Op*> stores;
  ir::Value* large = nullptr;  ///< a bool; null if the stores never bypass the caches
};
// streaming.cpp
/// Returns, as a bool, whether the tensors of all accesses together are larger than the last-level cache.
/// Returns null if they never are.
ir::Value* AreLarge(Expander& e, const std::vector<const ir::Op*>& accesses);
/// Returns the streaming stores of an elementwise loop that runs on vectors of `lanes` elements.
Streaming StreamingOf(ElementwiseLoopBody& body, int64_t lanes);
/// Describes where streaming stores begin in a row: the number of elements before the first vector that may
/// bypass the caches, and whether that number is the same for all stores. The body must be at the start of a
/// row.
struct RowStart {
  ir::Value* gap;
  ir::Value* agrees;
};
RowStart RowStartOf(ElementwiseLoopBody& body, const Streaming& streaming);

// scan_loop.cpp
/// Runs an elementwise loop that has scans.
void ExpandScanLoop(ElementwiseLoopBody& body);

// gathered_rows.cpp
/// Runs a row of an elementwise loop that gathers elements. The body must be at the start of the row.
void RunGathered(ElementwiseLoopBody& body, const Window& row);

// checked_rows.cpp
/// Returns the accesses whose indices must be checked, but can be checked once for a whole row.
std::unordered_set<const ir::Op*> CheckedAlongRow(const ElementwiseLoopBody& body);
/// Emits the condition that these accesses are in bounds for a whole row. The body must be at the start of it.
ir::Value* IsRowInside(ElementwiseLoopBody& body, const std::unordered_set<const ir::Op*>& accesses,
                       const Window& row);

// groups.cpp
/// Whether the result of the elementwise loop is stored in groups, which interleave several rows.
bool MakesGroups(const ElementwiseLoopBody& body);
void RunGroups(ElementwiseLoopBody& body);
/// Fills the incomplete last group of each row that the elementwise loop makes with zeros.
void FillGroups(ElementwiseLoopBody& body);

// register_transposes.cpp
/// Runs an elementwise loop whose accesses in LastAxis::Across() are transposed.
void RunRegisterTransposes(ElementwiseLoopBody& body);

}  // namespace kdl::cpu
