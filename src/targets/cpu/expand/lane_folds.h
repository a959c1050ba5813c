#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "targets/cpu/expand/accumulate.h"

namespace kdl::cpu {

/// Folds in lanes that go over the same axes together: one walk, 64 accumulators each.
class LaneFolds {
 public:
  /// All fold the same axes; `bytes` is the widest scalar that goes through a vector.
  LaneFolds(Expander& e, std::vector<Accumulation> folds, int64_t bytes);

  const std::vector<Accumulation>& folds() const { return folds_; }

  /// What the walk does besides folding.
  struct Body {
    /// At the start of a row of the last axis.
    std::function<void()> row;
    /// The terms of each fold for the elements of the piece at the position, `before` elements into its turn.
    std::function<std::vector<Values>(const Piece&, int64_t before)> terms;
    /// Whether several rows are walked together, a bool; null: never.
    ir::Value* together = nullptr;
  };

  /// The folded values of the element at the position, one for each fold.
  Values Fold(Position& position, const Body& body);

  /// Folds for all elements over `kept`, and stores each folded value into the home of its number. The homes have those
  /// axes in one order.
  void FoldAll(const ir::AxisList& kept, const std::vector<Home>& homes, Position& position,
               const Body& body);

 private:
  /// So many elements of an axis, which are walked together.
  struct Rows {
    ir::AxisId axis;
    ir::Value* first;
    int64_t count;
  };
  void FoldRow(ir::AxisId axis, int64_t lanes, int64_t rows, const std::vector<Home>& homes,
               Position& position, const Body& body);
  int64_t RowsTogether(int64_t lanes) const;
  std::vector<std::pair<ir::Value*, Values>> FoldTogether(const Rows& rows, Position& position,
                                                          const Body& body);
  ir::AxisList SlowAxes() const;
  Values Starts(const Position& position);
  Values Finished(std::span<ir::Value* const> lanes);
  void Store(const Values& folded, const std::vector<Home>& homes, const Position& position,
             const Piece& piece);
  Values Start(const Accumulation& fold, const Position& position);
  Values Identities() const;
  Values Row(const Values& carried, Position& position, const Body& body);
  Values WholeTurns(const Values& carried, ir::Value* full, Position& position, const Body& body);
  Values Rest(const Values& carried, ir::Value* full, Position& position, const Body& body);
  void Step(std::span<ir::Value*> lanes, size_t vector, const Piece& piece, const Body& body);
  ir::Value* Finish(const Accumulation& fold, Values lanes);

  Expander& e_;
  std::vector<Accumulation> folds_;
  ir::AxisId last_;
  int64_t width_;   ///< of a vector
  size_t vectors_;  ///< with the lanes of one accumulator
};

}  // namespace kdl::cpu
