#pragma once

#include <functional>

#include "targets/simt/tiles/product_block.h"

namespace kdl::simt {

/// The location of one factor of a matrix instruction: a slot of a ring buffer.
struct StepFactor {
  ir::Value* ring;
  ir::Value* slot;
  bool has_terms_in_rows;  ///< whether terms run along the rows of the factor's panels
};

/// Returns a buffer in registers for each thread's accumulators. If `target` is in registers and the matrix
/// instructions accumulate onto it, returns `target` itself.
ir::Value* RegistersFor(ir::Builder& b, const WorkgroupTiles& tiles, const ir::Op* product,
                        ir::Value* target);

/// Load and store all of a thread's registers, in the order of its points.
passes::Values LoadRegisters(ir::Builder& b, ir::Value* registers);
void StoreRegisters(ir::Builder& b, const passes::Values& values, ir::Value* registers);

/// Emits the matrix instructions (`wgmma`) that a group of warps executes for one block of a product's terms.
/// The factors must already be in workgroup memory.
class GroupProduct {
 public:
  using Values = passes::Values;

  /// `rows` is the factor that has the result's first axis, and `columns` is the other factor.
  GroupProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* product, ir::Value* thread,
               const StepFactor& rows, const StepFactor& columns);

  /// Executes all matrix instructions, which add to `registers`, and waits for them.
  void AddAndWait(ir::Value* registers);
  /// Executes all matrix instructions, waits for them, and stores the result in `target`.
  void MultiplyAndWait(ProductBlock& block, ir::Value* registers, ir::Value* target);

 private:
  void MultiplyApart(ProductBlock& block, ir::Value* registers, ir::Value* target);
  /// Returns the sums after the matrix instructions for the terms from `first` to `end`.
  Values MmaSteps(int64_t first, int64_t end, Values sums);
  Values MmaStep(int64_t term, const Values& sums);
  /// Stores the sums in the registers, commits the matrix instructions that compute the sums, and waits for
  /// these instructions.
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
