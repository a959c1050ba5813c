#include <algorithm>
#include <cstring>
#include <string>

#include "driver/run/executor.h"
#include "support/check.h"

// The memories that ranks have for distributed tensors, and the messages between them. Between two ranks of this process, a
// message is a copy. Messages between processes are packed into bytes, sent by the transport, and unpacked at the end.

namespace kdl::driver {

using interp::EventId;
using interp::TensorId;

namespace {

/// Memory that a rank must not read is filled with this byte, so that a missing message is noticed: as floats, the
/// elements are NaN.
constexpr int kForeign = 0xFF;

/// Calls `use` with the address of each row of adjacent elements in the view, which begins at `data`, and with its number
/// of bytes.
template <class Use>
void ForEachRow(const kdl_tensor& view, int32_t dimension, char* data, Use& use) {
  int64_t bytes = view.element_bits / 8;
  bool is_row = dimension == view.rank - 1 && view.stride[dimension] == 1;
  if (is_row || dimension == view.rank) {
    use(data, static_cast<size_t>(is_row ? view.size[dimension] * bytes : bytes));
    return;
  }
  for (int64_t i = 0; i < view.size[dimension]; ++i)
    ForEachRow(view, dimension + 1, data + i * view.stride[dimension] * bytes, use);
}

int64_t BytesOf(const kdl_tensor& view) {
  int64_t bytes = view.element_bits / 8;
  for (int32_t d = 0; d < view.rank; ++d) bytes *= view.size[d];
  return bytes;
}

/// Returns the elements of a box. The result does not own its buffer.
kdl_array PartOf(const kdl_array& array, const Box& box) {
  kdl_array part = array;
  int64_t offset = 0;
  for (size_t d = 0; d < box.size(); ++d) {
    offset += box[d].first * part.view.stride[d];
    part.view.size[d] = box[d].end - box[d].first;
  }
  part.view.data = static_cast<char*>(part.view.data) + offset * (part.view.element_bits / 8);
  return part;
}

/// Calls `use` for each row of adjacent elements of an array.
template <class Use>
Status WithRows(const kdl_array& array, kdl_map_access access, Use use) {
  if (BytesOf(array.view) == 0) return {};
  const auto* base = static_cast<const char*>(kdl_buffer_address(array.buffer));
  int64_t offset = static_cast<const char*>(array.view.data) - base;
  void* data = nullptr;
  if (Status mapped = StatusOf(kdl_buffer_map(array.buffer, access, &data)); !mapped.ok())
    return mapped;
  ForEachRow(array.view, 0, static_cast<char*>(data) + offset, use);
  return StatusOf(kdl_buffer_unmap(array.buffer));
}

/// Appends the elements of an array, row after row.
Status Pack(const kdl_array& part, std::vector<std::byte>& bytes) {
  return WithRows(part, KDL_MAP_READ, [&](const char* row, size_t row_bytes) {
    const auto* first = reinterpret_cast<const std::byte*>(row);
    bytes.insert(bytes.end(), first, first + row_bytes);
  });
}

}  // namespace

interp::RankCounts Executor::Ranks(Name) const {
  return {ranks_.count(), ranks_.first, ranks_.end};
}

interp::IndexPart Executor::Owned(const interp::OwnedRequest& request) const {
  return ranks_.grid.Owned(request.size, request.rank, request.axis);
}

TensorId Executor::RankMemory(TensorId tensor, int64_t rank) {
  return distributed_.tensors.at(tensor.value).memories[static_cast<size_t>(rank - ranks_.first)];
}

/// Allocates a memory for each rank of this process. The first one also represents the whole tensor.
Status Executor::AllocRanks(const interp::AllocRequest& request, TensorId first) {
  RankTensor& tensor = distributed_.tensors[first.value];
  tensor.memories = {first};
  tensor.exchange = Exchange(Ownership(ranks_.grid, request.sizes, request.rank_axes));
  interp::AllocRequest other = request;
  other.rank_axes.clear();
  for (int64_t rank = ranks_.first + 1; rank < ranks_.end; ++rank) {
    Result<TensorId> made = Alloc(other);
    if (!made.ok()) return made.failure();
    tensor.memories.push_back(*made);
  }
  return {};
}

void Executor::FreeRanks(TensorId tensor) {
  auto known = distributed_.tensors.find(tensor.value);
  if (known == distributed_.tensors.end()) return;
  for (size_t i = 1; i < known->second.memories.size(); ++i)
    kdl_array_free(&tensors_[known->second.memories[i].value]);
  distributed_.tensors.erase(known);
}

Status Executor::Fetch(const interp::FetchRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  Exchange& exchange = distributed_.tensors.at(request.tensor.value).exchange;
  Box needed = Intersection(request.needed, WholeBox(exchange.ownership().sizes()));
  exchange.Fetch(request.rank, needed, [&](int64_t owner, const Box& box) {
    if (ranks_.has(owner) || ranks_.has(request.rank)) AddToMessage(request, owner, box);
  });
  return {};
}

/// Adds the box to the message of the owner to the rank.
void Executor::AddToMessage(const interp::FetchRequest& request, int64_t owner, const Box& box) {
  std::vector<PendingMessage>& pending = distributed_.pending;
  auto message = std::ranges::find_if(pending, [&](const PendingMessage& one) {
    return one.tensor == request.tensor && one.from == owner && one.to == request.rank;
  });
  if (message == pending.end())
    message = pending.insert(
        pending.end(), {request.tensor, owner, request.rank, request.device, request.cause, {}});
  message->boxes.push_back(box);
}

/// All receives start before the first message is packed.
Status Executor::FinishFetches(Name) {
  Status status;
  for (PendingMessage& message : distributed_.pending) {
    if (status.ok() && !ranks_.has(message.from)) status = StartReceive(message);
  }
  for (PendingMessage& message : distributed_.pending) {
    if (status.ok() && ranks_.has(message.from)) status = Send(message);
  }
  if (status.ok()) status = WaitForStarted();
  if (ranks_.transport && status.ok()) status = ranks_.transport->WaitAll();
  for (const PendingMessage& message : distributed_.pending) {
    if (status.ok() && !ranks_.has(message.from)) status = Unpack(message);
  }
  distributed_.pending.clear();
  return status;
}

kdl_array Executor::PartOfRank(const PendingMessage& message, int64_t rank, const Box& box) {
  return PartOf(array(RankMemory(message.tensor, rank)), box);
}

Status Executor::StartReceive(PendingMessage& message) {
  for (const Box& box : message.boxes) {
    int64_t bytes = BytesOf(PartOfRank(message, message.to, box).view);
    message.bytes.resize(message.bytes.size() + static_cast<size_t>(bytes));
  }
  return ranks_.transport->Receive(message.from, message.bytes.data(), message.bytes.size());
}

/// Between two ranks of this process, copies the boxes. Otherwise, packs them and starts to send them.
Status Executor::Send(PendingMessage& message) {
  std::string cause = message.cause.str();
  RankTraffic& traffic =
      distributed_.traffic[{kdl_buffer_name(array(message.tensor).buffer), cause}];
  ++traffic.messages;
  for (const Box& box : message.boxes) {
    const kdl_array own = PartOfRank(message, message.from, box);
    traffic.bytes += BytesOf(own.view);
    Status sent = ranks_.has(message.to) ? CopyBox(message, own, box) : Pack(own, message.bytes);
    if (!sent.ok()) return sent;
  }
  if (ranks_.has(message.to)) return {};
  return ranks_.transport->Send(message.to, message.bytes.data(), message.bytes.size());
}

Status Executor::CopyBox(const PendingMessage& message, const kdl_array& own, const Box& box) {
  Result<kdl_queue*> queue = FindQueue(message.device, 0);
  if (!queue.ok()) return queue.failure();
  const kdl_array to = PartOfRank(message, message.to, box);
  kdl_event* done = nullptr;
  Status copied =
      StatusOf(kdl_copy(*queue, &to, &own, message.cause.str().c_str(), nullptr, 0, &done));
  if (copied.ok()) AddEvent(done);
  return copied;
}

Status Executor::Unpack(const PendingMessage& message) {
  const std::byte* from = message.bytes.data();
  for (const Box& box : message.boxes) {
    Status done = WithRows(PartOfRank(message, message.to, box), KDL_MAP_READ_WRITE,
                           [&](char* row, size_t bytes) {
                             std::memcpy(row, from, bytes);
                             from += bytes;
                           });
    if (!done.ok()) return done;
  }
  return {};
}

/// Forgets what the ranks have received. If this process has several ranks, also overwrites it.
Status Executor::Rewritten(const interp::RewrittenRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  RankTensor& tensor = distributed_.tensors.at(request.tensor.value);
  tensor.exchange.Rewritten();
  if (tensor.memories.size() == 1) return {};
  const Ownership& ownership = tensor.exchange.ownership();
  for (int64_t rank = ranks_.first; rank < ranks_.end; ++rank) {
    for (const Box& box : Difference(WholeBox(ownership.sizes()), ownership.Owned(rank))) {
      kdl_array foreign = PartOf(array(RankMemory(request.tensor, rank)), box);
      Status filled = WithRows(foreign, KDL_MAP_READ_WRITE,
                               [](char* row, size_t bytes) { std::memset(row, kForeign, bytes); });
      if (!filled.ok()) return filled;
    }
  }
  return {};
}

}  // namespace kdl::driver
