// The C interface of ranks: the messages between the memories of a distributed tensor. Between two ranks of this process, a
// message is a copy. Messages between processes are packed into bytes, sent by the transport, and unpacked at the end.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "kdl/rank_ownership.hpp"
#include "kdl/ranks.h"
#include "system/pages.h"

using namespace kdl::runtime;
using kdl::ranks::Box;
using kdl::ranks::Exchange;
using kdl::ranks::kMostBlock;
using kdl::ranks::Ownership;
using kdl::ranks::RankGrid;
using kdl::ranks::WholeBox;

namespace kdl::runtime {

// The memories of a distributed tensor, and what is sent between them.
struct RankTensor {
  std::vector<kdl_array> memories;  // those of the ranks of this process
  Exchange exchange;                // also between ranks of other processes
  std::int64_t received =
      0;  // elements that ranks of this process have got since the tensor was written
};

// Memory for the bytes of a message.
struct MessageBuffer {
  std::unique_ptr<char[]> data;
  std::int64_t room = 0;
  std::int64_t size = 0;  // how many bytes are used
};

// Elements of one tensor that a rank sends to another one, if this process has one of these ranks.
struct RankMessage {
  RankTensor* tensor;
  std::int64_t from;
  std::int64_t to;
  std::string cause;
  std::vector<Box> boxes;
  // The elements, box after box, if the other rank belongs to another process. Messages with the same elements share them.
  std::shared_ptr<MessageBuffer> buffer;
};

struct RankTraffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

namespace {

// The bytes that a rank must have received so that it gives their memory back to the system. For fewer, such as the rows of
// neighbors, touching the pages again would take longer than it is worth.
constexpr std::int64_t kLeastReleased = std::int64_t{1} << 20;

// Memory that a rank must not read is filled with this byte.
constexpr int kForeignByte = 0xFF;

// Calls `use` with the address of each row of adjacent elements in the view, which begins at `data`, and with its number of
// bytes.
template <class Use>
void ForEachRow(const kdl_tensor& view, std::int32_t dimension, char* data, Use& use) {
  const std::int64_t bytes = view.element_bits / 8;
  const bool is_row = dimension == view.rank - 1 && view.stride[dimension] == 1;
  if (is_row || dimension == view.rank) {
    use(data, static_cast<std::size_t>(is_row ? view.size[dimension] * bytes : bytes));
    return;
  }
  for (std::int64_t i = 0; i < view.size[dimension]; ++i)
    ForEachRow(view, dimension + 1, data + i * view.stride[dimension] * bytes, use);
}

std::int64_t BytesOf(const kdl_tensor& view) {
  std::int64_t bytes = view.element_bits / 8;
  for (std::int32_t d = 0; d < view.rank; ++d) bytes *= view.size[d];
  return bytes;
}

// Returns the elements of a box. The result does not own its buffer.
kdl_array PartOf(const kdl_array& array, const Box& box) {
  kdl_array part = array;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < box.size(); ++d) {
    offset += box[d].first * part.view.stride[d];
    part.view.size[d] = box[d].end - box[d].first;
  }
  part.view.data = static_cast<char*>(part.view.data) + offset * (part.view.element_bits / 8);
  return part;
}

// Calls `use` for each row of adjacent elements of an array.
template <class Use>
Error WithRows(const kdl_array& array, kdl_map_access access, Use use) {
  if (BytesOf(array.view) == 0) return nullptr;
  const auto* base = static_cast<const char*>(kdl_buffer_address(array.buffer));
  const std::int64_t offset = static_cast<const char*>(array.view.data) - base;
  void* data = nullptr;
  KDL_RETURN_IF_ERROR(Error(kdl_buffer_map(array.buffer, access, &data)));
  ForEachRow(array.view, 0, static_cast<char*>(data) + offset, use);
  return Error(kdl_buffer_unmap(array.buffer));
}

// Gives the pages between two rows of elements back to the system, except those that contain parts of the rows.
void ReleaseBetween(char* from, char* to) {
  const auto page = static_cast<std::uintptr_t>(PageBytes());
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(from) + page - 1) / page * page;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(to) / page * page;
  if (first < end)
    ReleasePages(from + (first - reinterpret_cast<std::uintptr_t>(from)),
                 static_cast<std::int64_t>(end - first));
}

