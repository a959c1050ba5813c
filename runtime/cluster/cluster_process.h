// A cluster that runs: a process of the machine's runner, told of work through a socket and a mailbox (kdl/cluster_abi.hpp).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cluster/cluster_memory.h"
#include "core/error.h"
#include "kdl/cluster_abi.hpp"
#include "kdl/cluster_description.hpp"

namespace kdl::runtime {

class ClusterProcess {
 public:
  // Starts cluster `number` of `description.clusters` on the image that the file holds. `WaitForAll` tells when it has booted.
  static Error Start(const ClusterDescription& description, ClusterMemory& memory, int image,
                     std::int64_t number, std::unique_ptr<ClusterProcess>* started);
  ~ClusterProcess();
  ClusterProcess(const ClusterProcess&) = delete;
  ClusterProcess& operator=(const ClusterProcess&) = delete;

  // Hands it the call at `call`.
  void Ring(std::int64_t call);
  // Until all have done what they were told: at once where one dies, and after the deadline where one does not get on. They are of
  // no use any more behind an error. `what`: what they do, for messages.
  static Error WaitForAll(std::span<const std::unique_ptr<ClusterProcess>> clusters,
                          const std::string& what);

 private:
  ClusterProcess(const ClusterDescription& description, ClusterMemory& memory, std::int64_t number)
      : description_(description), memory_(memory), number_(number) {}
  Error Spawn(int image);
  kdl_cluster_mailbox& mailbox() const;
  std::string Name() const;
  std::string LastWords() const;
  void Began();
  bool GetsOn();
  Error Answer(const std::string& what);
  Error Died(const std::string& what);
  Error CheckAnswer(const std::string& what) const;

  const ClusterDescription& description_;
  ClusterMemory& memory_;
  std::int64_t number_;
  std::int64_t mailbox_ = 0;
  pid_t process_ = -1;
  int bell_ = -1;
  int life_ = -1;  // whose end ends the process, whatever it does
  int said_ = -1;  // a file with what it has written
  std::uint64_t beat_ = 0;
  std::chrono::steady_clock::time_point beaten_;  // when `beat_` was new
};

}  // namespace kdl::runtime
