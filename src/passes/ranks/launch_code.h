#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"
#include "passes/names.h"
#include "passes/ranks/launch_axes.h"
#include "passes/ranks/needed_code.h"
#include "passes/ranks/rank_ops.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// What a rank needs of one argument of a launch.
struct RankNeed {
  RankArgument argument;
  std::vector<proofs::NeededPart> parts;
};

/// Returns a size of a launched kernel in the sizes of the program, or null if no argument is known to have it.
Size SizeInProgram(SizeTable& sizes, const Op* launch, const ir::Function& kernel, Size size);

/// Creates the ops that replace one launch of a program: what ranks send to each other before it, and the launches of the ranks.
class LaunchCode {
 public:
  /// `ops` and the launch must outlive the object.
  LaunchCode(ir::Module& module, const RankOps& ops, Op* launch);

  ir::Builder& b() { return b_; }
  const RankOps& ops() const { return ops_; }
  const RankValues& ranks() const { return ranks_; }
  Op* launch() const { return launch_; }

  /// Creates the code for what a rank runs of a kernel, with `body`, which gets the values of the parameters that limit binders:
  /// the last ones of the kernel.
  using PartBody = std::function<void(const std::vector<PartValues>& parts)>;
  using ForPartsOfRank = std::function<void(Value* rank, const PartBody& body)>;
  /// Creates code for each box that a rank owns of what a launch along these axes writes.
  ForPartsOfRank ForOwnedParts(const std::vector<LaunchAxis>& axes);
  /// Sends each rank what it needs of `needs` for the blocks of `kernel` that it runs.
  void FetchNeeds(const ir::Function& kernel, const std::vector<RankNeed>& needs,
                  const ForPartsOfRank& for_parts);
  /// Like FetchNeeds, but launches can follow before the fetches are finished.
  void RequestNeeds(const ir::Function& kernel, const std::vector<RankNeed>& needs,
                    const ForPartsOfRank& for_parts);
  /// Sends what one rank needs. The fetches must be finished afterwards.
  void FetchNeedsOf(Value* rank, const ir::Function& kernel, const std::vector<RankNeed>& needs,
                    const std::vector<PartValues>& parts);
  /// Calls `fetch` in a loop over the ranks of all processes, and finishes the fetches that it creates.
  void FetchForAll(const std::function<void(Value* rank)>& fetch);

  /// Returns the arguments of the launch, in which the memory of the rank replaces distributed tensors.
  std::vector<Value*> InMemoryOf(const std::vector<RankArgument>& arguments, Value* rank);
  /// Creates a launch of another kernel with the device, the queue and the cores of the original launch. `constants` says
  /// whether the kernel has its integer parameters.
  void CreateLaunch(const ir::Function& kernel, const std::vector<Value*>& operands,
                    bool constants = true);

 private:
  LaunchNumbers NumbersOf(const ir::Function& kernel, const std::vector<PartValues>& parts);
  void FetchParts(const RankNeed& need, Value* rank, const LaunchNumbers& numbers,
                  const std::string& cause);

  const RankOps& ops_;
  Op* launch_;
  ir::Builder b_;
  RankValues ranks_;
};

}  // namespace kdl::passes