Error MakeGrid(const std::int64_t* shape, std::int32_t axes, std::int64_t processes,
               RankGrid* grid) {
  if (axes < 0 || (axes > 0 && shape == nullptr))
    return Invalid("a grid of ranks has ", axes, " axes");
  std::vector<std::int64_t> lengths(shape, shape + axes);
  for (const std::int64_t length : lengths) {
    if (length < 1) return Invalid("an axis of a grid of ranks has the length ", length);
  }
  if (lengths.empty()) lengths.push_back(processes == 0 ? 1 : processes);
  *grid = RankGrid(lengths);
  if (processes == 1) *grid = RankGrid();
  if (processes <= 1 || grid->count() == processes) return nullptr;
  return Invalid("the program needs ", grid->count(),
                 " processes, one for each rank of its grid, but there are ", processes,
                 "; one process alone runs it, too");
}

}  // namespace

}  // namespace kdl::runtime

struct kdl_ranks {
  RankGrid grid;
  std::int64_t first = 0;
  std::int64_t end = 1;
  std::shared_ptr<const kdl_transport> transport;        // null if all ranks belong to this process
  std::map<const kdl_buffer*, RankTensor> tensors = {};  // by the buffer of the first memory
  std::vector<RankMessage> pending = {};                 // requested since the last finish
  std::vector<std::shared_ptr<MessageBuffer>> buffers = {};  // of earlier messages
  bool is_started = false;              // whether transfers may use what is requested
  std::vector<kdl_event*> copies = {};  // of the messages that have been started
  std::map<std::pair<std::string, std::string>, RankTraffic> traffic = {};

  bool Has(std::int64_t rank) const { return first <= rank && rank < end; }

  Error Find(const kdl_array* tensor, RankTensor** found) {
    const auto known = tensors.find(tensor->buffer);
    if (known == tensors.end()) return Invalid("a tensor is not distributed over these ranks");
    *found = &known->second;
    return nullptr;
  }

  kdl_array PartOfRank(const RankMessage& message, std::int64_t rank, const Box& box) const {
    return PartOf(message.tensor->memories[static_cast<std::size_t>(rank - first)], box);
  }

  // Adds the box to the message of the owner to the rank.
  void AddToMessage(RankTensor* tensor, std::int64_t owner, std::int64_t rank, const char* cause,
                    const Box& box) {
    const auto message = std::ranges::find_if(pending, [&](const RankMessage& one) {
      return one.tensor == tensor && one.from == owner && one.to == rank;
    });
    if (message != pending.end()) return message->boxes.push_back(box);
    pending.push_back({tensor, owner, rank, cause, {box}, nullptr});
  }

  static std::int64_t BytesOfMessage(const RankMessage& message) {
    std::int64_t bytes = 0;
    for (const Box& box : message.boxes)
      bytes += BytesOf(PartOf(message.tensor->memories[0], box).view);
    return bytes;
  }

