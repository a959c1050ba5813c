#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "driver/ranks/grid_host.h"
#include "driver/ranks/rank_traffic.h"
#include "driver/run/arguments.h"
#include "ir/module.h"
#include "tools/explain/rank_clocks.h"

namespace kdl::tools {

/// Divides the ranks into groups of equal size, one for each rank if there are few.
struct RankGroups {
  int64_t size = 1;
  int64_t count = 1;

  explicit RankGroups(int64_t ranks);
};

/// What is sent for one tensor and cause.
struct CountedTraffic {
  std::vector<driver::RankTraffic> pairs;  ///< by the groups of the sender and of the receiver
  std::vector<int64_t> received;           ///< bytes by receiver
  int64_t most_received = 0;               ///< the most elements that a rank receives for a launch
  int64_t owned = 0;                       ///< the most elements that a rank owns

  CountedTraffic(int64_t ranks, const RankGroups& groups)
      : pairs(static_cast<size_t>(groups.count * groups.count)),
        received(static_cast<size_t>(ranks)) {}
};

/// The memory that a rank needs for distributed tensors.
class RankMemoryCount {
 public:
  explicit RankMemoryCount(int64_t ranks) : held_(static_cast<size_t>(ranks)) {}

  int64_t most_owned() const { return most_owned_; }
  int64_t most_held() const { return most_held_; }

  /// Adds bytes that the rank with most elements owns. Returns false if the sum is too large.
  [[nodiscard]] bool Own(int64_t bytes) {
    bool fits = !__builtin_add_overflow(owned_, bytes, &owned_);
    most_owned_ = std::max(most_owned_, owned_);
    return fits;
  }
  void Disown(int64_t bytes) { owned_ -= bytes; }
  /// Adds bytes of others to those that a rank has of a tensor.
  void Hold(std::vector<int64_t>& of_tensor, size_t rank, int64_t bytes) {
    of_tensor[rank] += bytes;
    most_held_ = std::max(most_held_, held_[rank] += bytes);
  }
  /// The ranks no longer have the elements of others of a tensor.
  void Forget(std::vector<int64_t>& of_tensor) {
    for (size_t rank = 0; rank < of_tensor.size(); ++rank)
      held_[rank] -= std::exchange(of_tensor[rank], 0);
  }

 private:
  int64_t owned_ = 0;
  int64_t most_owned_ = 0;
  std::vector<int64_t> held_;
  int64_t most_held_ = 0;
};

/// How long a rank computes for each index of the loop of a kernel, in seconds.
using KernelSpeeds = std::map<std::string, double, std::less<>>;

/// Executes a program without computing anything, and counts the messages between ranks. Tensors have no elements.
class CountingHost final : public driver::GridHost<interp::ProgramHost> {
 public:
  explicit CountingHost(const driver::RankGrid& grid)
      : GridHost(grid), groups_(grid.count()), memory_(grid.count()) {}
  /// Also simulates when the ranks compute and send. Everything that is passed must outlive the host.
  CountingHost(const driver::RankGrid& grid, const ir::Module& module, const KernelSpeeds& speeds,
               RankClocks& clocks)
      : GridHost(grid),
        groups_(grid.count()),
        memory_(grid.count()),
        module_(&module),
        speeds_(&speeds),
        clocks_(&clocks) {}

  interp::TensorId Add(std::string name, Scalar scalar, std::vector<int64_t> sizes);

  /// The traffic by tensor and cause.
  using TrafficTable = std::map<std::pair<std::string, std::string>, CountedTraffic>;
  const TrafficTable& traffic() const { return traffic_; }
  const RankMemoryCount& memory() const { return memory_; }
  /// With clocks: the indices of the loops of each kernel, over all launches on all ranks.
  const std::map<std::string, double, std::less<>>& points() const { return points_; }

  /// Launches belong to the ranks of this process. Without clocks, those of one rank are enough, because nothing happens in
  /// them.
  interp::RankCounts Ranks(Name device) const override;
  interp::TensorId RankMemory(interp::TensorId tensor, int64_t rank) override;
  Result<interp::TensorId> Alloc(const interp::AllocRequest& request) override;
  Status Free(interp::TensorId tensor, const std::vector<interp::EventId>&) override;
  interp::TensorId View(const interp::ViewRequest& request) override;
  std::vector<int64_t> Strides(interp::TensorId tensor) const override;
  Result<uint64_t> Load(interp::TensorId tensor, const std::vector<int64_t>&,
                        const std::vector<interp::EventId>&) override;
  Result<interp::EventId> CopyBack(const interp::CopyRequest& request) override;
  Result<interp::EventId> Fill(const interp::FillRequest& request) override;
  Result<interp::EventId> Copy(const interp::CopyRequest& request) override;
  Result<interp::EventId> Launch(const interp::LaunchRequest& request) override;
  Status Fetch(const interp::FetchRequest& request) override;
  Status FinishFetches(Name device) override;
  Status Rewritten(const interp::RewrittenRequest& request) override;

