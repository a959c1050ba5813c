#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "driver/ranks/transport.h"
#include "support/result.h"

namespace kdl::driver {

/// A process that an MPI launcher such as `mpirun` has started together with others.
class MpiProcess {
 public:
  /// Returns whether the environment says that a launcher has started this process.
  static bool IsLaunched();
  /// What the environment says about a process that a launcher has started.
  struct Launched {
    int64_t rank;
    int64_t count;  ///< of processes; 0 if the launcher does not say it
  };
  /// Returns nothing if no launcher has started this process.
  static std::optional<Launched> FindLaunched();
  /// Compiles the functions that call MPI with the launcher's `mpicc`, loads them and initializes MPI. All processes of the
  /// launcher must call this. At most one object can exist in the lifetime of a process.
  static Result<std::unique_ptr<MpiProcess>> Join();
  ~MpiProcess();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int64_t rank() const { return transport_.rank; }
  int64_t count() const { return transport_.count; }
  const kdl_transport& transport() const { return transport_; }

  /// Joins the processes of the launcher, for a process that has failed before, while others may wait for it. Returns null if that is
  /// not possible. If not all processes join within a minute, because they have ended or run something else, calls `print`, and
  /// ends the job.
  static std::unique_ptr<MpiProcess> JoinFailed(const std::function<void()>& print);
  /// Ends this process by a signal, so that the launcher also ends the others.
  static void EndBySignal();
  /// Whether all processes have failed with the same errors, of which this is a checksum. In other processes than the first one: whether the
  /// first one has. Waits for them for a second. Afterwards, this process must call Abort.
  bool SharesFailure(uint64_t errors) const;
  /// Waits until all processes call it.
  Status Close();
  /// Ends all processes of the launcher. Other processes may be waiting for this one, so a process that has failed must
  /// call this instead of Close.
  [[noreturn]] void Abort(int code);

 private:
  struct Functions;
  explicit MpiProcess(std::unique_ptr<Functions> functions);
  Status StatusOfCode(int code, const char* what) const;
  kdl_error* ErrorOfCode(int code, const char* what) const;

  std::unique_ptr<Functions> functions_;
  kdl_transport transport_;
};

}  // namespace kdl::driver
