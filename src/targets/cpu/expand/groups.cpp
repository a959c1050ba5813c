#include <algorithm>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"

// Some matrix instructions multiply and add a group of several terms in each step, and need the factors of
// these terms to be adjacent in memory. There are two cases:
// - The terms are along the last axis. Their factors are already adjacent. Only the last group of each row may
//   have to be filled up with zeros.
// - The terms are along the axis before the last one, so their factors are in different rows. As many rows as
//   a group has terms are computed together and interleaved (`zip`), one chunk of the last axis at a time. Rows
//   after the block's end are +0.

namespace kdl::cpu {

namespace {

class Groups {
 public:
  explicit Groups(ElementwiseLoopBody& body)
      : e_(body.e()),
        body_(body),
        tile_buffer_(body.tile_buffers()[0]),
        along_(tile_buffer_.axes[tile_buffer_.axes.size() - 2]) {}

  void ExpandGroups() {
    body_.Around(along_, body_.axes().back(), [&] { RunRows(); });
  }

 private:
  void RunRows() {
    Window rows = e_.WindowOf(body_.elementwise(), along_);
    Value* full = e_.b.Add(rows.lo, RoundDown(e_, rows.size, tile_buffer_.group));
    MakeLoop(e_.b, {rows.lo, full, tile_buffer_.group},
             [&](Value* row) { RunGroup(row, nullptr); });
    MakeIf(e_.b, e_.b.Lt(full, rows.hi), [&] { RunGroup(full, rows.hi); });
  }

  /// Emits the group of rows that begins with `row`. If `end` is set, the rows from `end` on are +0.
  void RunGroup(Value* row, Value* end) {
    AxisId last = body_.axes().back();
    int64_t lanes = std::min(tile_buffer_.panel, body_.Lanes());
    auto run = [&](const Chunk& chunk) {
      Values zipped;
      for (int64_t number = 0; number < tile_buffer_.group; ++number)
        zipped.push_back(GroupRow(row, end, number, chunk));
      body_.position()[along_] = row;
      ir::Type type = e_.VectorType(zipped[0]->type()->scalar, tile_buffer_.group * chunk.lanes);
      StoreGroups(e_, MakeOne(e_.b, OpKind::Zip, {zipped}, type), tile_buffer_, body_.position());
    };
    MakeChunks(e_, last, e_.WindowOf(body_.elementwise(), last), lanes, body_.position(), run,
               false);
  }

  Value* GroupRow(Value* row, Value* end, int64_t number, const Chunk& chunk) {
    Value* at = e_.b.Add(row, e_.b.I64(number));
    Value* exists = nullptr;
    if (end) {
      exists = e_.b.Lt(at, end);
      at = e_.b.Min(at, e_.b.Sub(end, e_.b.I64(1)));
    }
    body_.position()[along_] = at;
    const Op* yield = body_.elementwise()->region()->terminator();
    Value* made = nullptr;
    body_.Locally([&] {
      for (size_t i = 0; i < body_.axes().size(); ++i) {
        bool walked = body_.axes()[i] == along_ || i + 1 == body_.axes().size();
        if (walked) body_.MapPoint(i);
      }
      body_.Expand(chunk, [&](const Op* op) { return op != yield; });
      made = e_.b.Splat(body_.Term(yield->operand(0)), chunk.lanes);
    });
    if (!exists) return made;
    return e_.b.Select(exists, made, ZeroOf(e_, made->type()));
  }

  Expander& e_;
  ElementwiseLoopBody& body_;
  const TileBuffer& tile_buffer_;
  ir::AxisId along_;
};

}  // namespace

bool MakesGroups(const ElementwiseLoopBody& body) {
  bool alone =
      body.tile_buffers().size() == 1 && body.tile_buffers()[0].buffer && body.folds().empty();
  return alone && body.last().Vectorizes() && body.tile_buffers()[0].panel &&
         body.tile_buffers()[0].group > 1;
}

void RunGroups(ElementwiseLoopBody& body) { Groups(body).ExpandGroups(); }

void FillGroups(ElementwiseLoopBody& body) {
  Expander& e = body.e();
  for (size_t i = 0; i < body.tile_buffers().size(); ++i) {
    const TileBuffer& tile_buffer = body.tile_buffers()[i];
    if (!tile_buffer.buffer || tile_buffer.panel || tile_buffer.group == 1) continue;
    AxisId last = tile_buffer.axes.back();
    Value* hi = e.WindowOf(body.elementwise(), last).hi;
    Value* end = RoundDown(e, e.b.Add(hi, e.b.I64(tile_buffer.group - 1)), tile_buffer.group);
    Value* none = e.b.Bits(body.elementwise()->result(i)->type()->scalar, 0);
    ir::AxisList around(tile_buffer.axes.begin(), tile_buffer.axes.end() - 1);
    Position position;
    MakeIf(e.b, e.b.Lt(hi, end), [&] {
      MakeElementwiseLoop(e, body.elementwise(), around, position, [&] {
        MakeLoop(e.b, {hi, end}, [&](Value* index) {
          position[last] = index;
          StoreChunk(e, none, tile_buffer, position);
        });
      });
    });
  }
}

}  // namespace kdl::cpu
