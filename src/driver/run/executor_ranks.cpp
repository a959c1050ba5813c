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

/// Returns the elements with these indices in one dimension. The result does not own its buffer.
kdl_array PartOf(const kdl_array& array, size_t dimension, const Indices& part) {
  kdl_array view = array;
  int64_t bytes = part.first * view.view.stride[dimension] * (view.view.element_bits / 8);
  view.view.data = static_cast<char*>(view.view.data) + bytes;
  view.view.size[dimension] = part.end - part.first;
  return view;
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

}  // namespace

interp::RankCounts Executor::Ranks(Name) const { return {ranks_.count, ranks_.first, ranks_.end}; }

interp::IndexPart Executor::Owned(Name, int64_t size, int64_t rank) const {
  Indices owned = Sharding(size, ranks_.count).Owned(rank);
  return {owned.first, owned.end};
}

TensorId Executor::RankMemory(TensorId tensor, int64_t rank) {
  return distributed_.tensors.at(tensor.value).memories[static_cast<size_t>(rank - ranks_.first)];
}

/// Allocates a memory for each rank of this process. The first one also represents the whole tensor.
Status Executor::AllocRanks(const interp::AllocRequest& request, TensorId first) {
  RankTensor& tensor = distributed_.tensors[first.value];
  tensor.memories = {first};
  tensor.exchange = Exchange(ranks_.count);
  interp::AllocRequest other = request;
  other.is_distributed = false;
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
  int64_t size = array(request.tensor).view.size[request.dimension];
  Indices needed = Intersection({request.needed.first, request.needed.end}, {0, size});
  Exchange& exchange = distributed_.tensors.at(request.tensor.value).exchange;
  for (const RankMessage& message :
       exchange.Fetch(Sharding(size, ranks_.count), request.rank, needed)) {
    if (Status sent = SendPart(request, message); !sent.ok()) return sent;
  }
  return {};
}

/// Starts to send a message, if its sender or receiver belongs to this process.
Status Executor::SendPart(const interp::FetchRequest& request, const RankMessage& message) {
  bool sends = ranks_.has(message.from);
  bool receives = ranks_.has(message.to);
  if (!sends && !receives) return {};
  auto part_of = [&](int64_t rank) {
    return PartOf(array(RankMemory(request.tensor, rank)), request.dimension, message.part);
  };
  const kdl_array own = part_of(sends ? message.from : message.to);
  std::string cause = request.cause.str();
  int64_t bytes = BytesOf(own.view);
  if (sends) {
    RankTraffic& traffic = distributed_.traffic[{kdl_buffer_name(own.buffer), cause}];
    traffic.bytes += bytes;
    ++traffic.messages;
  }
  if (sends && receives) {
    Result<kdl_queue*> queue = FindQueue(request.device, 0);
    if (!queue.ok()) return queue.failure();
    const kdl_array to = part_of(message.to);
    kdl_event* done = nullptr;
    Status copied = StatusOf(kdl_copy(*queue, &to, &own, cause.c_str(), nullptr, 0, &done));
    if (copied.ok()) AddEvent(done);
    return copied;
  }
  PendingMessage& pending = distributed_.pending.emplace_back();
  pending.part = own;
  pending.bytes.resize(static_cast<size_t>(bytes));
  pending.is_received = receives;
  if (receives)
    return ranks_.transport->Receive(message.from, pending.bytes.data(), pending.bytes.size());
  std::byte* to = pending.bytes.data();
  Status packed = WithRows(own, KDL_MAP_READ, [&](const char* row, size_t row_bytes) {
    std::memcpy(to, row, row_bytes);
    to += row_bytes;
  });
  if (!packed.ok()) return packed;
  return ranks_.transport->Send(message.to, pending.bytes.data(), pending.bytes.size());
}

Status Executor::FinishFetches(Name) {
  Status status = WaitForStarted();
  if (ranks_.transport && status.ok()) status = ranks_.transport->WaitAll();
  for (const PendingMessage& message : distributed_.pending) {
    if (!message.is_received || !status.ok()) continue;
    const std::byte* from = message.bytes.data();
    status = WithRows(message.part, KDL_MAP_READ_WRITE, [&](char* row, size_t row_bytes) {
      std::memcpy(row, from, row_bytes);
      from += row_bytes;
    });
  }
  distributed_.pending.clear();
  return status;
}

/// Forgets what the ranks have received. If this process has several ranks, also overwrites it.
Status Executor::Rewritten(const interp::RewrittenRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  RankTensor& tensor = distributed_.tensors.at(request.tensor.value);
  tensor.exchange.Rewritten();
  if (tensor.memories.size() == 1) return {};
  int64_t size = array(request.tensor).view.size[request.dimension];
  Sharding sharding(size, ranks_.count);
  for (int64_t rank = ranks_.first; rank < ranks_.end; ++rank) {
    Indices owned = sharding.Owned(rank);
    for (const Indices& part : {Indices{0, owned.first}, Indices{owned.end, size}}) {
      if (part.empty()) continue;
      kdl_array foreign = PartOf(array(RankMemory(request.tensor, rank)), request.dimension, part);
      Status filled = WithRows(foreign, KDL_MAP_READ_WRITE,
                               [](char* row, size_t bytes) { std::memset(row, kForeign, bytes); });
      if (!filled.ok()) return filled;
    }
  }
  return {};
}

}  // namespace kdl::driver
