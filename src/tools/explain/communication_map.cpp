#include "tools/explain/communication_map.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "driver/ranks/boxes.h"
#include "driver/run/program_arguments.h"
#include "interp/run.h"
#include "interp/tensor_memory.h"

namespace kdl::tools {

namespace {

using driver::Box;
using driver::RankTraffic;
using interp::EventId;
using interp::TensorId;

constexpr int64_t kMostGroups = 256;
/// A program that executes more ops is refused after a few seconds. A launch on 4,096 ranks takes about 160,000.
constexpr int64_t kMostOperations = int64_t{1} << 28;

/// Divides the ranks into groups of equal size, one for each rank if there are few.
struct Groups {
  int64_t size = 1;
  int64_t count = 1;

  explicit Groups(int64_t ranks)
      : size((ranks + kMostGroups - 1) / kMostGroups), count((ranks + size - 1) / size) {}
};

/// What is sent for one tensor and cause.
struct Traffic {
  std::vector<RankTraffic> pairs;  ///< by the groups of the sender and of the receiver
  std::vector<int64_t> received;   ///< bytes by receiver
  int64_t most_received = 0;
  int64_t owned = 0;

  Traffic(int64_t ranks, const Groups& groups)
      : pairs(static_cast<size_t>(groups.count * groups.count)),
        received(static_cast<size_t>(ranks)) {}
};

/// The memory that a rank needs for distributed tensors.
class RankMemoryCount {
 public:
  explicit RankMemoryCount(int64_t ranks) : held_(static_cast<size_t>(ranks)) {}

  int64_t most_owned() const { return most_owned_; }
  int64_t most_held() const { return most_held_; }

  /// Adds bytes that the rank with most elements owns.
  void Own(int64_t bytes) { most_owned_ = std::max(most_owned_, owned_ += bytes); }
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

/// Executes a program without computing anything, and counts the messages between ranks. Tensors have no elements.
class CountingHost final : public interp::ProgramHost {
 public:
  explicit CountingHost(const driver::RankGrid& grid)
      : grid_(grid), groups_(grid.count()), memory_(grid.count()) {}

  TensorId Add(std::string name, Scalar scalar, std::vector<int64_t> sizes) {
    tensors_.push_back({std::move(name), scalar, std::move(sizes), {}, {}, 0, {}, {}});
    return TensorId(static_cast<uint32_t>(tensors_.size() - 1));
  }

  const RankMemoryCount& memory() const { return memory_; }
  /// The traffic by tensor and cause.
  const std::map<std::pair<std::string, std::string>, Traffic>& traffic() const { return traffic_; }

  Result<TensorId> Alloc(const interp::AllocRequest& request) override {
    if (!driver::ElementCount(request.scalar, request.sizes))
      return Failure{fmt::format("tensor '{}' would have 2^63 bytes or more", request.name.text())};
    TensorId tensor = Add(request.name.str(), request.scalar, request.sizes);
    if (request.rank_axes.empty()) return tensor;
    TensorId view = Add(request.name.str(), request.scalar, request.sizes);
    CountedTensor& added = tensors_[tensor.value];
    added.view = view;
    added.exchange = driver::Exchange(
        driver::Ownership(grid_, request.sizes, request.rank_axes, request.rank_blocks));
    for (int64_t rank : {int64_t{0}, grid_.count() - 1})
      added.owned = std::max(added.owned, CountOwned(added.exchange.ownership(), rank));
    added.last_receiver.assign(static_cast<size_t>(grid_.count()), -1);
    added.held.assign(static_cast<size_t>(grid_.count()), 0);
    memory_.Own(added.owned * Bytes(added.scalar));
    return tensor;
  }
  Status Free(TensorId id, const std::vector<EventId>&) override {
    CountedTensor& tensor = tensors_[id.value];
    memory_.Own(-tensor.owned * Bytes(tensor.scalar));
    memory_.Forget(tensor.held);
    return {};
  }
  Status Lives(TensorId, Name, Name) override { return {}; }
  Result<bool> Overlap(TensorId, TensorId) override { return false; }
  Result<interp::TransferResult> Transfer(const interp::TransferRequest& request) override {
    return interp::TransferResult{request.tensor, {}};
  }
  Result<EventId> Relocate(const interp::TransferRequest&) override { return EventId(); }
  Result<EventId> CopyBack(const interp::CopyRequest&) override { return EventId(); }
  Result<EventId> Fill(const interp::FillRequest&) override { return EventId(); }
  Result<EventId> Copy(const interp::CopyRequest&) override { return EventId(); }
  TensorId View(const interp::ViewRequest& request) override { return ViewOf(request.tensor); }
  TensorId RankMemory(TensorId tensor, int64_t) override { return ViewOf(tensor); }
  std::vector<int64_t> Strides(TensorId tensor) const override {
    return interp::RowMajorStrides(tensors_[tensor.value].sizes);
  }
  Result<uint64_t> Load(TensorId tensor, const std::vector<int64_t>&,
                        const std::vector<EventId>&) override {
    return Failure{fmt::format(
        "what is sent depends on an element of '{}', which is only known when the program runs; "
        "`kernelc run -v` counts what is sent in a run",
        tensors_[tensor.value].name)};
  }
  Status Store(uint64_t, TensorId, const std::vector<int64_t>&,
               const std::vector<EventId>&) override {
    return {};
  }
  Result<int64_t> Cores(Name) override { return 1; }
  /// Launches belong to the ranks of this process. Those of one rank are enough, because launches are not executed.
  interp::RankCounts Ranks(Name) const override { return {grid_.count(), 0, 1}; }
  interp::IndexPart Owned(const interp::OwnedRequest& request) const override {
    return grid_.Owned(request.size, request.rank, request.axis);
  }

