#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/compile/schedule_use.h"
#include "driver/options.h"
#include "targets/registry.h"
#include "tools/tuning/search.h"

namespace kdl::tools {

/// A kernel on one level of a target, lowered to loops.
struct LoweredKernel {
  std::string failure;    ///< the first error; empty if there is none
  std::string code;       ///< as text
  driver::Tiles options;  ///< values of the options of passes, such as `pack-late.blocks`
};

/// How a kernel may be compiled without changing its results.
class Space {
 public:
  /// `spec` means only one level of a target, of which `threads` threads run the kernel (0: not on the host). `options` have
  /// no --tuned. On error, reports it to `diagnostics` and returns nothing.
  static std::optional<Space> Find(const driver::Options& options,
                                   const targets::Registry& families, const std::string& kernel,
                                   const std::string& spec, int threads,
                                   DiagnosticEngine& diagnostics);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  /// The values of `auto` constants that the target's selector chooses.
  const driver::Tiles& selector() const { return selector_; }
  const std::string& source() const { return source_; }  ///< the hash of the kernel
  const LoweredKernel& start() const { return start_; }

  /// Returns the options of the command with which a choice is compiled, and the schedule.
  driver::Options OptionsFor(driver::Options options, const Choice& choice) const;
  std::shared_ptr<driver::ScheduleFile> ScheduleFor(const Choice& choice) const;
  LoweredKernel Lower(const Choice& choice) const;
  /// Returns what differs from the start, such as `BM=64 pack-late.blocks=8`.
  std::string ChangesText(const Choice& choice) const;

 private:
  Space(const driver::Options& options, const targets::Registry& families, std::string kernel,
        const std::string& spec);
  void AddOptions(const driver::TargetCode& code, int threads);
  const driver::TargetCode* CodeIn(const driver::Compilation& made) const;
  LoweredKernel LoweredFrom(driver::Session& session, const driver::Compilation& made) const;

  driver::Options options_;
  const targets::Registry* families_;
  std::string kernel_;
  std::string level_;
  std::string source_;
  driver::Tiles selector_;
  std::vector<Dimension> dimensions_;
  LoweredKernel start_;
};

/// Returns the first line of a message.
std::string FirstLine(const std::string& text);
/// Returns the first line of the first error.
std::string FirstError(const DiagnosticEngine& diagnostics);

}  // namespace kdl::tools
