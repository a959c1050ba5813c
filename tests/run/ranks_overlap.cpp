// Three threads share the work of a program, each as a rank with a context of its own (ranks_overlap.py). Their transport notes how
// many kernels have been launched while messages travel: those of inner blocks, and those of a panel while the next one travels. The
// results must have the bits of one rank, and after the first steps, the runtime must not allocate anything in a step.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "kdl/ranks.h"
#include "kdl/runtime.hpp"
#include "ranks.h"

namespace {

// How often the thread has called `operator new`, except in the transport.
thread_local std::int64_t allocations = 0;
thread_local bool is_in_transport = false;

class InTransport {
 public:
  InTransport() { is_in_transport = true; }
  ~InTransport() { is_in_transport = false; }
};

}  // namespace

// These functions are not inlined, because the compiler would take `malloc` and `operator delete` for a mistake.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (!is_in_transport) ++allocations;
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 21;
constexpr std::int64_t kDepth = 300;  // of a product
constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kRanks = 3;

struct Message {
  std::int64_t tag;
  std::vector<char> bytes;
};

// The messages from one rank to another, in order.
class Mailbox {
 public:
  void Put(std::int64_t tag, const void* data, std::int64_t bytes) {
    const auto* first = static_cast<const char*>(data);
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back({tag, {first, first + bytes}});
    }
    arrived_.notify_one();
  }
  // Waits for the first message with this tag.
  std::vector<char> Take(std::int64_t tag) {
    std::unique_lock lock(mutex_);
    auto found = messages_.end();
    arrived_.wait(lock, [&] {
      found = std::ranges::find(messages_, tag, &Message::tag);
      return found != messages_.end();
    });
    std::vector<char> bytes = std::move(found->bytes);
    messages_.erase(found);
    return bytes;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
};
std::array<std::array<Mailbox, kRanks>, kRanks> mailboxes;  // by sender and receiver

