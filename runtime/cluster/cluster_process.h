// A running cluster: a process of the machine's emulator. It receives work through a socket and a mailbox
// (see kdl/cluster_abi.hpp).
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

// Counters that each cluster maintains.
struct ClusterCounts {
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t barriers = 0;
  std::uint64_t scratchpad_peak = 0;
};

class ClusterProcess {
 public:
  // Starts cluster `number` of the `description.clusters` clusters with the image in the given file.
  // `WaitForAll` waits until it has booted. In each call, the cluster records at most `most_events` events.
  static Error Start(const ClusterDescription& description, ClusterMemory& memory, int image,
                     std::int64_t number, std::int64_t most_events,
                     std::unique_ptr<ClusterProcess>* started);
  ~ClusterProcess();
  ClusterProcess(const ClusterProcess&) = delete;
  ClusterProcess& operator=(const ClusterProcess&) = delete;

  // Tells the cluster to run the call at offset `call` in global memory.
  void Ring(std::int64_t call);
  // Waits until all clusters have finished. Fails immediately if a cluster exits, or if a cluster has made no
  // progress by the deadline. After a failure, none of the clusters can be used any more. `what` describes
  // their work in messages.
  static Error WaitForAll(std::span<const std::unique_ptr<ClusterProcess>> clusters,
                          const std::string& what);

  // Adds to `counts` what the cluster has counted since the previous call. The cluster must be waiting for
  // work.
  void TakeCounts(ClusterCounts* counts);
  // Returns the events that the cluster recorded during its last call, in the order in which they happened.
  std::vector<kdl_cluster_event> Events() const;
  // Returns how many events of the last call were not recorded because there were too many.
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
  // The host's own copies of these values. Decisions are never based on values read back from memory that the
  // cluster can write.
  std::uint64_t most_events_ = 0;
  std::uint64_t calls_ = 0;
  int process_ = -1;
  int bell_ = -1;
  int life_ = -1;  // the system kills the process when this descriptor is closed
  int said_ = -1;  // a file that receives the process's output
  std::uint64_t beat_ = 0;
  std::chrono::steady_clock::time_point beaten_;  // when `beat_` last changed
};

}  // namespace kdl::runtime
