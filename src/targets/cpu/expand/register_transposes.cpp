#include <algorithm>
#include <unordered_map>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"

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

namespace kdl::cpu {

namespace {

/// A square block of `lanes` points along both axes, with its first point at `side` and `last`. Only the
/// first `side_points` by `last_points` of its points exist.
struct RegisterTranspose {
  Value* side;
  Value* last;
  Value* side_points;
  Value* last_points;
};

class RegisterTransposes {
 public:
  explicit RegisterTransposes(ElementwiseLoopBody& body)
      : e_(body.e()),
        body_(body),
        side_(body.last().across_axis()),
        lanes_(std::min(kLargest, e_.facts.vector_bits / 8 / body.last().Bytes())),
        stores_(body.last().Across()[0]->kind() == OpKind::Store),
        packs_(!stores_ && !body.elementwise()->results().empty()) {
    if (!stores_) streaming_ = StreamingOf(body, lanes_);
  }

  void ExpandTransposed() {
    body_.Around(SideAxis(), LastAxis(), [&] { RunBlock(); });
  }

 private:
  // The maximum number of rows that fit into registers together.
  static constexpr int64_t kLargest = 16;

  ir::AxisId SideAxis() const { return body_.axes()[side_]; }
  ir::AxisId LastAxis() const { return body_.axes().back(); }
  LoopBounds Corners(ir::AxisId axis) {
    Window window = e_.WindowOf(body_.elementwise(), axis);
    return {window.lo, window.hi, lanes_};
  }

  void RunBlock() {
    int64_t side_points =
        ConstantOf(e_.WindowOf(body_.elementwise(), SideAxis()).size).value_or(lanes_);
    points_ = std::clamp<int64_t>(side_points, 1, lanes_);
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

  bool IsNarrow() const { return points_ < lanes_; }

  template <class Run>
  void ForSides(const Block& block, Run&& run) {
    if (IsNarrow()) return run(block.side.lo);
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
        MoveTo({side, block.last.lo, nullptr, nullptr}, zero, zero);
        for (const Op* store : streaming_.stores) {
          Value* gap = AlignGap(e_, body_.AccessHere(store, {LineLanes()}));
          passes = e_.b.And(passes, e_.b.Eq(gap, zero));
        }
      });
    }
    return passes;
  }

  void RunRegisterTranspose(const Block& block, Value* at_side, Value* at_last) {
    RegisterTranspose transpose{at_side, at_last, e_.b.Sub(block.side.hi, at_side),
                                e_.b.Sub(block.last.hi, at_last)};
    Value* lanes = e_.b.I64(lanes_);
    Value* full = e_.b.Ge(transpose.last_points, lanes);
    RegisterTranspose whole = transpose;
    if (IsNarrow()) {
      whole.last_points = lanes;
      whole.side_points = transpose.side_points = e_.b.I64(points_);
    } else {
      Value* full_side = e_.b.Ge(transpose.side_points, lanes);
      full = e_.b.And(full_side, full);
    }
    auto run = [&](const RegisterTranspose& part, bool masked) {
      body_.Locally([&] { Fill(part, masked); });
    };
    MakeIf(e_.b, full, [&] { run(whole, false); }, [&] { run(transpose, true); });
  }

  void Fill(const RegisterTranspose& transpose, bool masked) {
    std::unordered_map<const Op*, Values> transposed;
    for (const Op* access : body_.last().Across()) {
      if (packs_ && !masked && !IsNarrow()) PrefetchRows(access, transpose);
      transposed[access] = stores_ ? Values() : LoadTransposed(access, transpose, masked);
    }
    for (int64_t i = 0; i < points_; ++i) {
      Value* point = ExistingPoint(transpose, i, masked);
      MoveTo(transpose, point, e_.b.I64(0));
      for (const auto& [load, rows] : transposed) {
        if (!stores_) body_.Bind(load->result(), rows[static_cast<size_t>(i)]);
      }
      Chunk chunk = VectorChunk(transpose.side_points, i, transpose.last_points, masked);
      body_.Expand(chunk, [&](const Op* op) { return !transposed.contains(op); });
      for (auto& [store, rows] : transposed) {
        if (stores_) rows.push_back(e_.b.Splat(body_.Term(store->operand(0)), lanes_));
      }
    }
    if (!stores_) return;
    for (const Op* store : body_.last().Across())
      StoreTransposed(store, transposed.at(store), transpose, masked);
  }

  /// Transposes vectors along the last axis, one for each point of the side axis, and stores them.
  void StoreTransposed(const Op* store, Values vectors, const RegisterTranspose& transpose,
                       bool masked) {
    vectors.resize(static_cast<size_t>(lanes_), vectors[0]);
    std::vector<ir::Type> types(vectors.size(), vectors[0]->type());
    Values rows = e_.b.Create(OpKind::Transpose, {vectors}, types)->results();
    for (int64_t i = 0; i < lanes_; ++i) {
      Value* last = e_.b.I64(i);
      MoveTo(transpose, e_.b.I64(0), last);
      Chunk chunk =
          VectorChunk(transpose.last_points, i, transpose.side_points, masked || IsNarrow());
      ExpandStore(e_.b, body_.AccessHere(store, chunk), rows[static_cast<size_t>(i)]);
    }
  }

