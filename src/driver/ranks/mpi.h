#pragma once

#include <cstdint>
#include <memory>

#include "driver/ranks/transport.h"
#include "support/result.h"

namespace kdl::driver {

/// A process that an MPI launcher such as `mpirun` has started together with others.
class MpiProcess {
 public:
  /// Returns whether the environment says that a launcher has started this process.
  static bool IsLaunched();
  /// Compiles the functions that call MPI with the launcher's `mpicc`, loads them and initializes MPI. All processes of the
  /// launcher must call this. At most one object can exist in the lifetime of a process.
  static Result<std::unique_ptr<MpiProcess>> Join();
  ~MpiProcess();
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  int64_t rank() const { return transport_.rank; }
  int64_t count() const { return transport_.count; }
  const kdl_transport& transport() const { return transport_; }

  /// Ends all processes of the launcher, if there is one: for a process that has failed before it has called Join, while others
  /// wait for it there.
  static void EndJob(int code);
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
