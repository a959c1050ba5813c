#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "driver/run/arguments.h"
#include "driver/run/executor.h"
#include "driver/run/run_place.h"
#include "kdl/runtime.h"

namespace kdl::driver {

/// A program whose arguments are in the memory of its devices, so that it can run many times. The
/// RunPlace and the program must outlive this object.
class PlacedProgram {
 public:
  PlacedProgram(const RunPlace& place, const ir::Function& program, RunMemory memory)
      : place_(place), program_(program), memory_(memory) {}

  /// Selects the devices and copies the arguments to them. Call this once, before all other
  /// functions.
  Status Place(const BoundProgram& bound);
  /// Runs the program and waits for all operations that it has started.
  Status RunProgram() { return executor_->RunProgram(program_, arguments_); }
  /// Gives the arguments that the program changes their values of `bound` again, and frees what earlier
  /// runs have left.
  Status Restore(const BoundProgram& bound);
  /// Repeats only the last launch of the program. Call this after RunProgram.
  Status Relaunch() { return executor_->Relaunch(); }
  /// Copies the tensors that the program has written from the devices to `bound`.
  Status TakeBack(BoundProgram& bound) const;
  /// The executor, which exists after Place.
  Executor& executor() { return *executor_; }

 private:
  /// Returns the number of guard bytes on each side of a tensor.
  size_t GuardBytes(const BoundArgument& argument) const;
  Status Allocate(kdl_device* device, const BoundArgument& argument, kdl_array& array) const;
  Status SelectDevices();
  Status MoveIn(const BoundProgram& bound);
  Status Fill(const BoundArgument& argument, const kdl_array& array) const;

  const RunPlace& place_;
  const ir::Function& program_;
  RunMemory memory_;
  std::map<Name, kdl_device*> devices_;
  std::optional<Executor> executor_;
  interp::ProgramArguments arguments_;
};

}  // namespace kdl::driver
