#pragma once

#include <memory>

#include "codegen/common/source_variables.h"
#include "ir/op.h"

namespace kdl::codegen {

class SourceLines;

/// Follows the variables of a function while its code is emitted.
class VariableWatch {
 public:
  virtual ~VariableWatch() = default;
  /// Must be called after the function's parameters have been loaded.
  virtual void Begin() = 0;
  /// Must be called before an op is emitted: assignments before it that no op makes take effect.
  virtual void Reach(const ir::Op* op) = 0;
  /// Must be called when the op has been emitted.
  virtual void Made(const ir::Op* op) = 0;
  /// Must be called around the code of a region.
  virtual void EnterRegion(const ir::Region* region) = 0;
  virtual void LeaveRegion() = 0;
};

/// What debuggers are told about a kernel.
struct Debugging {
  const SourceVariables* variables = nullptr;  ///< null if variables are not needed
  /// Whether variables are kept in memory, so that debuggers can always show them.
  bool keeps_variables = false;
  int stage = -1;                ///< the number of the stage that is emitted; -1: none
  bool observes_blocks = false;  ///< whether loops over blocks call `kdl_launch.block`
  SourceLines* lines = nullptr;  ///< null if no line table is wanted
  std::shared_ptr<VariableWatch>
      watch;  ///< of the current function; null if variables are neither shown nor kept
};

}  // namespace kdl::codegen
