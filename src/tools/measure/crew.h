// Threads that wait for work awake, so that microseconds of it can be shared.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace kdl::measure {

// A thread for each processor, which stays there; the calling one has the first, as long as this lives: two that wait for each
// other may meet on one processor otherwise.
class Crew {
 public:
  explicit Crew(const std::vector<int>& processors);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // As Share of ceilings.h; returns when all shares are done.
  void Do(std::int64_t count, std::int64_t grain,
          const std::function<void(std::int64_t first, std::int64_t count)>& part);

 private:
  void Work(int number);
  void Take(int number) const;

  int size_;
  std::vector<int> before_;  // where the calling thread may run
  std::int64_t count_ = 0;
  std::int64_t grain_ = 1;
  const std::function<void(std::int64_t, std::int64_t)>* part_ = nullptr;
  std::atomic<std::uint64_t> round_ = 0;
  std::atomic<int> busy_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::jthread> others_;
};

}  // namespace kdl::measure
