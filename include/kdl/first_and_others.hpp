// Messages between the first process of a transport and all others. `kernelc run` and the runtime share this code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kdl/ranks.h"

namespace kdl::ranks {

// The tag of messages that do not move elements of tensors.
inline constexpr std::int64_t kControlTag = 0;
// The tag of messages with which the processes end a call of a program.
inline constexpr std::int64_t kEndTag = 1;
// The first tag of messages that move elements of tensors.
inline constexpr std::int64_t kFirstElementTag = 2;

// All processes must make the same calls. Without a transport, there is one process.
class FirstAndOthers {
 public:
  // The transport must outlive the object.
  explicit FirstAndOthers(const kdl_transport* transport) : transport_(transport) {}

  bool IsFirst() const { return transport_ == nullptr || transport_->rank == 0; }

  // Gives all processes the bytes of the first one.
  kdl_error* Broadcast(std::span<char> bytes) const {
    if (transport_ == nullptr) return nullptr;
    const auto size = static_cast<std::int64_t>(bytes.size());
    kdl_error* error = nullptr;
    if (!IsFirst()) {
      error = transport_->receive(transport_->state, 0, kControlTag, bytes.data(), size);
    } else {
      for (std::int64_t rank = 1; error == nullptr && rank < transport_->count; ++rank)
        error = transport_->send(transport_->state, rank, kControlTag, bytes.data(), size);
    }
    return error != nullptr ? error : Wait();
  }

  // Stores in the first process whether `mine` is true in all of them.
  kdl_error* AllOf(bool mine, bool* all) const {
    const char one = mine ? 1 : 0;
    std::vector<char> values;
    kdl_error* error = Gather({&one, 1}, &values);
    if (error != nullptr) return error;
    *all = std::ranges::all_of(values, [](char is_true) { return is_true != 0; });
    return nullptr;
  }

  // Stores in the first process the sum of the numbers of all processes, modulo 2^64.
  kdl_error* Sum(std::uint64_t mine, std::uint64_t* sum) const {
    char bytes[sizeof mine];
    std::memcpy(bytes, &mine, sizeof mine);
    std::vector<char> values;
    kdl_error* error = Gather(bytes, &values);
    if (error != nullptr) return error;
    *sum = 0;
    for (std::size_t at = 0; at < values.size(); at += sizeof mine) {
      std::memcpy(&mine, values.data() + at, sizeof mine);
      *sum += mine;
    }
    return nullptr;
  }

  // Stores in all processes whether `mine` is true in all of them.
  kdl_error* Agree(bool mine, bool* all) const {
    kdl_error* error = AllOf(mine, all);
    if (error != nullptr) return error;
    char verdict = *all ? 1 : 0;
    error = Broadcast({&verdict, 1});
    *all = verdict != 0;
    return error;
  }

 private:
  // Sends the bytes of each process to the first one, where they are stored one after another.
  kdl_error* Gather(std::span<const char> mine, std::vector<char>* all) const {
    all->assign(mine.begin(), mine.end());
    if (transport_ == nullptr) return nullptr;
    const auto size = static_cast<std::int64_t>(mine.size());
    kdl_error* error = nullptr;
    if (!IsFirst()) {
      error = transport_->send(transport_->state, 0, kControlTag, all->data(), size);
    } else {
      all->resize(mine.size() * static_cast<std::size_t>(transport_->count));
      for (std::int64_t rank = 1; error == nullptr && rank < transport_->count; ++rank)
        error = transport_->receive(transport_->state, rank, kControlTag, all->data() + rank * size,
                                    size);
    }
    return error != nullptr ? error : Wait();
  }

  kdl_error* Wait() const { return transport_->wait_all(transport_->state); }

  const kdl_transport* transport_;
};

}  // namespace kdl::ranks
