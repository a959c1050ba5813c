#pragma once

#include "ir/module.h"

namespace kdl::passes {

/// A copy of a kernel whose last two parameters, `first` and `end`, limit one binder of its `spmd for`.
struct PartKernel {
  ir::Function* kernel = nullptr;
  const ir::Value* first = nullptr;
  const ir::Value* end = nullptr;
};

/// Makes the copy. The kernel must have exactly one `spmd for`, at its top level. The copy keeps the other elements of the
/// tensors that it writes:
///
///   kernel @relax(%x in, %y out)                              spmd (%i: block<i> in 0 .. %M)
///   -> kernel @relax_part(%x in, %y inout, %first, %end)      spmd (%i: block<i> in %first .. %end)
PartKernel MakePartKernel(ir::Module& module, const ir::Function& kernel, size_t binder);

}  // namespace kdl::passes
