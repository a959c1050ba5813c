// Tests truncated and corrupted mailboxes of clusters. Whatever a cluster writes to its mailbox, and however
// it ends, the host must report at most one error. The next clusters that the host starts must work, with
// both transports. This program also acts as the cluster.
//
//   fuzz_cluster_mailbox [seconds] [seed] [most mutations] [the one mutation to repeat]
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cluster/cluster_process.h"
#include "kdl/error.h"

namespace {

using kdl::runtime::ClusterCounts;
using kdl::runtime::ClusterMemory;
using kdl::runtime::ClusterProcess;

constexpr std::int64_t kMemoryBytes = 1 << 20;
constexpr std::int64_t kMostEvents = 16;
constexpr int kBell = 0;
constexpr int kMemory = 3;

// -- the cluster --------------------------------------------------------------------------------------

void Answer() {
  const char byte = 1;
  if (::write(kBell, &byte, 1) != 1) std::exit(0);
}

void Flip(std::mt19937_64& random, unsigned char* bytes, std::size_t count) {
  for (std::uint64_t n = random() % 8 + 1; n > 0; --n)
    bytes[random() % count] ^= 1u << random() % 8;
}

void SetField(std::mt19937_64& random, unsigned char* bytes, std::size_t count) {
  const std::uint64_t values[] = {
      0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, random(), random() % 8, random() % 4096};
  const std::uint64_t value = values[random() % std::size(values)];
  std::memcpy(bytes + random() % (count / 8) * 8, &value, sizeof value);
}

void Truncate(std::mt19937_64& random, unsigned char* bytes, std::size_t count) {
  const std::size_t left = random() % count;
  std::memset(bytes + left, random() % 2 == 0 ? 0 : 0xff, count - left);
}

// Writes the words one by one in a random order, so that a polling host sees incomplete answers.
void WriteInPieces(std::mt19937_64& random, kdl_cluster_mailbox& to,
                   const kdl_cluster_mailbox& from) {
  constexpr std::size_t kWords = sizeof from / sizeof(std::uint64_t);
  std::uint64_t words[kWords];
  std::size_t order[kWords];
  std::memcpy(words, &from, sizeof from);
  std::iota(std::begin(order), std::end(order), 0);
  std::shuffle(std::begin(order), std::end(order), random);
  auto* at = reinterpret_cast<std::uint64_t*>(&to);
  for (const std::size_t word : order) __atomic_store_n(at + word, words[word], __ATOMIC_SEQ_CST);
}

// Used in place of a function that announces the answer.
void SayNothing() {}

// Serves one call. If `call` is 0, the answer is correct; otherwise `call` is the seed of a wrong answer.
// `tell` is called after writing the answer.
void Serve(kdl_cluster_mailbox& mailbox, std::uint64_t call, void (*tell)()) {
  kdl_cluster_mailbox answer = mailbox;
  answer.done = answer.number;
  answer.status = kdl_cluster_ready;
  answer.copies = 1;
  answer.event_count = 3;
  std::mt19937_64 random(call);
  if (call != 0) {
    auto* bytes = reinterpret_cast<unsigned char*>(&answer);
    constexpr void (*kMutations[])(std::mt19937_64&, unsigned char*, std::size_t) = {Flip, SetField,
                                                                                     Truncate};
    kMutations[random() % std::size(kMutations)](random, bytes, sizeof answer);
  }
  WriteInPieces(random, mailbox, answer);
  switch (call == 0 ? ~std::uint64_t{0} : random() % 16) {
    case 0:
      std::exit(static_cast<int>(random() % 3));
    case 1:
      ::close(kBell);
      std::exit(0);
    case 2:
      Answer();  // announces the answer, perhaps for the second time
      break;
    case 3:
      // The cluster truncates the memory that it shares with the host, and ends.
      if (::ftruncate(kMemory, 0) == 0) std::exit(0);
  }
  tell();
}

int RunCluster(char** words, bool polls) {
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(std::atoll(words[0])),
                        PROT_READ | PROT_WRITE, MAP_SHARED, kMemory, 0);
  auto& mailbox =
      *reinterpret_cast<kdl_cluster_mailbox*>(static_cast<char*>(memory) + std::atoll(words[1]));
  if (mailbox.polls != (polls ? 1 : 0)) std::exit(1);
  mailbox.abi_hash = kdl_cluster_abi_hash;
  __atomic_store_n(&mailbox.status, kdl_cluster_ready, __ATOMIC_SEQ_CST);
  if (!polls) {
    Answer();
    for (char byte = 0; ::read(kBell, &byte, 1) == 1;) Serve(mailbox, mailbox.call, Answer);
    return 0;
  }
  for (std::uint64_t seen = mailbox.number;;) {
    const std::uint64_t number = __atomic_load_n(&mailbox.number, __ATOMIC_SEQ_CST);
    if (number == seen) {
      ::usleep(50);
      continue;
    }
    Serve(mailbox, mailbox.call, SayNothing);
    seen = mailbox.number;
  }
}

