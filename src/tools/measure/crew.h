// Threads that wait for work by polling, so that even work of a few microseconds can be shared
// among them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace kdl::measure {

// A set of threads, each pinned to a processor. While this object exists, the calling thread is
// pinned to the first processor. Without pinning, two threads that wait for each other could run on
// the same processor.
class Crew {
 public:
  explicit Crew(const std::vector<int>& processors);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Distributes work like Share in ceilings.h. Returns after all shares are done.
  void Do(std::int64_t count, std::int64_t grain,
          const std::function<void(std::int64_t first, std::int64_t count)>& part);

 private:
  void Work(int number);
  void Take(int number) const;

  int size_;
  std::vector<int> before_;  // the processors on which the calling thread was allowed to run before
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  const std::function<void(std::int64_t, std::int64_t)>* part_ = nullptr;
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<int> busy_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> others_;
};

}  // namespace kdl::measure
