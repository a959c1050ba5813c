#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// What an op of a program does to one of its tensor operands.
struct Touch {
  uint32_t operand;
  ir::Value* tensor;  ///< as the op has it: a part or view too
  bool reads;
  bool writes;
};

/// Of what queues are given and of what the host does; nothing of other ops.
std::vector<Touch> TouchesOf(const ir::Module& module, const ir::Op* op);

/// Whether the op is given to a queue: it has an event.
bool IsQueued(const ir::Op* op);
/// Whether the host waits for what the op reads or writes.
bool IsHostAccess(const ir::Op* op);

/// The event of what a queue is given.
ir::Value* EventOf(const ir::Op* op);
/// The events that it waits for.
std::span<ir::Value* const> AfterOf(const ir::Op* op);
void SetAfter(ir::Op* op, std::span<ir::Value* const> events);

/// Tensors of a program that swaps exchange: each may come to be in the memory of any other of its class.
class SwapClasses {
 public:
  explicit SwapClasses(const ir::Function& program);
  /// The tensor and those that may be in its memory.
  std::vector<const ir::Value*> MembersOf(const ir::Value* tensor) const;
  /// One tensor of the class, the same for all of it.
  const ir::Value* Of(const ir::Value* tensor) const { return MembersOf(tensor)[0]; }

 private:
  std::map<const ir::Value*, std::vector<const ir::Value*>> members_;  ///< of what is swapped
};

}  // namespace kdl::passes
