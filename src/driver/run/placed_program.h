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

/// A program whose arguments lie in its devices' memory, to be run any number of times. Place and program outlive it.
class PlacedProgram {
 public:
  PlacedProgram(const RunPlace& place, const ir::Function& program, RunMemory memory)
      : place_(place), program_(program), memory_(memory) {}

  /// Chooses the devices, and brings the arguments there. Before anything else, once.
  Status Place(const BoundProgram& bound);
  /// Walks the program and waits for all that it has started.
  Status Run() { return executor_->Run(program_, arguments_); }
  /// Runs the program's last launch again, and nothing else; after Run.
  Status Relaunch() { return executor_->Relaunch(); }
  /// What the tensors hold that the program writes.
  Status TakeBack(BoundProgram& bound) const;

 private:
  /// As many on either side of a tensor.
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
