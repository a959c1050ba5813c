#include "api/rank_group.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "api/api.h"
#include "api/rank_memory.h"
#include "core/rows.h"

using namespace kdl::runtime;
using kdl::ranks::Box;
using kdl::ranks::BoxSet;
using kdl::ranks::Exchange;
using kdl::ranks::Ownership;
using kdl::ranks::WholeBox;

namespace {

// The bytes that a rank must have received so that it gives their memory back to the system. For fewer, such as the rows of
// neighbors, touching the pages again would take longer than it is worth.
constexpr std::int64_t kLeastReleased = std::int64_t{1} << 20;

// Memory that a rank must not read is filled with this byte.
constexpr int kForeignByte = 0xFF;

}  // namespace

kdl_ranks::~kdl_ranks() {
  for (kdl_event* copy : copies_) kdl_event_free(copy);
}

void kdl_ranks::Add(const kdl_array* memories, Ownership ownership) {
  RankTensor& tensor = tensors_[memories[0].buffer];
  tensor = {};
  tensor.memories.assign(memories, memories + (local_.end - local_.first));
  tensor.kind = plans_.KindOf(ownership, memories[0].view.element_bits);
  tensor.exchange = Exchange(std::move(ownership));
}

Error kdl_ranks::Find(const kdl_array& tensor, RankTensor** found) {
  const auto known = tensors_.find(tensor.buffer);
  if (known == tensors_.end()) return Invalid("a tensor is not distributed over these ranks");
  *found = &known->second;
  return nullptr;
}

Error kdl_ranks::Fetch(const kdl_array& tensor, std::int64_t rank, const std::int64_t* first,
                       const std::int64_t* end, const char* cause) {
  if (plans_.is_planned())
    return Invalid("elements are requested before earlier requests are finished");
  RankTensor* found = nullptr;
  KDL_RETURN_IF_ERROR(Find(tensor, &found));
  plans_.Request(*found, rank, first, end, cause);
  return nullptr;
}

const kdl_array& kdl_ranks::MemoryOf(const RankTensor& tensor, std::int64_t rank) const {
  return tensor.memories[static_cast<std::size_t>(rank - local_.first)];
}

const kdl_array& kdl_ranks::MemoryOf(const PlannedMessage& message, std::int64_t rank) const {
  return MemoryOf(*plans_.tensors()[message.tensor], rank);
}

std::vector<SavedPart> kdl_ranks::OwnedParts(const kdl_array& tensor) const {
  std::vector<SavedPart> parts;
  const auto known = tensors_.find(tensor.buffer);
  if (known == tensors_.end()) return parts;
  const Ownership& ownership = known->second.ownership();
  for (std::int64_t rank = local_.first; rank < local_.end; ++rank)
    parts.push_back(
        {MemoryOf(known->second, rank), ownership.Owned(rank), ownership.IsFirstOwner(rank)});
  return parts;
}

// Returns a buffer for so many bytes: that of an earlier message if it is large enough.
kdl_ranks::SharedBuffer kdl_ranks::TakeBuffer(std::int64_t bytes) {
  if (buffers_.empty()) buffers_.push_back(std::make_shared<MessageBuffer>());
  auto known = std::ranges::find_if(buffers_, [&](const auto& one) { return one->room >= bytes; });
  if (known == buffers_.end()) --known;
  std::swap(*known, buffers_.back());
  SharedBuffer taken = std::move(buffers_.back());
  buffers_.pop_back();
  if (taken->room < bytes)
    *taken = {std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes)), bytes};
  return taken;
}

Error kdl_ranks::Receive(const PlannedMessage& message, SharedBuffer& buffer) {
  buffer = TakeBuffer(message.bytes);
  return Error(transport_->receive(transport_->state, message.from, message.tag, buffer->data.get(),
                                   message.bytes));
}

RankTraffic& kdl_ranks::TrafficOf(const PlannedMessage& message) {
  const std::string& name = Unwrap(plans_.tensors()[message.tensor]->memories[0].buffer)->name();
  return traffic_[name][message.cause];
}

// Between two ranks of this process, copies the boxes. Otherwise, packs them and starts to send them.
Error kdl_ranks::Send(const PlannedMessage& message, SharedBuffer& buffer, kdl_queue* queue) {
  RankTraffic& sent = TrafficOf(message);
  ++sent.messages;
  sent.bytes += message.bytes;
  if (!local_.Has(message.to)) {
    KDL_RETURN_IF_ERROR(Pack(message, buffer));
    return Error(transport_->send(transport_->state, message.to, message.tag, buffer->data.get(),
                                  message.bytes));
  }
  for (const Box& box : message.boxes) {
    const kdl_array own = PartOf(MemoryOf(message, message.from), box);
    const kdl_array to = PartOf(MemoryOf(message, message.to), box);
    kdl_event* done = nullptr;
    KDL_RETURN_IF_ERROR(
        Error(kdl_copy(queue, &to, &own, message.cause.c_str(), nullptr, 0, &done)));
    copies_.push_back(done);
  }
  return nullptr;
}

