#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "proofs/barriers.h"
#include "proofs/elements.h"

namespace kdl::proofs {

/// Which writes count.
enum class CountedWrites : uint8_t { All, Plain /* all but `atomic` and `reduce` */ };

/// Elements that code surely writes, whatever the data is, with what stands around it as variables.
class MustWrites {
 public:
  explicit MustWrites(Instances& instances, CountedWrites counted = CountedWrites::All)
      : instances_(instances), elements_(instances), barriers_(instances), counted_(counted) {}

  Elements& elements() { return elements_; }
  /// Once the kernel has ended.
  PointSet OfLaunch(const ir::Value* memory);
  /// When the op begins: by the block or core that runs it, and by all cores where a barrier lies between. Writes of another
  /// loop over blocks count even without a barrier: two blocks that access one element plainly are a race, which
  /// check-disjoint refuses.
  PointSet Before(const ir::Op* op, const ir::Value* memory);
  /// The same for an op that may meet another block's write without a race, as updates by `atomic` may: only what the op's own
  /// block has written counts, and what a barrier orders.
  PointSet BeforeInOrder(const ir::Op* op, const ir::Value* memory);

 private:
  const PointSet& Of(ir::Op* op, const ir::Value* memory);
  enum class Across : bool { Blocks, BarriersAlone };
  PointSet Before(const ir::Op* op, const ir::Value* memory, Across across);
  PointSet Summarize(ir::Op* op, const ir::Value* memory);
  PointSet OfBlock(const ir::Region* region, const ir::Value* memory);
  PointSet OfStore(const AccessView& view);
  PointSet OfBranches(ir::Op* op, const ir::Value* memory);
  PointSet OfIterations(ir::Op* loop, const ir::Value* memory);
  PointSet OfEarlierIterations(const ir::Op* loop, const ir::Value* memory);
  PointSet OfAllCores(PointSet written);
  PointSet AtAnyPoint(const PointSet& written);
  PointSet WithoutPoints(const PointSet& written, const ir::Op* loop) const;

  PointSet Leave(const ir::Value* binder, PointSet written);
  PointSet LeaveBlocks(const ir::Value* block, PointSet written);
  std::vector<std::string> ProductsOf(const PointSet& written, AtomId number) const;
  PointSet LeaveBlockNumbers(const Product& product, const ir::Value* binder,
                             const PointSet& written);
  PointSet OfParts(const PointSet& written, const PointSet& grid,
                   const std::vector<std::string>& variables, const Affine& behind,
                   const Affine& end);
  PointSet LeaveRagged(const Ragged& ragged, const std::string& number, const PointSet& written);
  PointSet LeaveNumbers(const ir::Value* binder, PointSet written);
  PointSet ForEvery(PointSet written, const std::vector<std::string>& variables);
  PointSet AnyOfGrid(const PointSet& written, const PointSet& grid,
                     const std::vector<std::string>& variables, const PointSet& exists);
  std::vector<std::string> OpaqueOf(const PointSet& written, const ir::Op* loop) const;
  std::vector<std::string> OfCores(const PointSet& written) const;

  Instances& instances_;
  Elements elements_;
  Barriers barriers_;
  CountedWrites counted_;
  std::map<std::pair<const ir::Op*, const ir::Value*>, PointSet> known_;
};

}  // namespace kdl::proofs
