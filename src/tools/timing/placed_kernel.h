#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/run/arguments.h"
#include "driver/run/host_tensor.h"
#include "driver/run/placed_program.h"
#include "kdl/runtime.h"
#include "tools/measure/ceilings.h"
#include "tools/timing/kernel_work.h"

namespace kdl::tools {

/// A kernel on a device, with its arguments there, ready to be launched any number of times. What goes wrong is in the
/// diagnostics.
class PlacedKernel {
 public:
  /// Compiles the file of the options for the device of the spec. `kernel`: an instance, `matmul.f32`.
  PlacedKernel(driver::Options options, const targets::Registry& families, std::string kernel,
               std::string spec);
  PlacedKernel(const PlacedKernel&) = delete;
  PlacedKernel& operator=(const PlacedKernel&) = delete;

  bool ok() const { return placed_.has_value(); }
  const driver::Session& session() const { return session_; }
  driver::Session& session() { return session_; }

  /// One launch, on the calling thread; returns when it is over.
  Status Run() { return placed_->Relaunch(); }

  /// `M=512 N=512`.
  std::string SizesText() const;
  const kdl_device_facts& facts() const { return facts_; }
  /// Of all launches since this was first asked; nothing: the device has no clock of its own.
  std::optional<int64_t> NanosecondsInKernels() const;
  /// Bytes of its tensors.
  const measure::Traffic& bytes() const { return bytes_; }
  const std::optional<Operations>& work() const { return work_; }
  /// Of what runs: the best level that the processor has, with the kernel's tiles chosen; null where no level is known.
  const driver::TargetCode* level() const;
  /// The kernel on a level.
  const ir::Function* On(const driver::TargetCode& level) const;
  /// By name.
  std::map<std::string, int64_t> Sizes() const;
  /// What the first launch has written; before another one.
  Result<std::vector<driver::HostTensor>> Written();

 private:
  void Make(const std::vector<driver::ArgumentSpec>& arguments);
  bool Prepare(driver::Compilation& made, const std::vector<driver::ArgumentSpec>& arguments);
  Status ReadFacts();
  void Count();

  driver::Options options_;
  std::string kernel_;
  Name instance_;
  std::string spec_;
  driver::Session session_;
  driver::Compilation compilation_;
  driver::Context context_;
  std::optional<driver::RunPlace> place_;
  const ir::Function* program_ = nullptr;  ///< that launches it once
  std::optional<driver::BoundProgram> bound_;
  std::optional<driver::PlacedProgram> placed_;
  kdl_device* device_ = nullptr;
  kdl_device_facts facts_{};
  measure::Traffic bytes_;
  std::optional<Operations> work_;
};

}  // namespace kdl::tools
