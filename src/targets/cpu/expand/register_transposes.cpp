#include <algorithm>
#include <unordered_map>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/transposed_block.h"

// If loads access a different row for each index along an elementwise loop's last axis, square blocks of
// their elements are transposed in registers. The axis along which the loads are contiguous is called the
// side axis. Rows are loaded along the side axis and transposed. Then the body runs once for each point of
// the side axis, with a vector along the last axis. If it is stores that access the rows in this way, their
// elements are transposed after the body instead.
//
// If stores go to the caches, squares are processed one after another along the last axis, along which stores
// are contiguous. A cache line must be fetched from the next cache before it is stored to, and adjacent lines
// are fetched together. Stores that bypass the caches fetch nothing. In that case, squares are processed
// along the side axis, along which loads are contiguous.
//
// If the side axis always has fewer points than a square, as for a window of three, there is only one square
// along that axis. Only those points are computed, and all of them exist.
//
// If a part of a square has only a few elements, they are moved one by one.

namespace kdl::cpu {

namespace {

class RegisterTransposes {
 public:
  explicit RegisterTransposes(ElementwiseLoopBody& body)
      : e_(body.e()),
        body_(body),
        accesses_(body),
        lanes_(accesses_.lanes()),
        stores_(body.last().Across()[0]->kind() == OpKind::Store),
        packs_(!stores_ && !body.elementwise()->results().empty()) {
    if (!stores_) streaming_ = StreamingOf(body, lanes_);
  }

  void ExpandTransposed() {
    body_.Around(SideAxis(), LastAxis(), [&] { RunBlock(); });
  }

 private:
  static constexpr int64_t kFewPerLane = 2;  ///< elements that are moved one by one

  ir::AxisId SideAxis() const { return accesses_.SideAxis(); }
  ir::AxisId LastAxis() const { return accesses_.LastAxis(); }
  LoopBounds Corners(ir::AxisId axis) {
    Window window = e_.WindowOf(body_.elementwise(), axis);
    return {window.lo, window.hi, lanes_};
  }

  void RunBlock() {
    int64_t side_points =
        ConstantOf(e_.WindowOf(body_.elementwise(), SideAxis()).size).value_or(lanes_);
    accesses_.LimitPoints(std::clamp<int64_t>(side_points, 1, lanes_));
    Block block{Corners(SideAxis()), Corners(LastAxis())};
    if (packs_) return AlongSide(block);
    if (!streaming_.large) return AlongLast(block);
    MakeIf(
        e_.b, PassesCaches(block),
        [&] {
          body_.StorePastCaches(streaming_.stores);
          AlongSide(block);
          body_.StorePastCaches({});
        },
        [&] { AlongLast(block); });
  }

  /// The ranges of positions at which squares may begin along both axes.
  struct Block {
    LoopBounds side;
    LoopBounds last;
  };

  template <class Run>
  void ForSides(const Block& block, Run&& run) {
    if (accesses_.IsNarrow()) return run(block.side.lo);
    MakeLoop(e_.b, block.side, run);
  }

  void AlongLast(const Block& block) {
    ForSides(block, [&](Value* side) {
      MakeLoop(e_.b, block.last, [&](Value* last) { RunRegisterTranspose(block, side, last); });
    });
  }

  /// Returns the number of lanes in a cache line, or in a vector if that is longer.
  int64_t LineLanes() const {
    return std::max(lanes_, e_.facts.cache_line_bytes / body_.last().Bytes());
  }

  /// Processes a block one cache line of the stores at a time, because a store of half a line past the caches
  /// is a separate write to memory.
  void AlongSide(const Block& block) {
    int64_t of_line = LineLanes();
    LoopBounds lines{block.last.lo, block.last.hi, of_line};
    MakeLoop(e_.b, lines, [&](Value* line) {
      Value* next = e_.b.Add(line, e_.b.I64(of_line));
      Value* end = e_.b.Min(next, block.last.hi);
      ForSides(block, [&](Value* side) {
        if (of_line == lanes_) return RunRegisterTranspose(block, side, line);
        MakeLoop(e_.b, {line, end, lanes_},
                 [&](Value* last) { RunRegisterTranspose(block, side, last); });
      });
    });
  }

  /// Emits the condition that the outputs are large and all cache lines of the block are aligned. It suffices
  /// to check the first two rows, because the distance between rows is constant.
  Value* PassesCaches(const Block& block) {
    Value* zero = e_.b.I64(0);
    Value* one = e_.b.I64(1);
    Value* next = e_.b.Add(block.side.lo, one);
    Value* last = e_.b.Sub(block.side.hi, one);
    Value* second = e_.b.Min(next, last);
    Value* passes = streaming_.large;
    for (Value* side : {block.side.lo, second}) {
      body_.Locally([&] {
        accesses_.MoveTo({side, block.last.lo, nullptr, nullptr}, zero, zero);
        for (const Op* store : streaming_.stores) {
          Value* gap = AlignGap(e_, body_.AccessHere(store, {LineLanes()}));
          passes = e_.b.And(passes, e_.b.Eq(gap, zero));
        }
      });
    }
    return passes;
  }