struct Receive {
  std::int64_t from;
  std::int64_t tag;
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

kdl_error* Send(void* state, std::int64_t to, std::int64_t tag, const void* data,
                std::int64_t bytes) {
  const InTransport here;
  auto& rank = *static_cast<Rank*>(state);
  rank.Begin();
  mailboxes[static_cast<std::size_t>(rank.number)][static_cast<std::size_t>(to)].Put(tag, data,
                                                                                     bytes);
  return nullptr;
}

kdl_error* StartReceive(void* state, std::int64_t from, std::int64_t tag, void* data,
                        std::int64_t) {
  const InTransport here;
  auto& rank = *static_cast<Rank*>(state);
  rank.Begin();
  rank.receives.push_back({from, tag, data});
  return nullptr;
}

kdl_error* WaitAll(void* state) {
  const InTransport here;
  auto& rank = *static_cast<Rank*>(state);
  if (rank.launches_before >= 0 && rank.Launches() > rank.launches_before) ++rank.overlapped;
  rank.launches_before = -1;
  for (const Receive& one : rank.receives) {
    const std::vector<char> message =
        mailboxes[static_cast<std::size_t>(one.from)][static_cast<std::size_t>(rank.number)].Take(
            one.tag);
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

struct Counts {
  std::int64_t overlapped = 0;  // waits
  std::int64_t allocations = 0;
};

// Calls a program with an output.
using Program = std::function<void(const kdl::Context&, const kdl::Device&, const kdl::Tensor& y)>;

// Relaxes a matrix. In each step, ranks run their inner blocks while rows of their neighbors travel.
Program Relaxed(std::int64_t steps) {
  return [steps](const kdl::Context& context, const kdl::Device& host, const kdl::Tensor& y) {
    std::vector<float> x = Input();
    ranks::relaxed(context, context.Wrap(host, x.data(), {kRows, kColumns}), y, steps);
  };
}

// Scales a matrix by sums over all of it. In each step, ranks exchange partial sums.
Program Scaled(std::int64_t steps) {
  return [steps](const kdl::Context& context, const kdl::Device& host, const kdl::Tensor& y) {
    std::vector<float> x = Input();
    ranks::scaled(context, context.Wrap(host, x.data(), {kRows, kColumns}), y, steps);
  };
}

// A product whose factors have a panel for each rank. While a panel travels, ranks run the blocks of the one before it.
void Product(const kdl::Context& context, const kdl::Device& host, const kdl::Tensor& y) {
  std::vector<float> depth(kDepth);
  ranks::large(context, context.Wrap(host, depth.data(), {kDepth}), y);
}

// Runs the program as one rank of `count`.
Counts RunAs(std::int64_t number, std::int64_t count, const Program& program,
             std::vector<float>& y) {
  kdl::Context context;
  context.Register(kdl_images_ranks);
  const kdl::Device host = context.Select("host");
  Rank rank{number, host.get()};
  const kdl_transport transport = {number,  count,   &rank,   Send,    StartReceive,
                                   WaitAll, nullptr, nullptr, nullptr, nullptr};
  if (count > 1) kdl::Check(kdl_context_set_transport(context.get(), &transport));
  rank.Launches();  // the device begins to count
  const kdl::Tensor out = context.Wrap(host, y.data(), {kRows, kColumns});
  const std::int64_t before = allocations;
  program(context, host, out);
  return {rank.overlapped, allocations - before};
}

// Runs the program as all ranks. Returns what they have counted.
std::array<Counts, kRanks> RunAll(const Program& program,
                                  std::array<std::vector<float>, kRanks>& results) {
  std::array<Counts, kRanks> counts;
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      counts[rank] = RunAs(static_cast<std::int64_t>(rank), kRanks, program, results[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return counts;
}

// Returns the error of a program whose second kernel fails on a negative number.
std::string ErrorOf(std::vector<float> x) {
  kdl::Context context;
  context.Register(kdl_images_ranks);
  const kdl::Device host = context.Select("host");
  std::vector<float> y(x.size());
  const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(x.size())};
  try {
    ranks::roots(context, context.Wrap(host, x.data(), sizes), context.Wrap(host, y.data(), sizes));
  } catch (const kdl::Error& error) {
    return error.what();
  }
  return "";
}

// Launches that run at once report failures like others: once, and with the place in the source.
bool ReportsFailures() {
  const std::string failed = ErrorOf({1, 4, -1, 9});
  std::printf("a failing launch: %s\n", failed.c_str());
  return failed.find("no negative number") != std::string::npos && ErrorOf({1, 4, 9}).empty();
}

// Runs a program on one rank and on all. Returns whether the rows that each rank owns have the same bits, and so many waits come
// after launches.
bool Overlaps(const char* name, const Program& program, std::int64_t waits) {
  std::vector<float> one(kRows * kColumns);
  RunAs(0, 1, program, one);
  std::array<std::vector<float>, kRanks> results;
  results.fill(std::vector<float>(one.size()));
  const std::array<Counts, kRanks> counts = RunAll(program, results);
  bool is_right = true;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const std::size_t share = (kRows + kRanks - 1) / kRanks * kColumns;
    const std::size_t first = rank * share;
    const std::size_t end = std::min(first + share, one.size());
    const bool same =
        std::memcmp(&results[rank][first], &one[first], (end - first) * sizeof(float)) == 0;
    std::printf("%s: rank %zu: %s bits, %d of %d waits overlapped\n", name, rank,
                same ? "the same" : "other", static_cast<int>(counts[rank].overlapped),
                static_cast<int>(waits));
    is_right = is_right && same && counts[rank].overlapped == waits;
  }
  return is_right;
}

// Returns whether further steps allocate nothing.
bool AllocatesNothing(const char* name, Program (*make)(std::int64_t steps)) {
  std::array<std::vector<float>, kRanks> results;
  results.fill(std::vector<float>(kRows * kColumns));
  // The first run of a process also allocates what later ones share.
  const std::array<Counts, kRanks> some = RunAll(make(2 * kSteps), results);
  const std::array<Counts, kRanks> many = RunAll(make(4 * kSteps), results);
  bool is_right = true;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const std::int64_t more = many[rank].allocations - some[rank].allocations;
    std::printf("%s: rank %zu: %d allocations in %d more steps\n", name, rank,
                static_cast<int>(more), static_cast<int>(2 * kSteps));
    is_right = is_right && more == 0;
  }
  return is_right;
}

}  // namespace

int main() {
  bool is_right = Overlaps("relaxed", Relaxed(kSteps), kSteps);
  is_right = Overlaps("scaled", Scaled(kSteps), 0) && is_right;
  is_right = Overlaps("product", Product, kRanks - 1) && is_right;
  is_right = AllocatesNothing("relaxed", Relaxed) && is_right;
  is_right = AllocatesNothing("scaled", Scaled) && is_right;
  is_right = ReportsFailures() && is_right;
  return is_right ? 0 : 1;
}
