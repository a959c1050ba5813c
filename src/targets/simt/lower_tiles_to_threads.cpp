#include <algorithm>

#include "ir/op_info.h"
#include "passes/rewriting/structured.h"
#include "targets/simt/expand/expander.h"
#include "targets/simt/expand/mapped.h"
#include "targets/simt/passes.h"

// lower-tiles-to-threads: gives every tile a workgroup buffer, and distributes the elements of elementwise
// loops to the GPU threads. Outside of elementwise loops, all threads compute the same values, and only
// thread 0 performs side effects.
//
//   %t = elementwise (%i in %bi, %j in %bj) { … yield %v }
//   ->
//   %m = buffer_new : buffer<f32,[64,32]; workgroup>
//   loop %p in 0 .. size(bi) * 32 step 1 {threads} {
//     if (%p rem 32 < size(bj)) { … buffer_store %v to %m[…] } }
//
// A loop-carried tile has a single buffer. An iteration writes the new tile directly to that buffer if each
// new element depends on no old element except the one that it replaces.

namespace kdl::simt {

namespace {

/// Returns whether the op only computes scalars.
bool IsOfScalars(const Op* op) {
  return op->info().has(ir::kPure) && std::ranges::none_of(op->operands(), IsTileValue) &&
         std::ranges::none_of(op->results(), IsTileValue);
}

TileBuffers FindTileBuffers(const ir::Function& kernel) {
  return {kernel,
          [](const Op* elementwise, const AxisMap& map) { return AxisMapOf(*elementwise) == map; }};
}

}  // namespace

WorkgroupExpander::WorkgroupExpander(const PassContext& context, ir::Function& kernel,
                                     int64_t threads)
    : module_(context.module),
      kernel_(kernel),
      context_(context),
      facts_(SimtFactsOf(context)),
      threads_(threads),
      b_(context.module),
      tiles_(b_, kernel, FindTileBuffers(kernel)),
      rows_(b_),
      factor_copies_(facts_, b_, tiles_),
      block_copies_(b_, kernel, tiles_, [this](Value* old) { return Scalar(old); }) {}

void WorkgroupExpander::ExpandKernel() {
  ir::Region* old = kernel_.body;
  ir::Walk(old, [&](const Op* op) { has_maps_ |= op->HasAttr(AttrKey::Map); });
  ir::Region* body = module_.arena().Make<ir::Region>();
  body->set_function(&kernel_);
  b_.SetInsertionPoint(body);
  for (const Value* param : old->params())
    scalars_[param] = b_.AddParam(body, param->type(), param->name());
  kernel_.body = body;
  ExpandRegion(old);
  // Queries about the old ops look up the old parameters, so the parameters are replaced only now.
  for (ir::Param& param : kernel_.params) param.value = scalars_.at(param.value);
  b_.Create(OpKind::Return, {{}}, {});
  while (old->last()) ir::Erase(old->last());
}

void WorkgroupExpander::ExpandRegion(const ir::Region* region) {
  for (Op* op : *region) {
    if (op->info().has(ir::kTerminator)) break;
    b_.set_loc(op->loc());
    if (!in_elementwise_ && !factor_copies_.Takes(op) && !IsOfScalars(op)) factor_copies_.Await();
    ExpandOp(op);
  }
  if (!in_elementwise_) factor_copies_.Await();
}

void WorkgroupExpander::ExpandOp(Op* op) {
  switch (op->kind()) {
    case OpKind::MakeBlock: {
      ir::MakeBlockOp block(op);
      tiles_.SetBlock(op->result(),
                      {Scalar(block.start()), Scalar(block.size()), Scalar(block.index())});
      return;
    }
    case OpKind::BlockStart:
      scalars_[op->result()] = tiles_.FactsForBlock(op->operand(0)).start;
      return;
    case OpKind::BlockSize:
      scalars_[op->result()] = tiles_.FactsForBlock(op->operand(0)).size;
      return;
    case OpKind::BlockIndex:
      scalars_[op->result()] = tiles_.FactsForBlock(op->operand(0)).index;
      return;
    case OpKind::Elementwise:
      return ExpandElementwiseLoop(op);
    case OpKind::Contraction:
      if (products_ && products_->loop() == op->parent_region()->parent() && GroupMultiplies(op))
        return products_->Multiply(op, ResultBuffer(op, op->result()));
      if (op->HasAttr(AttrKey::Instruction))
        return ExpandMatrixProduct(b_, tiles_, op, ResultBuffer(op, op->result()));
      return ExpandProduct(b_, tiles_, op, ResultBuffer(op, op->result()), facts_.in_vectors);
    case OpKind::Reduce:
      return ExpandMappedFold(b_, tiles_, op, ResultBuffer(op, op->result()));
    case OpKind::Scan:
      return ExpandScan(op);
    case OpKind::Element:
      return ExpandElement(op);
    case OpKind::Loop:
    case OpKind::While:
      return ExpandLoop(op);
    case OpKind::If:
      return ExpandIf(op);
    case OpKind::Load:
      if (op->HasAttr(AttrKey::Copied)) return block_copies_.Load(op);
      scalars_[op->result()] = ExpandLoad(b_, NewAccess(op));
      return;
    case OpKind::Store: {
      if (op->HasAttr(AttrKey::Copied)) return block_copies_.Store(op);
      ElementAccess access = EffectAccess(op);
      return Once([&] { ExpandStore(b_, access, Scalar(op->operand(0))); });
    }
    case OpKind::Update: {
      ElementAccess access = EffectAccess(op);
      return Once([&] { ExpandUpdate(b_, access, Scalar(op->operand(0))); });
    }
    case OpKind::Print:
      return ExpandPrint(op);
    case OpKind::Stage:
      return ExpandStage(op);
    default:
      ir::Clone(op, b_, scalars_);
  }
}

ElementAccess WorkgroupExpander::NewAccess(const Op* op) const {
  ElementAccess access =
      passes::ElementAccessOf(op, [&](Value* operand) { return Scalar(operand); });
  const Op* elementwise = ElementwiseLoopAround(op);
  for (size_t d = 0; elementwise && d < op->attr<ir::AttrKey::Access>().dims.size(); ++d)
    access.in_domain.push_back(passes::WalksDimension(kernel_, elementwise, op, d));
  return access;
}

ElementAccess WorkgroupExpander::EffectAccess(const Op* op) {
  return in_elementwise_ ? NewAccess(op) : passes::Checked(b_, NewAccess(op));
}

void WorkgroupExpander::ExpandStage(const Op* op) {
  const Op* stage = b_.Create(OpKind::Stage, {}, {}, op->attrs());
  FillRegion(b_, stage->region(), [&]() -> Values {
    ExpandRegion(op->region());
    return {};
  });
}

void WorkgroupExpander::ExpandPrint(const Op* op) {
  Values values;
  Values sizes;
  for (Value* value : op->Segment(ir::PrintOp::at_values)) {
    values.push_back(IsTileValue(value) ? tiles_.BufferOf(value) : Scalar(value));
    if (!IsTileValue(value)) continue;
    for (AxisId axis : value->type()->axes) sizes.push_back(Facts(op, axis).size);
  }
  Once([&] { b_.Create(OpKind::Print, {values, sizes}, {}, op->attrs()); });
}

void RunLowerTilesToThreads(PassContext& context, ir::Function& kernel) {
  int64_t threads = SimtFactsOf(context).threads;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->HasAttr(ir::AttrKey::Map)) threads = std::max(threads, ir::ThreadsOf(ir::MapOf(*op)));
  });
  WorkgroupExpander(context, kernel, threads).ExpandKernel();
  kernel.workgroup = threads;
}

}  // namespace kdl::simt
