#pragma once

#include <cstdint>
#include <vector>

#include "sema/model/entity.h"
#include "support/size.h"
#include "syntax/ast.h"

namespace kdl::sema {

struct CheckedFunction;

/// A dimension of a launch argument that must match when the kernel is launched. There is no check if both
/// sizes are the same.
struct DimCheck {
  uint32_t param = 0;
  uint32_t dim = 0;
  Size formal = nullptr;  ///< expressed by the caller's sizes
  Size actual = nullptr;
};
struct GenericBinding {
  const Entity* generic = nullptr;  ///< an IntGeneric of the callee
  Size value = nullptr;             ///< expressed by the caller's sizes; null means `auto`
};
/// A launch `spmd(core_num = n) on d.queue(0) kernel<…>(args);`, or a call of a program, whose arguments
/// are bound in the same way.
struct LaunchInfo {
  const CheckedFunction* kernel = nullptr;
  std::vector<const syntax::Expr*> args;  ///< one for each parameter; a tensor is a Name or a slice
  std::vector<const Entity*> moves;       ///< for each parameter: the device after `to`, or null
  /// For each parameter: the sizes of its argument after dimensions have been merged to packs. Empty if nothing is
  /// merged.
  std::vector<std::vector<Size>> merged;
  std::vector<GenericBinding> generics;  ///< those that the call gives, by name or by a size
  std::vector<Size> dims;  ///< the values of kernel->dims, expressed by the caller's sizes
  std::vector<DimCheck> checks;
  const syntax::Expr* core_num = nullptr;  ///< null means that it is chosen automatically
  const Entity* device = nullptr;          ///< null means the default device
  std::vector<const syntax::Expr*> queues;
};

/// A call `copy(from, to);` or `swap(a, b);`.
struct TensorCallInfo {
  bool swaps = false;
  const syntax::Expr* from = nullptr;  ///< `from` and `to` look like tensor arguments of a launch
  const syntax::Expr* to = nullptr;
};

}  // namespace kdl::sema
