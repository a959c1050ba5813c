#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "driver/ranks/grid_host.h"
#include "driver/run/arguments.h"
#include "interp/memory_host.h"

namespace kdl::driver {

/// Runs a program in the interpreter and counts the bytes that ranks must receive: elements that a rank reads, that
/// another one owns, and that it has not received or has forgotten. This does not depend on proofs, and on the fetches in the
/// program only in that ranks keep what is requested when they forget the rest. All ranks share one memory, so they read the right
/// values without messages.
class LeastTraffic final : public GridHost<interp::MemoryHost> {
 public:
  /// `kernels` contains the kernels of all launches at tile level, and must outlive this object.
  LeastTraffic(const ir::Module& kernels, RankGrid grid);

  int64_t bytes() const { return bytes_; }

  Result<interp::TensorId> Alloc(const interp::AllocRequest& request) override;
  interp::TensorId RankMemory(interp::TensorId tensor, int64_t rank) override;
  interp::TensorId View(const interp::ViewRequest& request) override;
  Result<interp::EventId> Copy(const interp::CopyRequest& request) override;
  Result<interp::EventId> Launch(const interp::LaunchRequest& request) override;
  Status Fetch(const interp::FetchRequest& request) override;
  Status FinishFetches(Name device) override;
  Status Rewritten(const interp::RewrittenRequest& request) override;

 private:
  /// A view through which a rank accesses a distributed tensor.
  struct RankView {
    interp::TensorId tensor;
    int64_t rank = 0;
  };
  /// A tensor whose elements have owners.
  struct OwnedTensor {
    Ownership ownership;
    std::set<std::pair<int64_t, int64_t>> received = {};  ///< ranks and offsets of elements
    /// What has been requested for ranks since FinishFetches.
    std::vector<std::pair<int64_t, Box>> requested = {};

    bool IsRequested(int64_t rank, const Box& element) const;
  };

  bool IsOfRank(interp::TensorId tensor) const { return views_.contains(tensor); }
  /// Returns the element of a distributed tensor that is at this offset in its memory.
  Box ElementAt(interp::TensorId tensor, int64_t offset);
  void CountReads(interp::TensorId view, const std::vector<bool>& reads, bool is_everywhere);
  void CountRead(interp::TensorId tensor, int64_t offset, int64_t rank);

  const ir::Module& kernels_;
  int64_t bytes_ = 0;
  std::vector<std::vector<bool>> reads_;  ///< those of the last launch, by tensor argument
  std::map<interp::TensorId, RankView> views_;
  std::map<interp::TensorId, OwnedTensor> owned_;
};

/// Returns the bytes that the ranks of a program must receive if it is called with the arguments in `bound`. `kernels`
/// contains the kernels of its launches at tile level.
Result<int64_t> LeastBytes(const ir::Module& module, const ir::Module& kernels,
                           const ir::Function& program, BoundProgram bound, const RankGrid& grid);

}  // namespace kdl::driver
