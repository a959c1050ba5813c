#pragma once

#include <map>
#include <vector>

#include "passes/analysis/prover.h"

namespace kdl::passes {

/// A number that runs through lo .. hi - 1.
struct CoverVar {
  AtomId atom;
  Poly lo;
  Poly hi;
};

struct CoverCondition {
  const ir::Value* value;
  bool holds;
};

/// Elements that a piece of code surely writes: those whose index the variables take, each in its range, where the
/// conditions hold. What else stands in the polynomials is as it is where the code stands.
struct Cover {
  const ir::Op* op;         ///< a store
  const ir::Value* tensor;  ///< no view
  std::vector<Poly> index;  ///< of its Coordinates
  std::vector<CoverVar> vars;
  std::vector<CoverCondition> conditions;
};

/// What stores write, seen from the ops around them.
class Covers {
 public:
  explicit Covers(Terms& terms) : terms_(terms) {}

  /// What an op has written once it is done, seen from its block.
  const std::vector<Cover>& Of(ir::Op* op);
  /// The same for a whole block.
  std::vector<Cover> OfBlock(const ir::Block* block);

 private:
  std::vector<Cover> Summarize(ir::Op* op);
  Cover OfStore(const AccessView& view);
  void OfWalk(const ir::Op* walk, std::vector<Cover>& covers);
  bool Leave(const ir::Value* binder, const ir::Value* lo, const ir::Value* hi, Cover& cover);
  bool LeaveBlk(const ir::Value* blk, const Poly& lo, const Poly& hi, Cover& cover);

  Terms& terms_;
  std::map<const ir::Op*, std::vector<Cover>> known_;
};

/// The covers, and what each two of them write together where they differ in a condition that holds for one and not for the
/// other.
std::vector<Cover> WithBothBranches(std::vector<Cover> covers);

/// Whether each element of `target` is one of those that some cover writes. The target's index may have atoms of its own;
/// `facts` say what is known of them. True is a proof.
bool IsCovered(Terms& terms, const std::vector<Poly>& target, std::vector<Poly> facts,
               const std::vector<Cover>& covers);

/// Whether the values are equal wherever both are computed.
bool IsSame(const ir::Value* a, const ir::Value* b);

}  // namespace kdl::passes
