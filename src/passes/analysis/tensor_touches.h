#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

/// How an op of a program accesses one of its tensor operands.
struct Touch {
  uint32_t operand;
  ir::Value* tensor;  ///< the operand, which may be a part or view of another tensor
  bool reads;
  bool writes;
};

/// Returns the tensors that the op reads or writes if the op is put into a queue or is a host access;
/// otherwise nothing.
std::vector<Touch> TouchesOf(const ir::Module& module, const ir::Op* op);

/// Returns whether the op is put into a queue. Such ops have an event.
bool IsQueued(const ir::Op* op);
/// Returns whether the op makes the host wait for the tensors that the op reads or writes.
bool IsHostAccess(const ir::Op* op);

/// Returns the event of an op that is put into a queue.
ir::Value* EventOf(const ir::Op* op);
/// Returns the events for which the op waits.
std::span<ir::Value* const> AfterOf(const ir::Op* op);
void SetAfter(ir::Op* op, std::span<ir::Value* const> events);

/// Divides the tensors of a program into classes, so that swap ops exchange only tensors of the same class. A
/// tensor may therefore occupy the memory of any other tensor in its class.
class SwapClasses {
 public:
  explicit SwapClasses(const ir::Function& program);
  /// Returns all tensors of the class that contains `tensor`.
  std::vector<const ir::Value*> MembersOf(const ir::Value* tensor) const;
  /// Returns the tensor that represents the class.
  const ir::Value* RepresentativeOf(const ir::Value* tensor) const { return MembersOf(tensor)[0]; }

 private:
  /// Classes of swapped tensors.
  std::map<const ir::Value*, std::vector<const ir::Value*>> members_;
};

}  // namespace kdl::passes
