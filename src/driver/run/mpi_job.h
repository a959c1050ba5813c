#pragma once

#include <memory>
#include <optional>

#include "driver/ranks/mpi.h"
#include "driver/ranks/transport.h"
#include "driver/run/argument_specs.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/source.h"

namespace kdl::driver {

/// The processes that an MPI launcher may have started together with this one, during the run of a program. `kernelc run` and
/// executables of `--emit exe` use it in the same way.
class MpiJob {
 public:
  /// Returns what a process reads of the files in --arg before it knows its rank. If it shares the work with others, it later
  /// reads only its own elements of distributed parameters.
  static FileContents FirstContents();

  /// Notes whether the module's programs share their work with other processes. Without this call, they may.
  void Inspect(const ir::Module& module);

  /// Returns the ranks of the module's device with ranks: those on the command line, or those that an MPI launcher has started,
  /// which all must call this. On error, reports it and returns nothing.
  std::optional<LocalRanks> FindRanks(const ir::Module& module, DiagnosticEngine& diagnostics);

  /// Warns if a launcher has started several processes, of which each computes the whole program.
  void WarnIfUnshared(const ir::Function& program, DiagnosticEngine& diagnostics) const;

  /// Decides which processes print. Call this before anything is printed, with everything that has been reported. If all processes have
  /// failed with the same errors, the first one prints them. To errors of only this process, adds a note that says so.
  void Settle(DiagnosticEngine& diagnostics, const SourceManager& sources);
  /// Returns whether this process prints its results and diagnostics.
  bool Prints() const { return prints_; }

  /// Ends MPI after everything has been printed, and returns the exit code of this process. If `code` is not 0, it also ends the
  /// other processes, which may be waiting for this one.
  int End(int code);

 private:
  std::unique_ptr<MpiProcess> mpi_;  ///< null until this process has joined the others
  bool may_share_ = true;            ///< whether this process may join others
  bool prints_ = true;
};

/// Returns the job of this process.
MpiJob& OwnMpiJob();

}  // namespace kdl::driver
