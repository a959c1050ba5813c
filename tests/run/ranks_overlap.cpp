// Three threads share the work of a program, each as a rank with a context of its own (ranks_overlap.py). Their transport notes how
// many kernels have been launched while messages travel. The results must have the bits of one rank.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "kdl/ranks.h"
#include "kdl/runtime.hpp"
#include "ranks.h"

namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 21;
constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kRanks = 3;

// The messages from one rank to another, in order.
class Mailbox {
 public:
  void Put(const void* data, std::int64_t bytes) {
    const auto* first = static_cast<const char*>(data);
    {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(first, first + bytes);
    }
    arrived_.notify_one();
  }
  std::vector<char> Take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !messages_.empty(); });
    std::vector<char> message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::vector<char>> messages_;
};
std::array<std::array<Mailbox, kRanks>, kRanks> mailboxes;  // by sender and receiver

struct Receive {
  std::int64_t from;
  void* data;
};

// A rank's end of the transport.
struct Rank {
  std::int64_t number = 0;
  kdl_device* device = nullptr;
  std::vector<Receive> receives = {};
  std::int64_t launches_before = -1;  // when the first transfer since the last wait was started
  std::int64_t overlapped =
      0;  // waits before which a kernel was launched after the transfers were started

  std::int64_t Launches() const {
    kdl_statistics counts{};
    kdl_device_get_statistics(device, &counts);
    return counts.launches;
  }
  void Begin() {
    if (launches_before < 0) launches_before = Launches();
  }
};

kdl_error* Send(void* state, std::int64_t to, const void* data, std::int64_t bytes) {
  auto& rank = *static_cast<Rank*>(state);
  rank.Begin();
  mailboxes[static_cast<std::size_t>(rank.number)][static_cast<std::size_t>(to)].Put(data, bytes);
  return nullptr;
}

kdl_error* StartReceive(void* state, std::int64_t from, void* data, std::int64_t) {
  auto& rank = *static_cast<Rank*>(state);
  rank.Begin();
  rank.receives.push_back({from, data});
  return nullptr;
}

kdl_error* WaitAll(void* state) {
  auto& rank = *static_cast<Rank*>(state);
  if (rank.launches_before >= 0 && rank.Launches() > rank.launches_before) ++rank.overlapped;
  rank.launches_before = -1;
  for (const Receive& one : rank.receives) {
    const std::vector<char> message =
        mailboxes[static_cast<std::size_t>(one.from)][static_cast<std::size_t>(rank.number)].Take();
    std::memcpy(one.data, message.data(), message.size());
  }
  rank.receives.clear();
  return nullptr;
}

std::vector<float> Input() {
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101) / 7.0F;
  return x;
}

// Runs the program as one rank of `count`. Returns how many waits were overlapped.
std::int64_t RunAs(std::int64_t number, std::int64_t count, std::vector<float>& y) {
  kdl::Context context;
  context.Register(kdl_images_ranks);
  const kdl::Device host = context.Select("host");
  Rank rank{number, host.get()};
  const kdl_transport transport = {number, count, &rank, Send, StartReceive, WaitAll, nullptr};
  if (count > 1) kdl::Check(kdl_context_set_transport(context.get(), &transport));
  rank.Launches();  // the device begins to count
  std::vector<float> x = Input();
  ranks::relaxed(context, context.Wrap(host, x.data(), {kRows, kColumns}),
                 context.Wrap(host, y.data(), {kRows, kColumns}), kSteps);
  return rank.overlapped;
}

}  // namespace

int main() {
  std::vector<float> one(kRows * kColumns);
  RunAs(0, 1, one);
  std::array<std::vector<float>, kRanks> results;
  std::array<std::int64_t, kRanks> overlapped{};
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    results[rank].resize(one.size());
    threads.emplace_back([&, rank] {
      overlapped[rank] = RunAs(static_cast<std::int64_t>(rank), kRanks, results[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const bool same =
        std::memcmp(results[rank].data(), one.data(), one.size() * sizeof(float)) == 0;
    std::printf("rank %zu: %s bits, %d of %d steps overlapped\n", rank, same ? "the same" : "other",
                static_cast<int>(overlapped[rank]), static_cast<int>(kSteps));
    if (!same || overlapped[rank] != kSteps) return 1;
  }
  return 0;
}
