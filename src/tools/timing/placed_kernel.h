#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/run/arguments.h"
#include "driver/run/host_tensor.h"
#include "driver/run/placed_program.h"
#include "kdl/runtime.h"
#include "passes/remarks.h"
#include "tools/loading/load.h"
#include "tools/measure/ceilings.h"
#include "tools/timing/kernel_work.h"

namespace kdl::tools {

/// A kernel or a program on a device, with its arguments in the device's memory, so that it can run many
/// times. Errors are reported to the session's diagnostics.
class PlacedKernel {
 public:
  /// Compiles the file that the options name for the device of `spec`. `kernel` is the name of an
  /// instance, such as `matmul.f32`. If the options name a program, that is what runs. Writes the outputs
  /// of the first run to the files of --out. `schedules` are used instead of those of --tuned.
  PlacedKernel(driver::Options options, const targets::Registry& families, std::string kernel,
               std::string spec, std::shared_ptr<driver::ScheduleFile> schedules = nullptr);
  PlacedKernel(const PlacedKernel&) = delete;
  PlacedKernel& operator=(const PlacedKernel&) = delete;

  bool ok() const { return placed_.has_value(); }
  const driver::Session& session() const { return session_; }
  driver::Session& session() { return session_; }

  /// Launches the kernel once on the calling thread, or runs the program, and waits until it has finished.
  Status Launch() { return is_program_ ? placed_->RunProgram() : placed_->Relaunch(); }
  /// Whether a run changes arguments on which the next one depends, so that Restore is needed before it.
  bool ChangesArguments() const { return is_program_ && bytes_.changed > 0; }
  /// Gives the arguments of a program their first values, and frees what earlier runs have left.
  Status Restore() { return is_program_ ? placed_->Restore(*before_) : Status(); }

  /// Returns text such as `M=512 N=512`.
  std::string SizesText() const;
  const kdl_device_facts& facts() const { return facts_; }
  /// Returns the total time of all launches since the first call of this function. Returns nothing
  /// if the device has no clock.
  std::optional<int64_t> NanosecondsInKernels() const;
  /// Returns the numbers of bytes in the kernel's tensors, by how the kernel accesses them.
  const measure::Traffic& bytes() const { return bytes_; }
  /// Returns the number of bytes in the tensors of all launches. For a kernel, this is bytes().all().
  double moved() const { return moved_; }
  const std::optional<Operations>& work() const { return work_; }
  /// Returns the code that runs: the code for the best level of the processor, after the kernel's
  /// tile sizes are chosen. Returns null if no level is known.
  const driver::TargetCode* level() const;
  /// Returns the kernel in the code of the given level.
  const ir::Function* On(const driver::TargetCode& level) const { return On(level, instance_); }
  /// Returns the costliest remark about the code that runs, such as `9:14: 'x[i]' is … [R1001]`. Returns an
  /// empty string if there is none.
  std::string WorstRemark() const;
  /// Returns the remarks about the code that runs. The costliest one comes first.
  std::vector<passes::Remark> Remarks() const;
  /// Returns the contents of the file with the linked code. It is only kept for --annotate.
  const std::string& image() const { return image_.bytes; }
  /// Returns the path from which the linked code was loaded.
  const std::string& image_path() const { return image_.path; }
  /// Returns the text of the file that was compiled.
  /// It is empty if that is not known, as for KIR without locations.
  std::string_view source() const {
    Span kernel = session_.sources.FindSpan(where_.file.text(), where_.line, 1, 0);
    return kernel.valid() ? session_.sources.text(kernel.file) : std::string_view();
  }
  /// Returns the line of the kernel, or of the program, in this file.
  uint32_t line() const { return where_.line; }
  /// Whether debug information means this file by a path.
  bool IsSource(std::string_view path) const { return path == where_.file.text(); }
  /// Returns the values of the sizes, keyed by name.
  std::map<std::string, int64_t> Sizes() const;
  /// Returns the tensors that the first launch wrote. Call this before any other launch.
  Result<std::vector<driver::HostTensor>> Written();

 private:
  void Make(const std::vector<driver::ArgumentSpec>& arguments);
  bool Prepare(driver::Compilation& made, const std::vector<driver::ArgumentSpec>& arguments);
  bool PrepareProgram(driver::Compilation& made,
                      const std::vector<driver::ArgumentSpec>& arguments);
  Status ReadFacts();
  Status WriteOutputs();
  void CountBytes();
  void Count();
  void CountLaunches();
  void Observe(const interp::LaunchRequest& request);
  static const ir::Function* On(const driver::TargetCode& level, Name kernel);

  driver::Options options_;
  std::string kernel_;
  Name instance_;
  std::string spec_;
  driver::Session session_;
  driver::Compilation compilation_;
  LoadedImage image_;
  ir::Loc where_;  ///< of the kernel or the program
  driver::Context context_;
  std::optional<driver::RunPlace> place_;
  const ir::Function* program_ = nullptr;  ///< the program, or one that launches the kernel once
  bool is_program_ = false;
  std::optional<driver::BoundProgram>
      before_;  ///< of a program, its arguments before the first run
  /// The number of launches of a program, by kernel and sizes.
  std::map<std::pair<Name, std::map<Name, int64_t>>, int64_t> launches_;
  std::optional<driver::BoundProgram> bound_;
  std::optional<driver::PlacedProgram> placed_;
  kdl_device* device_ = nullptr;
  kdl_device_facts facts_{};
  measure::Traffic bytes_;
  double moved_ = 0;
  std::optional<Operations> work_;
};

}  // namespace kdl::tools
