#pragma once

#include <string_view>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// Returns a name for a kernel that is made from another one: that of the kernel with the ending, a number if it is taken, and
/// with the types after the dot.
Name DerivedName(const ir::Module& module, const ir::Function& kernel, std::string_view ending);

/// Adds an i64 parameter to a kernel.
Value* AddNumber(ir::Module& module, ir::Function& kernel, std::string_view name);

/// A copy of a kernel whose last parameters limit binders of its `spmd for`.
struct PartKernel {
  ir::Function* kernel = nullptr;
  std::vector<proofs::KernelPart> parts;  ///< the parameters for each limited binder
};

/// Returns whether parameters can limit the binder of a loop: it begins at 0, and ends at a size
/// or a parameter of the kernel.
bool CanLimit(const Op* loop, size_t binder);

/// Limits the binder. Returns the new parameters, which must be a part of the indices that it had.
proofs::KernelPart LimitBinder(ir::Module& module, ir::Function& kernel, Op* loop, size_t binder);

/// Makes the copy, in which two parameters limit each of the binders. The kernel must have exactly one `spmd for`, at its top
/// level. The copy keeps the other elements of the tensors that it writes:
///
///   kernel @relax(%x in, %y out)                              spmd (%i: block<i> in 0 .. %M)
///   -> kernel @relax_part_i(%x in, %y inout, %first, %end)    spmd (%i: block<i> in %first .. %end)
///
/// The binders are part of the name, so that it does not depend on which other copies the module has.
PartKernel MakePartKernel(ir::Module& module, const ir::Function& kernel,
                          const std::vector<size_t>& binders, std::string_view ending = "part");

}  // namespace kdl::passes
