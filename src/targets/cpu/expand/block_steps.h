#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "targets/cpu/analysis/register_block.h"
#include "targets/cpu/expand/accumulate.h"
#include "targets/cpu/expand/slide.h"

namespace kdl::cpu {

/// One register block of a reduction or contraction: its walk over the folded axes, with an accumulator for each
/// of its vectors. What an operand lacks, the row or the column, it is read once for.
class BlockSteps {
 public:
  using Shape = RegisterBlock::Shape;

  BlockSteps(Expander& e, const Accumulation& what, const RegisterBlock& block);

  /// To a vector of the block.
  void Place(int64_t row, int64_t column);
  Position& position() { return position_; }

  template <class Visit>
  static void ForEach(Shape shape, Visit&& visit) {
    size_t n = 0;
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t column = 0; column < shape.columns; ++column) visit(n++, row, column);
    }
  }

  /// The accumulators after all terms, row by row.
  Values Accumulate(Shape shape, const Piece& piece, const PartialRows& rows);

 private:
  int64_t TermsTogether(Shape shape) const;
  Values AfterTerm(Shape shape, const Piece& piece, const Values& accs);
  Values RowByRow(Shape shape, const Values& starts,
                  const std::function<Values(Shape, const Values&)>& after);
  Values AfterSteps(Shape shape, const Piece& piece, const Values& starts);
  Values AfterRest(Shape shape, const Piece& piece, const Stretch& rest, const Values& accs);
  bool Flushes() const;
  ir::Value* RowNumber(int64_t row);
  bool FitTiles(Shape shape) const;
  Values AfterTiles(Shape shape, ir::Value* lo, ir::Value* steps, const Values& accs);
  Values Taken(const Values& starts);
  Values AfterStep(Shape shape, const Piece& piece, const Stretch& terms, Values accs);
  void AddZeros(Values& accs);
  void MoveTo(const Stretch& terms, int64_t number);
  bool AreFilled() const;
  Values AfterInstructions(Shape shape, const Piece& piece, const Stretch& terms,
                           const Values& accs);
  Values AfterChains(Shape shape, const Piece& piece, const Stretch& terms, const Values& accs);
  Values AfterPair(Shape row, const Piece& piece, const Stretch& terms, const Values& chains);
  Values WithNothing(const Values& chains, ir::Value* zero, ir::Value* terms);
  ir::Value* StepFactors(size_t operand, int64_t row, int64_t column, const Piece& piece,
                         const Stretch& terms);
  Values Starts(Shape shape, const Piece& piece);
  Values WithPlus(Shape shape, const Piece& piece, Values starts);
  Values Loads(Shape shape, const Piece& piece);
  ir::Value* Load(size_t operand, const Piece& piece);
  ir::Value*& Read(size_t operand, int64_t row, int64_t column);
  ir::Value* OrZero(ir::Value* factor);
  Values Terms(int64_t row, int64_t column, const Piece& piece);

  Expander& e_;
  const Accumulation& what_;
  std::optional<ir::AxisId> row_;
  std::optional<ir::AxisId> column_;
  int64_t lanes_;
  bool is_native_;
  bool is_plain_;                               ///< no term has anything to flush
  std::vector<Home> homes_;                     ///< of the operands that have one
  std::vector<std::optional<Sliding>> slides_;  ///< of those that are read in a window
  Home start_;                                  ///< of `into`
  Home plus_;
  Position position_;
  PartialRows rows_;
  ir::Value* turn_row_ = nullptr;  ///< the row of a loop over rows; null: rows stand side by side
  ir::Value* exists_ = nullptr;    ///< of the term at the position; null: it does
  std::map<std::tuple<size_t, int64_t, int64_t>, ir::Value*>
      read_;  ///< operand, row, column: in this turn
};

}  // namespace kdl::cpu