  // Gives a message a buffer for its elements, that of an earlier message if it is large enough.
  void MakeRoom(RankMessage& message) {
    const std::int64_t bytes = BytesOfMessage(message);
    auto known = std::ranges::find_if(buffers, [&](const auto& one) { return one->room >= bytes; });
    if (known == buffers.end() && !buffers.empty()) --known;
    if (known == buffers.end()) {
      message.buffer = std::make_shared<MessageBuffer>();
    } else {
      std::swap(*known, buffers.back());
      message.buffer = std::move(buffers.back());
      buffers.pop_back();
    }
    MessageBuffer& buffer = *message.buffer;
    if (buffer.room < bytes)
      buffer = {std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes)), bytes};
    buffer.size = bytes;
  }

  Error Receive(RankMessage& message) {
    MakeRoom(message);
    const MessageBuffer& buffer = *message.buffer;
    return Error(
        transport->receive(transport->state, message.from, buffer.data.get(), buffer.size));
  }

  // Between two ranks of this process, copies the boxes. Otherwise, packs them and starts to send them.
  Error Send(RankMessage& message, kdl_queue* queue) {
    RankTraffic& sent =
        traffic[{kdl_buffer_name(message.tensor->memories[0].buffer), message.cause}];
    ++sent.messages;
    for (const Box& box : message.boxes) {
      const kdl_array own = PartOfRank(message, message.from, box);
      sent.bytes += BytesOf(own.view);
      if (Has(message.to)) KDL_RETURN_IF_ERROR(CopyBox(message, own, box, queue));
    }
    if (Has(message.to)) return nullptr;
    KDL_RETURN_IF_ERROR(PackOnce(message));
    const MessageBuffer& buffer = *message.buffer;
    return Error(transport->send(transport->state, message.to, buffer.data.get(), buffer.size));
  }

  // Packs the elements of a message, unless that has been done for a message with the same elements to another rank.
  Error PackOnce(RankMessage& message) {
    const auto same = std::ranges::find_if(pending, [&](const RankMessage& one) {
      return one.buffer && one.tensor == message.tensor && one.from == message.from &&
             one.boxes == message.boxes;
    });
    if (same != pending.end()) {
      message.buffer = same->buffer;
      return nullptr;
    }
    MakeRoom(message);
    char* to = message.buffer->data.get();
    for (const Box& box : message.boxes)
      KDL_RETURN_IF_ERROR(Pack(PartOfRank(message, message.from, box), to));
    return nullptr;
  }

  // Copies the elements to `to`, and moves it to their end.
  static Error Pack(const kdl_array& part, char*& to) {
    return WithRows(part, KDL_MAP_READ, [&](const char* row, std::size_t bytes) {
      std::memcpy(to, row, bytes);
      to += bytes;
    });
  }

  Error CopyBox(const RankMessage& message, const kdl_array& own, const Box& box,
                kdl_queue* queue) {
    const kdl_array to = PartOfRank(message, message.to, box);
    kdl_event* done = nullptr;
    KDL_RETURN_IF_ERROR(
        Error(kdl_copy(queue, &to, &own, message.cause.c_str(), nullptr, 0, &done)));
    copies.push_back(done);
    return nullptr;
  }

  Error Unpack(const RankMessage& message) const {
    const char* from = message.buffer->data.get();
    for (const Box& box : message.boxes) {
      KDL_RETURN_IF_ERROR(WithRows(PartOfRank(message, message.to, box), KDL_MAP_READ_WRITE,
                                   [&](char* row, std::size_t bytes) {
                                     std::memcpy(row, from, bytes);
                                     from += bytes;
                                   }));
    }
    return nullptr;
  }

  // All receives start before the first message is packed, so that no process waits for one that waits for it.
  Error Start(kdl_queue* queue) {
    if (is_started || pending.empty()) return nullptr;
    is_started = true;
    for (RankMessage& message : pending) {
      if (!Has(message.from)) KDL_RETURN_IF_ERROR(Receive(message));
    }
    for (RankMessage& message : pending) {
      if (Has(message.from)) KDL_RETURN_IF_ERROR(Send(message, queue));
    }
    return nullptr;
  }

  Error Finish() {
    Error failed;
    for (kdl_event* copy : std::exchange(copies, {})) {
      Error error(kdl_event_wait(copy, -1));
      if (!failed) failed = std::move(error);
      kdl_event_free(copy);
    }
    if (transport) {
      Error error(transport->wait_all(transport->state));
      if (!failed) failed = std::move(error);
    }
    for (RankMessage& message : pending) {
      if (!failed && message.buffer && !Has(message.from)) failed = Unpack(message);
      if (message.buffer.use_count() == 1) buffers.push_back(std::move(message.buffer));
      message.buffer = nullptr;
    }
    pending.clear();
    is_started = false;
    return failed;
  }

  // Gives memory for elements that the rank of this process does not own back to the system, unless it has received few.
  Error Release(const RankTensor& tensor) const {
    const kdl_array& memory = tensor.memories[0];
    const std::int64_t element = memory.view.element_bits / 8;
    if (tensor.received * element < kLeastReleased) return nullptr;
    std::vector<std::pair<char*, char*>> owned;  // rows
    Error failed;
    tensor.exchange.ownership().ForEachOwned(first, [&](const Box& box) {
      if (failed) return;
      failed = WithRows(PartOf(memory, box), KDL_MAP_READ, [&](char* row, std::size_t bytes) {
        owned.emplace_back(row, row + bytes);
      });
    });
    char* begin = nullptr;
    char* end = nullptr;
    if (!failed) {
      failed = WithRows(memory, KDL_MAP_READ, [&](char* row, std::size_t bytes) {
        if (begin == nullptr) begin = row;
        end = row + bytes;
      });
    }
    if (failed) return failed;
    std::ranges::sort(owned);
    for (const auto& [row, row_end] : owned) {
      ReleaseBetween(begin, row);
      begin = row_end;
    }
    ReleaseBetween(begin, end);
    return nullptr;
  }

  Error Overwrite(const RankTensor& tensor) const {
    const Ownership& ownership = tensor.exchange.ownership();
    Error failed;
    for (std::int64_t rank = first; rank < end; ++rank) {
      const kdl_array& memory = tensor.memories[static_cast<std::size_t>(rank - first)];
      ownership.ForEachOwner(
          WholeBox(ownership.sizes()), rank, [&](std::int64_t owner, const Box& box) {
            if (owner == rank || failed) return;
            failed = WithRows(
                PartOf(memory, box), KDL_MAP_READ_WRITE,
                [](char* row, std::size_t bytes) { std::memset(row, kForeignByte, bytes); });
          });
    }
    return failed;
  }
};

