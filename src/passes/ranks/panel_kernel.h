#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"
#include "passes/ranks/part_kernel.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// A tensor that keeps what a loop carries from one launch to the next.
struct KeptTensor {
  Name name;
  Scalar scalar = Scalar::F32;
};

/// A copy of a kernel that runs only some iterations of the loop in its blocks, so that ranks need only what these iterations
/// read at the same time:
///
///   kernel @product(%a in, %b in, %c out)
///     spmd (%i, %j) { %acc = for %k in 0 .. %K carries 0 { … } ; store %acc to %c[%i, %j] }
///   -> kernel @product_panel_i_j(%a in, %b in, %c inout, … %from, %to, %acc_kept inout)
///        spmd (%i, %j) {
///          %before = if %from == 0 { 0 } else { load %acc_kept[%i, %j] }
///          %acc = for %k in %from .. %to carries %before { … }
///          if %to == %K { store %acc to %c[%i, %j] } else { store %acc to %acc_kept[%i, %j] } }
struct PanelKernel {
  PartKernel part;  ///< its parameters end with `iterations` and the kept tensors
  proofs::KernelPart iterations;
  Size size = nullptr;  ///< how many iterations the loop has, in the sizes of the kernel
  int64_t multiple =
      1;            ///< where the iterations may begin and end: a multiple, or the end of the loop
  size_t like = 0;  ///< the parameter that has the sizes of the kept tensors and their distribution
  std::vector<KeptTensor> kept;
};

/// Makes the copy of a producer (passes/fusion/producer.h), in which parameters also limit these binders. Returns nothing if its
/// blocks do not have such a loop, if the results depend on where its blocks begin, or if what is before it would be
/// computed again.
std::optional<PanelKernel> MakePanelKernel(ir::Module& module, const ir::Function& kernel,
                                           const std::vector<size_t>& binders);

}  // namespace kdl::passes
