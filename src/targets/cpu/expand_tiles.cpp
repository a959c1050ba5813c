#include "ir/verifier.h"
#include "support/check.h"
#include "targets/cpu/expand/expander.h"
#include "targets/cpu/passes.h"

// expand-tiles: a kernel of nests, reductions and contractions becomes loops over scalars and scratch. The body is
// rebuilt: the folder expand/ holds a file for each kind of op.

namespace kdl::cpu {

void RunExpandTiles(PassContext& context, ir::Function& kernel) {
  ir::Block* old = kernel.body;
  ir::Block* body = context.module.arena().Make<ir::Block>();
  body->set_function(&kernel);
  Expander expander{{kernel, FactsOf(context), AxisOrder(kernel)},
                    context.module,
                    ir::Builder(context.module, body),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {},
                    {},
                    Rereads(kernel)};
  for (const ir::Value* param : old->params()) {
    expander.scalars[param] = expander.b.AddParam(body, param->type(), param->name());
  }
  for (ir::Param& param : kernel.params) param.value = expander.scalars.at(param.value);
  kernel.body = body;
  ExpandBlock(expander, old);
  expander.b.Create(ir::OpKind::Return, {{}}, {});
  while (old->last()) ir::Erase(old->last());
}

}  // namespace kdl::cpu
