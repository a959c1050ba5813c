#include <algorithm>

#include "ir/op_kind.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/nest_body.h"

// What a unit takes in steps lies in groups: the rows of a step, neighbours along the axis before the last one, are made together
// and zipped, a piece of the last axis at a time. Rows after the block's end are +0.
// Where the last axis is that of the steps, groups lie side by side by themselves, and the last one of each row is filled.

namespace kdl::cpu {

namespace {

class Groups {
 public:
  explicit Groups(NestBody& body)
      : e_(body.e()),
        body_(body),
        home_(body.homes()[0]),
        along_(home_.axes[home_.axes.size() - 2]) {}

  void Run() {
    body_.Around(along_, body_.axes().back(), [&] { RunRows(); });
  }

 private:
  void RunRows() {
    Window rows = e_.WindowOf(body_.nest(), along_);
    Value* full = e_.b.Add(rows.lo, RoundDown(e_, rows.size, home_.group));
    MakeLoop(e_.b, {rows.lo, full, home_.group}, [&](Value* row) { RunGroup(row, nullptr); });
    MakeIf(e_.b, e_.b.Lt(full, rows.hi), [&] { RunGroup(full, rows.hi); });
  }

  /// The rows from `row` on; after `end`, where there is one, they are none.
  void RunGroup(Value* row, Value* end) {
    AxisId last = body_.axes().back();
    int64_t lanes = std::min(home_.panel, body_.Lanes());
    auto run = [&](const Piece& piece) {
      Values zipped;
      for (int64_t number = 0; number < home_.group; ++number)
        zipped.push_back(RowOf(row, end, number, piece));
      body_.position()[along_] = row;
      ir::Type type = e_.TypeOf(zipped[0]->type()->scalar, home_.group * piece.lanes);
      StoreGroups(e_, MakeOne(e_.b, OpKind::Zip, {zipped}, type), home_, body_.position());
    };
    MakePieces(e_, last, e_.WindowOf(body_.nest(), last), lanes, body_.position(), run, false);
  }

  Value* RowOf(Value* row, Value* end, int64_t number, const Piece& piece) {
    Value* at = e_.b.Add(row, e_.b.I64(number));
    Value* exists = nullptr;
    if (end) {
      exists = e_.b.Lt(at, end);
      at = e_.b.Min(at, e_.b.Sub(end, e_.b.I64(1)));
    }
    body_.position()[along_] = at;
    const Op* yield = body_.nest()->region()->terminator();
    Value* made = nullptr;
    body_.Locally([&] {
      for (size_t i = 0; i < body_.axes().size(); ++i) {
        bool walked = body_.axes()[i] == along_ || i + 1 == body_.axes().size();
        if (walked) body_.MapPoint(i);
      }
      body_.Expand(piece, [&](const Op* op) { return op != yield; });
      made = e_.b.Splat(body_.Term(yield->operand(0)), piece.lanes);
    });
    if (!exists) return made;
    return e_.b.Select(exists, made, ZeroOf(e_, made->type()));
  }

  Expander& e_;
  NestBody& body_;
  const Home& home_;
  ir::AxisId along_;
};

}  // namespace

bool MakesGroups(const NestBody& body) {
  bool alone = body.homes().size() == 1 && body.homes()[0].buffer && body.folds().empty();
  return alone && body.last().Vectorizes() && body.homes()[0].panel && body.homes()[0].group > 1;
}

void RunGroups(NestBody& body) { Groups(body).Run(); }

void FillGroups(NestBody& body) {
  Expander& e = body.e();
  for (size_t i = 0; i < body.homes().size(); ++i) {
    const Home& home = body.homes()[i];
    if (!home.buffer || home.panel || home.group == 1) continue;
    AxisId last = home.axes.back();
    Value* hi = e.WindowOf(body.nest(), last).hi;
    Value* end = RoundDown(e, e.b.Add(hi, e.b.I64(home.group - 1)), home.group);
    Value* none = e.b.Bits(body.nest()->result(i)->type()->scalar, 0);
    ir::AxisList around(home.axes.begin(), home.axes.end() - 1);
    Position position;
    MakeIf(e.b, e.b.Lt(hi, end), [&] {
      MakeNest(e, body.nest(), around, position, [&] {
        MakeLoop(e.b, {hi, end}, [&](Value* index) {
          position[last] = index;
          StorePiece(e, none, home, position);
        });
      });
    });
  }
}

}  // namespace kdl::cpu