  void RunRegisterTranspose(const Block& block, Value* at_side, Value* at_last) {
    TransposedBlock transpose{at_side, at_last, e_.b.Sub(block.side.hi, at_side),
                              e_.b.Sub(block.last.hi, at_last)};
    Value* lanes = e_.b.I64(lanes_);
    TransposedBlock whole = transpose;
    if (accesses_.IsNarrow()) {
      whole.last_points = lanes;
      whole.side_points = transpose.side_points = e_.b.I64(accesses_.points());
    }
    auto run = [&](const TransposedBlock& part, bool masked) {
      body_.Locally([&] { Fill(part, masked); });
    };
    auto run_part = [&] {
      if (streaming_.large) return run(transpose, true);
      if (lanes_ <= kFewPerLane) return RunElements(transpose);  // a part of a square has fewer
      MakeIf(
          e_.b, HasFewElements(transpose), [&] { RunElements(transpose); },
          [&] { run(transpose, true); });
    };
    if (!MayBeFull()) return run_part();
    Value* full = e_.b.Ge(transpose.last_points, lanes);
    if (!accesses_.IsNarrow()) {
      Value* full_side = e_.b.Ge(transpose.side_points, lanes);
      full = e_.b.And(full_side, full);
    }
    MakeIf(e_.b, full, [&] { run(whole, false); }, run_part);
  }

  /// Emits the condition that moving the elements one by one takes less time than transposing a square under masks.
  Value* HasFewElements(const TransposedBlock& transpose) {
    Value* lanes = e_.b.I64(lanes_);
    Value* sides = e_.b.Min(transpose.side_points, lanes);
    Value* lasts = e_.b.Min(transpose.last_points, lanes);
    return e_.b.Le(e_.b.Mul(sides, lasts), e_.b.I64(kFewPerLane * lanes_));
  }

  void RunElements(const TransposedBlock& transpose) {
    Value* lanes = e_.b.I64(lanes_);
    Value* zero = e_.b.I64(0);
    Value* sides = e_.b.Min(transpose.side_points, lanes);
    Value* lasts = e_.b.Min(transpose.last_points, lanes);
    MakeLoop(e_.b, {zero, sides}, [&](Value* side) {
      MakeLoop(e_.b, {zero, lasts}, [&](Value* last) {
        body_.Locally([&] {
          accesses_.MoveTo(transpose, side, last);
          body_.Expand({}, [](const Op*) { return true; });
        });
      });
    });
  }

  /// Whether a block can have enough points for a square without a mask.
  bool MayBeFull() const {
    bool has_sides = accesses_.IsNarrow() || e_.Extent(SideAxis()) >= lanes_;
    return has_sides && e_.Extent(LastAxis()) >= lanes_;
  }

  void Fill(const TransposedBlock& transpose, bool masked) {
    std::unordered_map<const Op*, Values> transposed;
    for (const Op* access : body_.last().Across()) {
      if (packs_ && !masked && !accesses_.IsNarrow()) PrefetchRows(access, transpose);
      transposed[access] = stores_ ? Values() : accesses_.LoadTransposed(access, transpose, masked);
    }
    for (int64_t i = 0; i < accesses_.points(); ++i) {
      Value* point = accesses_.ExistingPoint(transpose, i, masked);
      accesses_.MoveTo(transpose, point, e_.b.I64(0));
      for (const auto& [load, rows] : transposed) {
        if (!stores_) body_.Bind(load->result(), rows[static_cast<size_t>(i)]);
      }
      Chunk chunk = accesses_.VectorChunk(transpose.side_points, i, transpose.last_points, masked);
      body_.Expand(chunk, [&](const Op* op) { return !transposed.contains(op); });
      for (auto& [store, rows] : transposed) {
        if (stores_) rows.push_back(e_.b.Splat(body_.Term(store->operand(0)), lanes_));
      }
    }
    if (!stores_) return;
    for (const Op* store : body_.last().Across())
      accesses_.StoreTransposed(store, transposed.at(store), transpose, masked);
  }

  /// Prefetches rows that are loaded some squares later: as many cache lines as this square loads. Squares
  /// whose rows are parts of the same cache lines prefetch different rows. A row of wide elements may also be
  /// several cache lines.
  void PrefetchRows(const Op* load, const TransposedBlock& transpose) {
    constexpr int64_t kBytesAhead = 8192;
    int64_t bytes = Bytes(load->result()->type()->scalar);
    int64_t line = std::max<int64_t>(e_.facts.cache_line_bytes / bytes, 1);  // elements
    int64_t row = std::max<int64_t>(e_.Extent(SideAxis()) * bytes, 1);
    int64_t ahead = std::max(LineLanes(), kBytesAhead / row);
    int64_t sharing =
        std::clamp<int64_t>(line / lanes_, 1, lanes_);  // transposes of one cache line
    int64_t count = lanes_ / sharing;
    Value* number = e_.b.Div(transpose.side, e_.b.I64(lanes_));
    Value* part = e_.b.Rem(number, e_.b.I64(sharing));
    Value* first = e_.b.Mul(part, e_.b.I64(count));
    for (int64_t i = 0; i < count; ++i) {
      Value* row = e_.b.Add(first, e_.b.I64(ahead + i));
      for (int64_t side = 0; side < lanes_; side += line) {
        accesses_.MoveTo(transpose, e_.b.I64(side), row);
        ExpandPrefetch(e_, body_.AccessHere(load, {}), ir::IntentKind::ReadLater);
      }
    }
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  TransposedAccesses accesses_;
  int64_t lanes_;
  bool stores_;  ///< whether the elements of stores, rather than of loads, are transposed
  bool packs_;   ///< whether elements of loads are transposed on the way into tile buffers
  Streaming streaming_;
};

}  // namespace

void RunRegisterTransposes(ElementwiseLoopBody& body) {
  RegisterTransposes(body).ExpandTransposed();
}

}  // namespace kdl::cpu