  Status Lives(interp::TensorId, Name, Name) override { return {}; }
  Result<bool> Overlap(interp::TensorId, interp::TensorId) override { return false; }
  Result<interp::TransferResult> Transfer(const interp::TransferRequest& request) override;
  Result<interp::EventId> Relocate(const interp::TransferRequest&) override {
    return interp::EventId();
  }
  Status Store(uint64_t, interp::TensorId, const std::vector<int64_t>&,
               const std::vector<interp::EventId>&) override {
    return {};
  }
  Result<int64_t> Cores(Name) override { return 1; }
  Result<interp::EventId> Mark(Name, int64_t) override { return interp::EventId(); }
  Result<interp::WorkspaceId> MakeWorkspace(Name, Name) override { return interp::WorkspaceId(0); }
  Result<int64_t> Footprint(Name, Name, Name) override { return 0; }
  Result<int64_t> Instances(Name, std::optional<int64_t>) override { return 1; }
  Status Reserve(const interp::ReserveRequest&) override { return {}; }

 private:
  struct CountedTensor {
    std::string name;
    Scalar scalar = Scalar::F32;
    std::vector<int64_t> sizes;
    // The following members are only for distributed tensors.
    driver::Exchange exchange;
    int64_t owned = 0;  ///< the most elements that a rank owns: the first or the last one has them
    /// For each rank, the last receiver of a message from it since FinishFetches, or -1. The fetches of a receiver follow one
    /// another, so that more boxes for this receiver belong to the same message.
    std::vector<int64_t> last_receiver;
    std::vector<int64_t> held;  ///< for each rank, the bytes that it has of others
    /// What has been requested since FinishFetches, and for which rank.
    std::vector<std::pair<int64_t, driver::Box>> requested;
    int64_t received_bytes = 0;  ///< what the last of these ranks has received since then
    bool is_distributed() const { return !last_receiver.empty(); }
  };
  /// A tensor, or a part of it, in the memory of a rank.
  struct TensorPart {
    size_t tensor = 0;
    int64_t rank = kEachRank;
    std::vector<int64_t> sizes;
    bool is_view = true;  ///< or else the tensor itself
  };

  interp::TensorId AddView(TensorPart view);
  CountedTensor& TensorOf(interp::TensorId id) { return tensors_[views_[id.value].tensor]; }
  static int64_t CountOwned(const driver::Ownership& ownership, int64_t rank);
  CountedTraffic& TrafficOf(const CountedTensor& tensor, Name cause);
  void CountBox(CountedTensor& tensor, CountedTraffic& traffic, int64_t from, int64_t to,
                int64_t bytes) const;
  static void CountReceived(CountedTensor& tensor, CountedTraffic& traffic, int64_t rank,
                            int64_t before);
  Result<interp::EventId> Write(interp::TensorId tensor);
  int64_t RankOf(const ir::Function& kernel, const interp::LaunchRequest& request) const;
  double CountPointsOf(const ir::Function& kernel, const interp::LaunchRequest& request) const;

  RankGroups groups_;
  RankMemoryCount memory_;
  const ir::Module* module_ = nullptr;
  const KernelSpeeds* speeds_ = nullptr;
  RankClocks* clocks_ = nullptr;
  int64_t bytes_ = 0;  ///< the sum over all messages
  std::vector<CountedTensor> tensors_;
  std::vector<size_t> free_tensors_;     ///< entries that new tensors get
  std::vector<size_t> requested_;        ///< those with requests since FinishFetches
  std::vector<TensorPart> views_;        ///< indexed by id
  std::vector<interp::TensorId> freed_;  ///< ids that can be used again
  TrafficTable traffic_;
  std::map<std::string, double, std::less<>> points_;
};

/// The most ops that a program may execute, which takes a few seconds. A launch on 4,096 ranks takes about 160,000.
inline constexpr int64_t kMostOperations = int64_t{1} << 28;

/// Executes a program on the host, with the sizes and numbers of `bound`. Fails if it takes more than `most_operations`.
Status Count(const ir::Module& module, const ir::Function& program,
             const driver::BoundProgram& bound, CountingHost& host,
             int64_t most_operations = kMostOperations);

}  // namespace kdl::tools