namespace {

Error MakeRanks(std::shared_ptr<const kdl_transport> transport, std::int64_t processes,
                const std::int64_t* shape, std::int32_t axes, kdl_ranks** ranks) {
  RankGrid grid;
  KDL_RETURN_IF_ERROR(MakeGrid(shape, axes, processes, &grid));
  const std::int64_t first = transport ? transport->rank : 0;
  const std::int64_t end = transport ? first + 1 : grid.count();
  *ranks = new kdl_ranks{std::move(grid), first, end, std::move(transport)};
  return nullptr;
}

}  // namespace

kdl_error* kdl_context_set_transport(kdl_context* context, const kdl_transport* transport) {
  KDL_RETURN_IF_UNUSABLE(context);
  return Guard([&]() -> Error {
    if (transport == nullptr) {
      Unwrap(context)->set_transport(nullptr);
      return nullptr;
    }
    if (transport->rank < 0 || transport->rank >= transport->count)
      return Invalid("a transport has rank ", transport->rank, " of ", transport->count);
    const auto release = [](const kdl_transport* one) {
      if (one->release != nullptr) one->release(one->state);
      delete one;
    };
    Unwrap(context)->set_transport(
        std::shared_ptr<const kdl_transport>(new kdl_transport(*transport), release));
    return nullptr;
  });
}

kdl_error* kdl_ranks_create(kdl_context* context, const std::int64_t* shape, std::int32_t axes,
                            kdl_ranks** ranks) {
  KDL_RETURN_IF_UNUSABLE(context, ranks);
  return Guard([&] {
    std::shared_ptr<const kdl_transport> transport = Unwrap(context)->transport();
    const std::int64_t processes = transport ? transport->count : 1;
    return MakeRanks(std::move(transport), processes, shape, axes, ranks);
  });
}

kdl_error* kdl_ranks_create_with(const kdl_transport* transport, const std::int64_t* shape,
                                 std::int32_t axes, kdl_ranks** ranks) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] {
    auto own = transport ? std::make_shared<const kdl_transport>(*transport) : nullptr;
    return MakeRanks(std::move(own), transport ? transport->count : 0, shape, axes, ranks);
  });
}

void kdl_ranks_free(kdl_ranks* ranks) {
  // After a failure, transfers that have not ended keep their memory: other processes may never take part in them.
  if (ranks == nullptr || ranks->is_started) return;
  for (kdl_event* copy : ranks->copies) kdl_event_free(copy);
  delete ranks;
}

kdl_error* kdl_ranks_use_queue(kdl_ranks* ranks, kdl_queue* queue) {
  KDL_RETURN_IF_UNUSABLE(ranks, queue);
  return Guard(Unwrap(queue)->queue().scheduler(), [&]() -> Error {
    Caller& caller = *Unwrap(queue);
    if (!caller.is_own()) return Invalid("the handle of a queue belongs to all of its users");
    caller.queue().scheduler().RunAtOnce(caller);
    return nullptr;
  });
}

std::int64_t kdl_ranks_count(const kdl_ranks* ranks) { return ranks->grid.count(); }
std::int64_t kdl_ranks_first(const kdl_ranks* ranks) { return ranks->first; }
std::int64_t kdl_ranks_end(const kdl_ranks* ranks) { return ranks->end; }

std::int64_t kdl_ranks_owned_first(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                   std::int64_t axis) {
  return ranks->grid.Owned(size, rank, axis).first;
}
std::int64_t kdl_ranks_owned_end(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                 std::int64_t axis) {
  return ranks->grid.Owned(size, rank, axis).end;
}

