#include "ir/op_kind.h"
#include "ir/verify/verifier.h"
#include "passes/diagnostics.h"
#include "passes/remarks.h"
#include "passes/rewriting/rewrite.h"
#include "support/check.h"
#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/analysis/loop_cost.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/passes.h"

// expand-tiles: turns elementwise loops, reductions and contractions into loops of scalar and vector ops,
// which keep tiles in scratch memory. The pass rebuilds the kernel's body; the folder expand/ has a file for
// each kind of op.

namespace kdl::cpu {

namespace {

/// Checks that no panel is narrower than a vector, because vectors are loaded from tile buffers, and stored
/// to them, as a whole.
bool PanelsHoldVectors(PassContext& context, const KernelShape& shape) {
  bool hold = true;
  for (const ir::Op* op : passes::OpsOfKind(shape.function, ir::OpKind::TileBuffer)) {
    ir::Type type = op->result()->type();
    int64_t lanes = shape.LanesAlong(type->axes.back(), Bytes(type->scalar));
    if (type->panel == 0 || type->group > 1 || type->panel >= lanes) continue;
    context.diagnostics.Report(passes::diag::NarrowPanel, context.SpanOf(op->loc()),
                               op->result()->name().text(), type->panel, lanes);
    hold = false;
  }
  return hold;
}

/// Checks that the reductions in elementwise loops operate on vectors.
bool ElementwiseFoldsVectors(PassContext& context, const KernelShape& shape) {
  bool fold = true;
  for (const ir::Op* op : passes::OpsOfKind(shape.function, ir::OpKind::ReduceInLoop)) {
    const ir::Op* elementwise = op->parent_region()->parent();
    if (LastAxis(elementwise).Vectorizes()) continue;
    context.diagnostics.Report(passes::diag::FoldByElements, context.SpanOf(elementwise->loc()));
    fold = false;
  }
  return fold;
}

}  // namespace

void RunExpandTiles(PassContext& context, ir::Function& kernel) {
  KernelShape shape{kernel, ProcessorFactsOf(context), AxisOrder(kernel)};
  if (!PanelsHoldVectors(context, shape) || !ElementwiseFoldsVectors(context, shape)) return;
  if (context.remarks) context.remarks->SetWork(kernel.name, LeastCycles(shape));
  ir::Region* old = kernel.body;
  ir::Region* body = context.module.arena().Make<ir::Region>();
  body->set_function(&kernel);
  Expander expander{
      shape, context, context.module, ir::Builder(context.module, body), {}, {}, {}, {},
      {},    {},      Rereads(kernel)};
  for (const ir::Value* param : old->params()) {
    expander.scalars[param] = expander.b.AddParam(body, param->type(), param->name());
  }
  for (ir::Param& param : kernel.params) param.value = expander.scalars.at(param.value);
  kernel.body = body;
  ExpandRegion(expander, old);
  expander.b.Create(ir::OpKind::Return, {{}}, {});
  while (old->last()) ir::Erase(old->last());
}

}  // namespace kdl::cpu
