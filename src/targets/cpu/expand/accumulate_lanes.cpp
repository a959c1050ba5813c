#include "targets/cpu/expand/lane_folds.h"

// A fold in lanes whose operands stand in scratch, or are scalars.

namespace kdl::cpu {

void AccumulateLanes(Expander& e, const Accumulation& what) {
  AxisId last = what.folded.back();
  std::vector<Home> homes;  // of the operands that have the last axis
  for (Value* operand : what.operands)
    homes.push_back(HasAxis(operand, last) ? HomeAlong(e, operand, last) : Home());
  Position position;
  LaneFolds folds(e, {what}, Bytes(what.acc));
  LaneFolds::Body body;
  body.terms = [&](const Piece& piece, int64_t /*before*/) {
    Values terms;
    for (size_t i = 0; i < homes.size(); ++i) {
      Value* operand = what.operands[i];
      terms.push_back(HasAxis(operand, last)
                          ? LoadPiece(e, homes[i], operand->type()->scalar, position, piece)
                      : IsTileValue(operand)
                          ? LoadPiece(e, HomeOf(e, operand), operand->type()->scalar, position)
                          : e.Scalar(operand));
    }
    return std::vector<Values>{terms};
  };
  const Value* result = what.op->result();
  if (!IsTileValue(result)) {
    e.scalars[result] = folds.Fold(position, body)[0];
    return;
  }
  const Home& target = HomeOf(e, result);
  folds.FoldAll(target.axes, {target}, position, body);
}

}  // namespace kdl::cpu
