#include "ir/packs.h"
#include "passes/analysis/pack_loops.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// check-strides: reports kernels with `strided` parameters that need the elements of a pack in the order of their
// numbers. In the code for tensors with any strides, blocks of a pack are blocks of its last dimension (expand-packs).

namespace kdl::passes {

void RunCheckStrides(PassContext& context, ir::Function& kernel) {
  if (!ir::HasStrided(kernel)) return;
  std::optional<PackFault> fault = FindOrderedUse(kernel);
  if (!fault) return;
  context.diagnostics
      .Report(diag::OrderedPack, context.SpanOf(fault->op->loc()), kernel.base_name(), fault->text)
      .Help(
          "remove `strided` and `broadcast`; launches then need tensors without gaps inside of "
          "packs");
}

}  // namespace kdl::passes
