// A cluster that runs: a process of the machine's runner, told of work through a socket and a mailbox (kdl/cluster_abi.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/child_files.h"
#include "cluster/cluster_memory.h"
#include "core/error.h"
#include "kdl/cluster_abi.hpp"
#include "kdl/cluster_description.hpp"

namespace kdl::runtime {

// What clusters count of themselves.
struct ClusterCounts {
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t barriers = 0;
  std::uint64_t scratchpad_peak = 0;
};

class ClusterProcess {
 public:
  // Starts cluster `number` of `description.clusters` on the image that the file holds. `WaitForAll` tells when it has booted.
  // `most_events`: of a call, that it notes.
  static Error Start(const ClusterDescription& description, ClusterMemory& memory, int image,
                     std::int64_t number, std::int64_t most_events,
                     std::unique_ptr<ClusterProcess>* started);
  ~ClusterProcess();
  ClusterProcess(const ClusterProcess&) = delete;
  ClusterProcess& operator=(const ClusterProcess&) = delete;

  // Hands it the call at `call`.
  void Ring(std::int64_t call);
  // Until all have done what they were told: at once where one dies, and after the deadline where one does not get on. They are of
  // no use any more after an error. `what`: what they do, for messages.
  static Error WaitForAll(std::span<const std::unique_ptr<ClusterProcess>> clusters,
                          const std::string& what);

  // Of one that waits for work: adds what it has counted since the last time.
  void TakeCounts(ClusterCounts* counts);
  // Of its last call, in the order in which they happened there: the first ones.
  std::vector<kdl_cluster_event> Events() const;
  // How many came after those.
  std::uint64_t LostEvents() const;
  std::int64_t number() const { return number_; }

 private:
  ClusterProcess(const ClusterDescription& description, ClusterMemory& memory, int image,
                 std::int64_t number)
      : description_(description), memory_(memory), image_(image), number_(number) {}
  Error Spawn();
  bool polls() const { return description_.transport == ClusterTransport::Polling; }
  bool SaysDone() const;
  kdl_cluster_mailbox& mailbox() const;
  std::string Name() const;
  std::string LastWords() const;
  void Began();
  bool GetsOn();
  Error Answer(const std::string& what);
  std::string Fault() const;
  Error Died(const std::string& what);
  Error CheckAnswer(const std::string& what) const;

  const ClusterDescription& description_;
  ClusterMemory& memory_;
  int image_;
  std::int64_t number_;
  std::int64_t mailbox_ = 0;
  std::int64_t events_ = 0;
  // Nothing that decides is read back from where the cluster may write.
  std::uint64_t most_events_ = 0;
  std::uint64_t calls_ = 0;
  int process_ = -1;
  int bell_ = -1;
  int life_ = -1;  // whose end ends the process, whatever it does
  int said_ = -1;  // a file with what it has written
  std::uint64_t beat_ = 0;
  std::chrono::steady_clock::time_point beaten_;  // when `beat_` was new
};

}  // namespace kdl::runtime