  int64_t CountOwnedBlocks(const interp::OwnedBlocksRequest& request) const override {
    const interp::OwnedRequest& of = request.dimension;
    return grid_.CountOwnedBlocks(of.size, of.rank, of.axis, request.length);
  }
  interp::IndexPart OwnedBlock(const interp::OwnedBlocksRequest& request,
                               int64_t number) const override {
    const interp::OwnedRequest& of = request.dimension;
    return grid_.OwnedBlock(of.size, of.rank, of.axis, request.length, number);
  }

  Status Fetch(const interp::FetchRequest& request) override {
    CountedTensor& tensor = tensors_[request.tensor.value];
    Traffic& traffic = TrafficOf(tensor, request.cause);
    Box needed = driver::Intersection(request.needed, driver::WholeBox(tensor.sizes));
    bool fits = true;
    auto rank = static_cast<size_t>(request.rank);
    int64_t before = traffic.received[rank];
    tensor.exchange.Fetch(request.rank, needed, [&](int64_t owner, const Box& box) {
      int64_t bytes = driver::CountElements(box) * Bytes(tensor.scalar);
      fits &= !__builtin_add_overflow(bytes_, bytes, &bytes_);
      if (fits) CountBox(tensor, traffic, owner, request.rank, bytes);
    });
    if (!fits) return Failure{"the ranks would send 2^63 bytes or more"};
    CountReceived(tensor, traffic, request.rank, before);
    memory_.Hold(tensor.held, rank, traffic.received[rank] - before);
    return {};
  }

  Status FinishFetches(Name) override {
    for (CountedTensor& tensor : tensors_) {
      if (tensor.receiver >= 0) std::ranges::fill(tensor.last_receiver, -1);
      tensor.receiver = -1;
    }
    return {};
  }

  Status Rewritten(const interp::RewrittenRequest& request) override {
    CountedTensor& tensor = tensors_[request.tensor.value];
    tensor.exchange.Rewritten();
    memory_.Forget(tensor.held);
    return {};
  }
  Result<EventId> Mark(Name, int64_t) override { return EventId(); }
  Result<interp::WorkspaceId> MakeWorkspace(Name, Name) override { return interp::WorkspaceId(0); }
  Result<int64_t> Footprint(Name, Name, Name) override { return 0; }
  Result<int64_t> Instances(Name, std::optional<int64_t>) override { return 1; }
  Status Reserve(const interp::ReserveRequest&) override { return {}; }
  Result<EventId> Launch(const interp::LaunchRequest&) override { return EventId(); }

 private:
  struct CountedTensor {
    std::string name;
    Scalar scalar = Scalar::F32;
    std::vector<int64_t> sizes;
    // The others are only for distributed tensors.
    TensorId view = {};  ///< represents all of its views, which are freed before it
    driver::Exchange exchange;
    int64_t owned = 0;  ///< the most elements that a rank owns: the first or the last one has them
    /// For each rank, the last receiver of a message from it since FinishFetches, or -1. The fetches of a receiver follow one
    /// another, so that more boxes for this receiver belong to the same message.
    std::vector<int64_t> last_receiver;
    std::vector<int64_t> held;   ///< for each rank, the bytes that it has of others
    int64_t receiver = -1;       ///< the last rank with a fetch since FinishFetches
    int64_t received_bytes = 0;  ///< what it has received since then
  };

  TensorId ViewOf(TensorId tensor) const {
    TensorId view = tensors_[tensor.value].view;
    return view.valid() ? view : tensor;
  }

  static int64_t CountOwned(const driver::Ownership& ownership, int64_t rank) {
    int64_t count = 0;
    ownership.ForEachOwned(rank, [&](const Box& box) { count += driver::CountElements(box); });
    return count;
  }

