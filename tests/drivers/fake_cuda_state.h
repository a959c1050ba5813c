// The state of the fake driver (fake_cuda.h): contexts, memory, streams, and what tests have told it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drivers/ptx_machine.h"

namespace fake {

using Status = int;
using Address = std::uint64_t;
constexpr Status kSuccess = 0;
constexpr Status kInvalidValue = 1;
constexpr Status kOutOfMemory = 2;
constexpr Status kInvalidPtx = 218;
constexpr Status kNoBinaryForGpu = 209;
constexpr Status kNotFound = 500;
constexpr Status kNotReady = 600;
constexpr int kDevices = 2;
constexpr int kMostWorkgroup = 227 << 10;
constexpr int kWorkgroupOfText = 48 << 10;
// Of a multiprocessor.
constexpr int kMostThreads = 2048;
constexpr int kMostBlocks = 32;
constexpr std::size_t kMultiprocessorWorkgroup = 228 << 10;
constexpr std::size_t kReserved = 1 << 10;  // shared memory of each block that the driver uses
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMemory = std::size_t{1} << 30;
// A tag that marks device addresses, so that the host cannot use them.
constexpr Address kTag = Address{1} << 62;

[[noreturn]] inline void Misused(const std::string& what) {
  std::fprintf(stderr, "CUDA is used wrongly: %s\n", what.c_str());
  std::abort();
}

struct Context {
  int retained = 0;
  std::size_t used = 0;
};
struct FreeHost {
  void operator()(char* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<char, FreeHost>;
struct Block {
  Memory bytes;
  std::size_t size;
  Context* context;
};
struct Stream {
  explicit Stream(Context* its_context) : context(its_context) {}
  Context* context;
  std::deque<std::function<void()>> waiting;
  std::size_t done = 0;   // number of work items that have been taken from `waiting`
  std::size_t ended = 0;  // number of those that have ended
  std::mutex running;     // held while work runs
};
struct Event {
  Context* context;
  Stream* stream = nullptr;  // null if the event is not recorded
  std::size_t place = 0;     // the number of the stream's work items before the event
  bool is_timed = true;
};
constexpr int kHostMemory = 1;
struct Side {
  std::size_t x;
  std::size_t y;
  int kind;
  char* host;
  Address device;
  void* array;
  std::size_t pitch;
};
struct Copy2D {
  Side from;
  Side to;
  std::size_t bytes;
  std::size_t rows;
};
struct PeerSide {
  std::size_t x, y, z, level;
  int kind;
  const void* host;
  Address device;
  void* array;
  Context* context;
  std::size_t pitch, height;
};
struct CopyPeer {
  PeerSide from;
  PeerSide to;
  std::size_t bytes, rows, planes;
};
struct Function {
  const ptx::Kernel* kernel;
  int workgroup_bytes = kWorkgroupOfText;  // the largest size that a launch may request
};
struct LoadedModule {
  Context* context;
  std::unique_ptr<ptx::Module> code;
  std::vector<Address> constants;
  std::map<std::string, Function> functions;
};

// The state of the driver. The mutex guards it, but is not held while kernels run.
inline std::mutex mutex;
inline Context contexts[kDevices];
inline std::map<Address, Block> blocks;
inline std::set<Stream*> streams;
inline std::set<Event*> events;
inline std::map<const char*, std::size_t> pinned;  // host memory that the device can access
inline std::size_t unpinned_copies = 0;
inline bool has_pools = true;
struct Pool {
  Context* context;
  std::uint64_t kept = 0;
};
inline std::set<Pool*> pools;
inline std::set<LoadedModule*> modules;
inline std::set<Function*> functions;
inline std::map<std::string, Status> failing;
inline std::string calls;  // what fake_cuda_calls returns next
inline thread_local std::vector<Context*> current;

inline Status Failing(const char* function) {
  const std::lock_guard lock(mutex);
  const auto found = failing.find(function);
  if (found == failing.end()) return kSuccess;
  const Status status = found->second;
  failing.erase(found);
  return status;
}
// Notes a call. `what` follows the function's name.
inline void Called(const char* function, const std::string& what = "") {
  const std::lock_guard lock(mutex);
  calls += std::string(function) + what + "\n";
  if (const char* file = std::getenv("FAKE_CUDA_CALLS"))
    std::ofstream(file, std::ios::app) << function << what << "\n";
}
#define FAIL_IF_TOLD() \
  if (const Status told = Failing(__func__); told != kSuccess) return told

inline Context& Current() {
  if (current.empty()) Misused("a thread without a context");
  return *current.back();
}

// Returns the pinned memory at the address, which the device accesses at the same address, or null if this is
// none. The mutex must be held.
inline char* Pinned(const char* address, std::size_t bytes) {
  auto behind = pinned.upper_bound(address);
  if (behind == pinned.begin()) return nullptr;
  const auto& [start, size] = *std::prev(behind);
  return address + bytes <= start + size ? const_cast<char*>(address) : nullptr;
}

// Returns the host memory for the `bytes` bytes that start at the address. The mutex must be held.
inline char* Host(Address address, std::size_t bytes) {
  if (char* memory = Pinned(reinterpret_cast<const char*>(address), bytes)) return memory;
  auto behind = blocks.upper_bound(address);
  if (behind == blocks.begin()) Misused("an address that is none");
  auto& [start, block] = *std::prev(behind);
  // An update of a narrow element accesses the whole word that contains it.
  const std::size_t words = (block.size + 3) / 4 * 4;
  if (address + bytes > start + words) Misused("a range that leaves its memory");
  return block.bytes.get() + (address - start);
}

inline char* LockedHost(Address address, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  return Host(address, bytes);
}

// The default streams of the process, one for each context. CUDA's numbers for them are 0 and 1, and here also 2, that of the
// thread's default stream.
inline Stream default_streams[kDevices] = {Stream(&contexts[0]), Stream(&contexts[1])};
inline Stream* Resolved(Stream* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > 2) return stream;
  return &default_streams[&Current() - contexts];
}

inline void Check(Stream* stream) {
  const std::lock_guard lock(mutex);
  if (stream >= std::begin(default_streams) && stream < std::end(default_streams)) return;
  if (!streams.contains(stream)) Misused("a stream that is none");
  if (stream->context != &Current()) Misused("a stream of another context");
}

// Enqueues work on the `bytes` bytes that start at the address. Checks the range now; the work runs later.
inline Status Later(Stream* stream, Address address, std::size_t bytes,
                    std::function<void(char*)> work) {
  stream = Resolved(stream);
  Check(stream);
  const std::lock_guard lock(mutex);
  Host(address, bytes);
  stream->waiting.push_back([=] { work(LockedHost(address, bytes)); });
  return kSuccess;
}

// Runs the stream's work until a total of `count` items are done.
inline void RunUntil(Stream& stream, std::size_t count) {
  const std::lock_guard running(stream.running);
  for (;;) {
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex);
      if (stream.done >= count || stream.waiting.empty()) return;
      work = std::move(stream.waiting.front());
      stream.waiting.pop_front();
      ++stream.done;
    }
    work();
    const std::lock_guard lock(mutex);
    ++stream.ended;
  }
}

// Runs the work that a stream contained before the place, unless it has ended. A stream that is gone has no work.
inline void RunBefore(Stream* stream, std::size_t place) {
  {
    const std::lock_guard lock(mutex);
    const bool is_default =
        stream >= std::begin(default_streams) && stream < std::end(default_streams);
    if (!is_default && !streams.contains(stream)) return;
    if (stream->ended >= place) return;
  }
  RunUntil(*stream, place);
}

inline void CountUnpinned(const void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  unpinned_copies += Pinned(static_cast<const char*>(memory), bytes) != nullptr ? 0 : 1;
}

}  // namespace fake
