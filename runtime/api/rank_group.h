// The ranks of one call of a program, and the messages between them. Between two ranks of this process, a message is a copy. Messages
// between processes are packed into bytes, sent by the transport, and unpacked at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/fetch_plans.h"
#include "api/rank_processes.h"
#include "checkpoints/saved.h"
#include "kdl/queue.h"

namespace kdl::runtime {

// Memory for the bytes of a message.
struct MessageBuffer {
  std::unique_ptr<char[]> data;
  std::int64_t room = 0;
};

struct RankTraffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

// Traffic by the names of tensors, and then by causes.
using TrafficOfTensor = std::map<std::string, RankTraffic, std::less<>>;
using RankTrafficTable = std::map<std::string, TrafficOfTensor, std::less<>>;

}  // namespace kdl::runtime

struct kdl_ranks {
 public:
  // All ranks from `first` to `end` - 1 belong to this process. `processes` is null if there are no others.
  kdl_ranks(kdl::ranks::RankGrid grid, kdl::runtime::LocalRange local,
            std::shared_ptr<kdl::runtime::Processes> processes)
      : grid_(std::move(grid)),
        local_(local),
        processes_(std::move(processes)),
        transport_(processes_ ? &processes_->transport() : nullptr),
        plans_(local) {}
  ~kdl_ranks();
  kdl_ranks(const kdl_ranks&) = delete;
  kdl_ranks& operator=(const kdl_ranks&) = delete;

  const kdl::ranks::RankGrid& grid() const { return grid_; }
  const kdl::runtime::LocalRange& local() const { return local_; }
  const kdl::runtime::RankTrafficTable& traffic() const { return traffic_; }
  kdl::runtime::Processes* processes() const { return processes_.get(); }
  const kdl_transport* transport() const { return transport_; }
  // Returns the elements that the ranks of this process own of a tensor, or nothing if it is not distributed.
  std::vector<kdl::runtime::SavedPart> OwnedParts(const kdl_array& tensor) const;
  // Whether transfers may use what is requested.
  bool is_started() const { return is_started_; }

  void Add(const kdl_array* memories, kdl::ranks::Ownership ownership);
  void Remove(const kdl_array& tensor) { tensors_.erase(tensor.buffer); }
  kdl::runtime::Error Fetch(const kdl_array& tensor, std::int64_t rank, const std::int64_t* first,
                            const std::int64_t* end, const char* cause);
  // Starts to send what has been requested. All receives start before the first message is packed, so that no process waits for one
  // that waits for it.
  kdl::runtime::Error Start(kdl_queue* queue);
  kdl::runtime::Error Finish();
  kdl::runtime::Error Rewritten(const kdl_array& tensor);

 private:
  using Error = kdl::runtime::Error;
  using PlannedMessage = kdl::runtime::PlannedMessage;
  using RankTensor = kdl::runtime::RankTensor;
  using SharedBuffer = std::shared_ptr<kdl::runtime::MessageBuffer>;

  Error Find(const kdl_array& tensor, RankTensor** found);
  const kdl_array& MemoryOf(const RankTensor& tensor, std::int64_t rank) const;
  const kdl_array& MemoryOf(const PlannedMessage& message, std::int64_t rank) const;
  SharedBuffer TakeBuffer(std::int64_t bytes);
  Error Receive(const PlannedMessage& message, SharedBuffer& buffer);
  Error Send(const PlannedMessage& message, SharedBuffer& buffer, kdl_queue* queue);
  Error Pack(const PlannedMessage& message, SharedBuffer& buffer);
  Error Unpack(const PlannedMessage& message, const SharedBuffer& buffer) const;
  kdl::runtime::RankTraffic& TrafficOf(const PlannedMessage& message);
  Error Release(const RankTensor& tensor) const;
  Error Overwrite(const RankTensor& tensor) const;

  kdl::ranks::RankGrid grid_;
  kdl::runtime::LocalRange local_;
  std::shared_ptr<kdl::runtime::Processes> processes_;
  const kdl_transport* transport_;                   // null if there are no other processes
  std::map<const kdl_buffer*, RankTensor> tensors_;  // by the buffer of the first memory
  kdl::runtime::FetchPlans plans_;
  std::vector<SharedBuffer> in_use_;   // those of the messages that have been started
  std::vector<SharedBuffer> buffers_;  // of earlier messages
  bool is_started_ = false;
  std::vector<kdl_event*> copies_;  // of the messages that have been started
  kdl::runtime::RankTrafficTable traffic_;
};