std::int64_t kdl_ranks_owned_blocks(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                    std::int64_t axis, std::int64_t block) {
  return ranks->grid.CountOwnedBlocks(size, rank, axis, block);
}
std::int64_t kdl_ranks_owned_block_first(const kdl_ranks* ranks, std::int64_t size,
                                         std::int64_t rank, std::int64_t axis, std::int64_t block,
                                         std::int64_t number) {
  return ranks->grid.OwnedBlock(size, rank, axis, block, number).first;
}
std::int64_t kdl_ranks_owned_block_end(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                       std::int64_t axis, std::int64_t block, std::int64_t number) {
  return ranks->grid.OwnedBlock(size, rank, axis, block, number).end;
}

kdl_error* kdl_ranks_add(kdl_ranks* ranks, const kdl_array* memories, const std::int64_t* axes,
                         const std::int64_t* blocks) {
  KDL_RETURN_IF_UNUSABLE(ranks, memories);
  return Guard([&]() -> Error {
    const kdl_tensor& view = memories[0].view;
    if (view.rank > 0 && axes == nullptr) return Invalid("a distributed tensor has no axes");
    std::vector<std::int64_t> sizes(view.size, view.size + view.rank);
    std::vector<std::int64_t> along(axes, axes + view.rank);
    std::vector<std::int64_t> lengths;
    if (blocks != nullptr) lengths.assign(blocks, blocks + view.rank);
    if (std::ranges::any_of(lengths, [](auto one) { return one < 0 || one > kMostBlock; }))
      return Invalid("the blocks of a distributed dimension have 1 to ", kMostBlock, " indices");
    ranks->tensors[memories[0].buffer] = {
        {memories, memories + (ranks->end - ranks->first)},
        Exchange(Ownership(ranks->grid, std::move(sizes), std::move(along), std::move(lengths))),
        0};
    return nullptr;
  });
}

void kdl_ranks_remove(kdl_ranks* ranks, const kdl_array* tensor) {
  ranks->tensors.erase(tensor->buffer);
}

kdl_error* kdl_ranks_fetch(kdl_ranks* ranks, const kdl_array* tensor, std::int64_t rank,
                           const std::int64_t* first, const std::int64_t* end, const char* cause) {
  KDL_RETURN_IF_UNUSABLE(ranks, tensor, cause);
  return Guard([&]() -> Error {
    RankTensor* found = nullptr;
    if (ranks->is_started)
      return Invalid("elements are requested before earlier requests are finished");
    KDL_RETURN_IF_ERROR(ranks->Find(tensor, &found));
    Box needed = WholeBox(found->exchange.ownership().sizes());
    for (std::size_t d = 0; d < needed.size(); ++d)
      needed[d] = Intersection(needed[d], {first[d], end[d]});
    found->exchange.Fetch(rank, needed, [&](std::int64_t owner, const Box& box) {
      if (ranks->Has(rank)) found->received += CountElements(box);
      if (ranks->Has(owner) || ranks->Has(rank))
        ranks->AddToMessage(found, owner, rank, cause, box);
    });
    return nullptr;
  });
}

kdl_error* kdl_ranks_start_fetches(kdl_ranks* ranks, kdl_queue* queue) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] { return ranks->Start(queue); });
}

kdl_error* kdl_ranks_finish_fetches(kdl_ranks* ranks) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] { return ranks->Finish(); });
}

kdl_error* kdl_ranks_rewritten(kdl_ranks* ranks, const kdl_array* tensor) {
  KDL_RETURN_IF_UNUSABLE(ranks, tensor);
  return Guard([&]() -> Error {
    RankTensor* found = nullptr;
    KDL_RETURN_IF_ERROR(ranks->Find(tensor, &found));
    if (found->memories.size() > 1) {
      found->exchange.Rewritten();
      return ranks->Overwrite(*found);
    }
    Error failed = ranks->Release(*found);
    found->exchange.Rewritten();
    found->received = 0;
    return failed;
  });
}

std::int64_t kdl_ranks_get_traffic(const kdl_ranks* ranks, kdl_rank_traffic* traffic,
                                   std::int64_t capacity) {
  std::int64_t count = 0;
  for (const auto& [key, sent] : ranks->traffic) {
    if (count < capacity)
      traffic[count] = {key.first.c_str(), key.second.c_str(), sent.messages, sent.bytes};
    ++count;
  }
  return count;
}