  /// Prefetches rows that are loaded some squares later: as many cache lines as this square loads. Squares
  /// whose rows are parts of the same cache lines prefetch different rows.
  void PrefetchRows(const Op* load, const RegisterTranspose& transpose) {
    constexpr int64_t kBytesAhead = 8192;
    int64_t bytes = Bytes(load->result()->type()->scalar);
    int64_t row = std::max<int64_t>(e_.Extent(SideAxis()) * bytes, 1);
    int64_t ahead = std::max(LineLanes(), kBytesAhead / row);
    int64_t count = std::max<int64_t>(lanes_ * lanes_ * bytes / e_.facts.cache_line_bytes, 1);
    Value* number = e_.b.Div(transpose.side, e_.b.I64(lanes_));
    Value* part = e_.b.Rem(number, e_.b.I64(lanes_ / count));
    Value* first = e_.b.Mul(part, e_.b.I64(count));
    Value* zero = e_.b.I64(0);
    for (int64_t i = 0; i < count; ++i) {
      Value* row = e_.b.Add(first, e_.b.I64(ahead + i));
      MoveTo(transpose, zero, row);
      ExpandPrefetch(e_, body_.AccessHere(load, {}), ir::IntentKind::ReadLater);
    }
  }

  /// Returns a vector along the last axis for each point of the side axis.
  Values LoadTransposed(const Op* load, const RegisterTranspose& transpose, bool masked) {
    Scalar scalar = load->result()->type()->scalar;
    bool in_parts = !masked && !IsNarrow();
    int64_t part = in_parts ? PartLanes(scalar) : lanes_;
    Values parts;
    for (int64_t i = 0; i < lanes_; ++i) {
      Chunk chunk = VectorChunk(transpose.last_points, i, transpose.side_points, !in_parts);
      chunk.lanes = part;
      for (int64_t begin = 0; begin < lanes_; begin += part) {
        Value* place = e_.b.I64(begin);
        MoveTo(transpose, place, e_.b.I64(i));
        parts.push_back(ExpandLoad(e_.b, body_.AccessHere(load, chunk)));
      }
    }
    std::vector<ir::Type> types(static_cast<size_t>(lanes_), e_.VectorType(scalar, lanes_));
    return e_.b.Create(OpKind::Transpose, {parts}, types)->results();
  }

  /// Returns the number of lanes in a part of a row. Rows are loaded in parts within which lanes can move
  /// freely. Each load already puts its part at the right place in a vector, so no element has to move from
  /// one part of a vector to another.
  int64_t PartLanes(Scalar scalar) const {
    constexpr int64_t kPartBytes = 16;
    return std::min(lanes_, kPartBytes / Bytes(scalar));
  }

  /// Returns point `i` of the side axis, or the last existing point if there are fewer points. Values that are
  /// the same along the last axis are read without a mask, so the point must exist.
  Value* ExistingPoint(const RegisterTranspose& transpose, int64_t i, bool masked) {
    Value* point = e_.b.I64(i);
    if (!masked || IsNarrow() || i == 0) return point;
    return e_.b.Min(point, e_.b.Sub(transpose.side_points, e_.b.I64(1)));
  }

  /// Positions the body at the distances `side` and `last` from the square's first point.
  void MoveTo(const RegisterTranspose& transpose, Value* side, Value* last) {
    body_.position()[SideAxis()] = e_.b.Add(transpose.side, side);
    body_.position()[LastAxis()] = e_.b.Add(transpose.last, last);
    body_.MapPoint(side_);
    body_.MapPoint(body_.axes().size() - 1);
  }

  /// Returns the chunk for vector `i` of `vectors`: an empty chunk if there are fewer vectors, otherwise one
  /// with `existing` elements.
  Chunk VectorChunk(Value* vectors, int64_t i, Value* existing, bool masked) {
    if (!masked) return {lanes_};
    Value* exists = e_.b.Lt(e_.b.I64(i), vectors);
    return cpu::ChunkOf(e_, e_.b.Select(exists, existing, e_.b.I64(0)), lanes_);
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  size_t side_;
  int64_t lanes_;
  int64_t points_ = 0;  ///< the maximum number of points along the side axis in a square
  bool stores_;         ///< whether the elements of stores, rather than of loads, are transposed
  bool packs_;          ///< whether elements of loads are transposed on the way into tile buffers
  Streaming streaming_;
};

}  // namespace

void RunRegisterTransposes(ElementwiseLoopBody& body) {
  RegisterTransposes(body).ExpandTransposed();
}

}  // namespace kdl::cpu