// -- the host -----------------------------------------------------------------------------------------

[[noreturn]] void Wrong(std::uint64_t seed, const std::string& what) {
  std::fprintf(stderr, "mutation %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  std::exit(1);
}

class Host {
 public:
  Host(const char* self, bool polls) {
    description_.name = "fuzzed";
    if (polls) description_.transport = kdl::ClusterTransport::Polling;
    description_.clusters = 1;
    description_.scratchpad_bytes = description_.stack_bytes = 1 << 16;
    // A polling host cannot tell whether a silent cluster is still at work, so it waits for the whole
    // deadline.
    description_.deadline_seconds = polls ? 1 : 5;
    description_.run = {self, polls ? "--polls" : "--rings"};
    if (ClusterMemory::Make(kMemoryBytes, description_.alignment, &memory_)) std::exit(2);
  }

  // Returns whether the call succeeded.
  bool Call(std::uint64_t call) {
    if (clusters_.empty()) Start();
    clusters_[0]->Ring(static_cast<std::int64_t>(call));
    kdl::runtime::Error error = ClusterProcess::WaitForAll(clusters_, "was fuzzed");
    late_ = error && kdl_error_code(error.get()) == KDL_ERROR_TIMEOUT;
    if (error) {
      const std::string text = kdl_error_message(error.get());
      if (text.empty() || text.find('\n') != std::string::npos) Wrong(call, "it says: " + text);
      clusters_.clear();
      return false;
    }
    ClusterCounts counts;
    clusters_[0]->TakeCounts(&counts);
    if (clusters_[0]->Events().size() > kMostEvents) Wrong(call, "more events than there may be");
    return true;
  }

  // Returns whether a correct answer arrives. On a busy machine this may take several attempts.
  bool Works() {
    constexpr int kTries = 10;
    for (int number = 0; number < kTries; ++number) {
      if (Call(0)) return true;
      if (!late_) break;
    }
    return false;
  }

 private:
  void Start() {
    const kdl::runtime::Error error = ClusterProcess::Start(description_, *memory_, kImage, 0,
                                                            kMostEvents, &clusters_.emplace_back());
    if (error) Wrong(0, "it does not start");
    // A cluster that starts late is not an error here, because each call has its own deadline.
    if (const kdl::runtime::Error late = ClusterProcess::WaitForAll(clusters_, "booted")) {
      if (kdl_error_code(late.get()) != KDL_ERROR_TIMEOUT) Wrong(0, kdl_error_message(late.get()));
      clusters_.clear();
      Start();
    }
  }

  static constexpr int kImage = 1;  // any file, because the cluster does not read it
  kdl::ClusterDescription description_;
  std::unique_ptr<ClusterMemory> memory_;
  std::vector<std::unique_ptr<ClusterProcess>> clusters_;
  bool late_ = false;  // whether the last error was a missed deadline
};

}  // namespace

int main(int count, char** words) {
  if (count == 4 && std::strcmp(words[1], "--rings") == 0) return RunCluster(words + 2, false);
  if (count == 4 && std::strcmp(words[1], "--polls") == 0) return RunCluster(words + 2, true);
  const double seconds = count > 1 ? std::atof(words[1]) : 10;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  const std::uint64_t most = count > 3 ? std::strtoull(words[3], nullptr, 10) : 100000;
  const std::uint64_t only = count > 4 ? std::strtoull(words[4], nullptr, 10) : 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::mt19937_64 random(seed);
  Host hosts[] = {{"/proc/self/exe", false}, {"/proc/self/exe", true}};
  std::uint64_t mutations = 0;
  std::uint64_t refused[] = {0, 0};
  for (; mutations < most && std::chrono::steady_clock::now() < end; ++mutations) {
    const std::uint64_t call = only != 0 ? only : random() | 1;
    const std::uint64_t polls = mutations % 2;
    if (hosts[polls].Call(call)) continue;
    ++refused[polls];
    if (!hosts[polls].Works()) Wrong(call, "the clusters after it do not work");
  }
  std::printf(
      "%llu mutations, %llu of them errors of a launch, %llu of a launch that is polled; "
      "the machine works\n",
      static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(refused[0]),
      static_cast<unsigned long long>(refused[1]));
  return mutations > 1 ? 0 : 1;
}