// Packs the elements of a message, unless that has been done for a message with the same elements to another rank.
Error kdl_ranks::Pack(const PlannedMessage& message, SharedBuffer& buffer) {
  const SharedBuffer& same = in_use_[message.same];
  if (same) {
    buffer = same;
    return nullptr;
  }
  buffer = TakeBuffer(message.bytes);
  return kdl::runtime::Pack(MemoryOf(message, message.from), message.boxes, buffer->data.get());
}

Error kdl_ranks::Unpack(const PlannedMessage& message, const SharedBuffer& buffer) const {
  return kdl::runtime::Unpack(MemoryOf(message, message.to), message.boxes, buffer->data.get());
}

Error kdl_ranks::Start(kdl_queue* queue) {
  if (is_started_ || plans_.empty()) return nullptr;
  is_started_ = true;
  const std::vector<PlannedMessage>& messages = plans_.Plan().messages;
  in_use_.resize(messages.size());
  for (std::size_t m = 0; m < messages.size(); ++m)
    if (!local_.Has(messages[m].from)) KDL_RETURN_IF_ERROR(Receive(messages[m], in_use_[m]));
  for (std::size_t m = 0; m < messages.size(); ++m)
    if (local_.Has(messages[m].from)) KDL_RETURN_IF_ERROR(Send(messages[m], in_use_[m], queue));
  return nullptr;
}

Error kdl_ranks::Finish() {
  Error failed;
  for (kdl_event* copy : copies_) {
    Error error(kdl_event_wait(copy, -1));
    if (!failed) failed = std::move(error);
    kdl_event_free(copy);
  }
  copies_.clear();
  // After a failure, the transport may still read what it sends, so the ranks remain started, and kdl_ranks_free does not free the memory yet.
  if (transport_ != nullptr) KDL_RETURN_IF_ERROR(Error(transport_->wait_all(transport_->state)));
  for (std::size_t m = 0; m < in_use_.size(); ++m) {
    const PlannedMessage& message = plans_.Plan().messages[m];
    SharedBuffer& buffer = in_use_[m];
    if (!failed && buffer && !local_.Has(message.from)) failed = Unpack(message, buffer);
    if (buffer.use_count() == 1) buffers_.push_back(std::move(buffer));
    buffer = nullptr;
  }
  in_use_.clear();
  plans_.Clear();
  is_started_ = false;
  return failed;
}

Error kdl_ranks::Rewritten(const kdl_array& tensor) {
  RankTensor* found = nullptr;
  KDL_RETURN_IF_ERROR(Find(tensor, &found));
  const std::int64_t forgotten = plans_.Forget(*found) * (tensor.view.element_bits / 8);
  if (found->memories.size() > 1) return Overwrite(*found);
  return forgotten < kLeastReleased ? nullptr : Release(*found);
}

// Gives memory for elements that the rank of this process neither owns nor has requested back to the system.
Error kdl_ranks::Release(const RankTensor& tensor) const {
  const kdl_array& memory = tensor.memories[0];
  std::vector<Box> kept = plans_.PendingOf(tensor, local_.first);
  std::ranges::move(tensor.ownership().Owned(local_.first), std::back_inserter(kept));
  std::vector<std::pair<char*, char*>> rows;
  Error failed = WithRows(
      memory, kept, KDL_MAP_READ,
      [&](char* row, std::size_t bytes, std::int64_t) { rows.emplace_back(row, row + bytes); });
  char* begin = nullptr;
  char* end = nullptr;
  if (!failed) {
    failed = WithRows(memory, WholeBox(tensor.ownership().sizes()), KDL_MAP_READ,
                      [&](char* row, std::size_t bytes, std::int64_t) {
                        if (begin == nullptr) begin = row;
                        end = row + bytes;
                      });
  }
  if (failed) return failed;
  std::ranges::sort(rows);
  for (const auto& [row, row_end] : rows) {
    ReleaseBetween(begin, row);
    begin = std::max(begin, row_end);
  }
  ReleaseBetween(begin, end);
  return nullptr;
}

// Overwrites the elements that each rank neither owns nor has requested.
Error kdl_ranks::Overwrite(const RankTensor& tensor) const {
  const auto overwrite = [](const kdl_array& memory, const Box& box) {
    return WithRows(
        memory, box, KDL_MAP_READ_WRITE,
        [](char* row, std::size_t bytes, std::int64_t) { std::memset(row, kForeignByte, bytes); });
  };
  const Ownership& ownership = tensor.ownership();
  Error failed;
  for (std::int64_t rank = local_.first; rank < local_.end; ++rank) {
    const kdl_array& memory = MemoryOf(tensor, rank);
    BoxSet pending;
    for (const Box& box : plans_.PendingOf(tensor, rank)) pending.Add(box);
    const auto overwrite_rest = [&](std::int64_t owner, const Box& box) {
      if (owner == rank) return;
      for (const Box& forgotten : pending.MissingFrom(box))
        if (!failed) failed = overwrite(memory, forgotten);
    };
    ownership.ForEachOwner(WholeBox(ownership.sizes()), rank, overwrite_rest);
  }
  return failed;
}