  Traffic& TrafficOf(const CountedTensor& tensor, Name cause) {
    Traffic& traffic =
        traffic_.try_emplace({tensor.name, cause.str()}, grid_.count(), groups_).first->second;
    traffic.owned = std::max(traffic.owned, tensor.owned);
    return traffic;
  }

  void CountBox(CountedTensor& tensor, Traffic& traffic, int64_t from, int64_t to,
                int64_t bytes) const {
    int64_t pair = from / groups_.size * groups_.count + to / groups_.size;
    RankTraffic& sent = traffic.pairs[static_cast<size_t>(pair)];
    int64_t& last = tensor.last_receiver[static_cast<size_t>(from)];
    if (last != to) ++sent.messages;
    last = to;
    sent.bytes += bytes;
    traffic.received[static_cast<size_t>(to)] += bytes;
  }

  /// Counts the elements that a rank receives for one launch. `before` is the number of bytes before the fetch.
  static void CountReceived(CountedTensor& tensor, Traffic& traffic, int64_t rank, int64_t before) {
    if (tensor.receiver != rank) tensor.received_bytes = 0;
    tensor.receiver = rank;
    tensor.received_bytes += traffic.received[static_cast<size_t>(rank)] - before;
    traffic.most_received =
        std::max(traffic.most_received, tensor.received_bytes / Bytes(tensor.scalar));
  }

  driver::RankGrid grid_;
  Groups groups_;
  RankMemoryCount memory_;
  int64_t bytes_ = 0;                   ///< the sum over all messages
  std::vector<CountedTensor> tensors_;  ///< indexed by id
  std::map<std::pair<std::string, std::string>, Traffic> traffic_;
};

void Add(RankTraffic& sum, const RankTraffic& sent) {
  sum.bytes += sent.bytes;
  sum.messages += sent.messages;
}

std::vector<ProgramNumber> NumbersOf(const ir::Function& program,
                                     const driver::BoundProgram& bound) {
  std::vector<ProgramNumber> numbers;
  for (size_t d = 0; d < bound.dims.size(); ++d)
    numbers.push_back({program.dims[d].str(), fmt::to_string(bound.dims[d])});
  for (const driver::BoundArgument& argument : bound.arguments) {
    if (argument.is_tensor) continue;
    std::string value =
        driver::ElementText(argument.tensor.scalar, ElementBits(argument.tensor, 0));
    numbers.push_back({argument.name, argument.is_drawn ? value + " (random)" : value});
  }
  return numbers;
}

}  // namespace

Result<CommunicationReport> MapCommunication(const ir::Module& module, const ir::Function& program,
                                             const driver::BoundProgram& bound,
                                             const driver::RankGrid& grid) {
  CountingHost host(grid);
  auto add = [&](const driver::BoundArgument& argument) -> Result<TensorId> {
    return host.Add(argument.name, argument.tensor.scalar, argument.tensor.shape);
  };
  Result<interp::ProgramArguments> arguments = driver::MakeProgramArguments(program, bound, add);
  if (!arguments.ok()) return arguments.failure();
  Status ran = interp::RunProgram(module, program, *arguments, host, kMostOperations);
  if (!ran.ok()) return ran.failure();
  CommunicationReport report;
  report.program = program.base_name();
  report.ranks = grid.count();
  Groups groups(report.ranks);
  report.ranks_of_group = groups.size;
  report.numbers = NumbersOf(program, bound);
  report.owned_bytes = host.memory().most_owned();
  report.held_bytes = host.memory().most_held();
  for (const auto& [key, traffic] : host.traffic()) {
    TensorTraffic& row = report.tensors.emplace_back();
    std::tie(row.tensor, row.cause) = key;
    row.most_received = traffic.most_received;
    row.owned = traffic.owned;
    row.most_bytes = std::ranges::max(traffic.received);
    for (size_t n = 0; n < traffic.pairs.size(); ++n) {
      auto pair = static_cast<int64_t>(n);
      const RankTraffic& sent = traffic.pairs[n];
      if (sent.messages > 0) row.pairs.push_back({pair / groups.count, pair % groups.count, sent});
      Add(row.sent, sent);
    }
  }
  return report;
}

RankTraffic TotalTraffic(const CommunicationReport& report) {
  RankTraffic sum;
  for (const TensorTraffic& row : report.tensors) Add(sum, row.sent);
  return sum;
}

std::vector<PairTraffic> TotalPairs(const CommunicationReport& report) {
  std::map<std::pair<int64_t, int64_t>, RankTraffic> sums;
  for (const TensorTraffic& row : report.tensors) {
    for (const PairTraffic& pair : row.pairs) Add(sums[{pair.from, pair.to}], pair.sent);
  }
  std::vector<PairTraffic> pairs;
  for (const auto& [pair, sent] : sums) pairs.push_back({pair.first, pair.second, sent});
  return pairs;
}

}  // namespace kdl::tools
