// The processes that share the work of the programs of a context.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "api/rank_agreement.h"
#include "core/error.h"
#include "kdl/ranks.h"

namespace kdl::runtime {

// All processes make the same calls of programs, one after another, and each call ends in the same way in all of them. Before a process
// has left a call, it has received all messages that others have sent to it, so that they never meet a later call.
class Processes {
 public:
  explicit Processes(const kdl_transport& transport) : transport_(transport) {}
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  const kdl_transport& transport() const { return transport_; }

  // Begin a call and end it. `failure` is what has failed in this process before, or null. They return what has failed in any
  // process, the same in all of them. After a failure of Begin, there is no call. Without a call of this thread, End returns `failure`.
  Error Begin(const ProgramCall& call, Error failure);
  Error End(Error failure);
  // Keeps memory of transfers that a failure has left until the call ends.
  void Keep(std::shared_ptr<const void> memory);

 private:
  Error Claim();
  bool IsClaimed();
  void Release();
  Error Finish(Error failure);

  kdl_transport transport_;
  std::mutex mutex_;
  std::thread::id thread_;  // the one that calls a program
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace kdl::runtime
