#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "proofs/barriers.h"
#include "proofs/elements.h"

namespace kdl::proofs {

/// Selects the kinds of writes that are considered.
enum class CountedWrites : uint8_t { All, Plain /* all but `atomic` and `reduce` */ };

/// Finds the elements that code surely writes, regardless of the data. The resulting sets have variables for
/// the loop variables and other values of the surrounding code.
class MustWrites {
 public:
  explicit MustWrites(Instances& instances, CountedWrites counted = CountedWrites::All)
      : instances_(instances), elements_(instances), barriers_(instances), counted_(counted) {}

  Elements& elements() { return elements_; }
  /// Returns what has been written by the time the kernel ends.
  PointSet WrittenByLaunch(const ir::Value* memory);
  /// Returns what has been written when the op starts: by the block or core that executes the op, and by all
  /// cores if there is a barrier in between. Writes of another loop over blocks count even without a barrier:
  /// if two blocks access one element non-atomically, that is a race, which check-disjoint refuses.
  PointSet Before(const ir::Op* op, const ir::Value* memory);
  /// Like `Before`, for an op such as an `atomic` update, which may access an element that another block
  /// writes without causing a race. Only writes of the op's own block, and writes before a barrier, count.
  PointSet BeforeInOrder(const ir::Op* op, const ir::Value* memory);

 private:
  const PointSet& WrittenBy(ir::Op* op, const ir::Value* memory);
  enum class Across : bool { Blocks, BarriersAlone };
  PointSet Before(const ir::Op* op, const ir::Value* memory, Across across);
  PointSet Summarize(ir::Op* op, const ir::Value* memory);
  PointSet WrittenByRegion(const ir::Region* region, const ir::Value* memory);
  PointSet WrittenByStore(const AccessView& view);
  PointSet WrittenByBranches(ir::Op* op, const ir::Value* memory);
  PointSet WrittenByIterations(ir::Op* loop, const ir::Value* memory);
  PointSet WrittenByEarlierIterations(const ir::Op* loop, const ir::Value* memory);
  PointSet WrittenByAllCores(PointSet written);
  PointSet AtAnyPoint(const PointSet& written);
  PointSet WithoutPoints(const PointSet& written, const ir::Op* loop) const;

  using Binders = std::vector<const ir::Value*>;
  PointSet Leave(const ir::Value* binder, PointSet written, std::span<const ir::Value* const> gone);
  PointSet LeaveBlocks(const ir::Value* block, PointSet written);
  std::vector<std::string> VariablesWithFactor(const PointSet& written, AtomId number) const;
  PointSet LeaveBlockNumbers(const Product& product, const ir::Value* binder,
                             const PointSet& written);
  PointSet WrittenInParts(const PointSet& written, const PointSet& grid,
                          const std::vector<std::string>& variables, const Affine& after,
                          const Affine& end);
  PointSet LeaveRagged(const Ragged& ragged, const std::string& number, const PointSet& written);
  PointSet LeaveNumbers(const ir::Value* binder, PointSet written,
                        std::span<const ir::Value* const> gone);
  PointSet ForEvery(PointSet written, const std::vector<std::string>& variables);
  PointSet AnyOfGrid(const PointSet& written, const PointSet& grid,
                     const std::vector<std::string>& variables, const PointSet& exists);
  std::vector<Binders> OrdersOfLeaving(const ir::Op* loop) const;
  std::vector<std::string> OpaqueOf(const PointSet& written, const ir::Op* loop) const;
  std::vector<std::string> CoreVariables(const PointSet& written) const;

  Instances& instances_;
  Elements elements_;
  Barriers barriers_;
  CountedWrites counted_;
  std::map<std::pair<const ir::Op*, const ir::Value*>, PointSet> known_;
};

}  // namespace kdl::proofs
