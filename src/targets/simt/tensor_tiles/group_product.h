#pragma once

#include <functional>

#include "targets/simt/tiles/product_block.h"

namespace kdl::simt {

/// Where a factor of a step lies.
struct StepFactor {
  ir::Value* ring;
  ir::Value* slot;
  bool has_terms_in_rows;  ///< of panels
};

/// Each worker's registers for what the product's steps make: those of `target`, where it lies there and steps go on from it.
ir::Value* RegistersFor(ir::Builder& b, const WorkgroupTiles& tiles, const ir::Op* product,
                        ir::Value* target);

/// What each worker has in such registers, in the order of its points; and puts there.
passes::Values LoadRegisters(ir::Builder& b, ir::Value* registers);
void StoreRegisters(ir::Builder& b, const passes::Values& values, ir::Value* registers);

/// A product of the unit of a group of workers, whose factors are there: the steps of its block of terms.
class GroupProduct {
 public:
  using Values = passes::Values;

  /// `rows`: the factor of the result's first axis.
  GroupProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* product, ir::Value* thread,
               const StepFactor& rows, const StepFactor& columns);

  /// Begins all steps, which go on from what the registers have and leave their sums there.
  void Begin(ir::Value* registers);
  /// Takes all steps and waits for them; calls `read` where none reads the factors any more.
  void Run(ProductBlock& block, ir::Value* registers, ir::Value* target,
           const std::function<void()>& read);

 private:
  void RunApart(ProductBlock& block, ir::Value* registers, ir::Value* target,
                const std::function<void()>& read);
  /// The sums after the steps of the terms from `first` to `end`.
  Values Steps(int64_t first, int64_t end, Values sums);
  Values Step(int64_t term, const Values& sums);
  /// Puts sums into the registers, closes their steps and waits for those.
  void Await(const Values& sums, ir::Value* registers);

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const ir::Op* product_;
  const ir::MatrixInstruction& instruction_;
  ir::Value* thread_;
  StepFactor rows_;
  StepFactor columns_;
  int64_t terms_;
};

}  // namespace kdl::simt
