#include "passes/analysis/mapped_axes.h"

namespace kdl::passes {

AxisList MappedAxes::AxesOf(const Value* value) const {
  auto found = known_.find(value);
  return found != known_.end() ? found->second : outside_(value);
}

/// What the region makes has the axes of what it is made of.
void MappedAxes::Flow(const ir::Block* region) {
  for (const Op* op : *region) {
    if (op->kind() == ir::OpKind::While) {
      Study(op);
      continue;
    }
    AxisList axes;
    for (const Value* operand : op->operands()) axes = ir::UnionAxes(axes, AxesOf(operand));
    for (const Value* result : op->results()) known_[result] = axes;
  }
}

void MappedAxes::Study(const Op* loop, const AxisList& condition) {
  const ir::Block* region = loop->region();
  for (const Value* param : region->params()) known_[param] = {};
  known_[region->param(0)] = condition;
  for (bool grown = true; grown;) {
    grown = false;
    Flow(region);
    AxisList all;
    for (const Value* param : region->params()) all = ir::UnionAxes(all, known_[param]);
    for (size_t i = 0; i < region->params().size(); ++i) {
      AxisList& axes = known_[region->param(i)];
      AxisList wider = ir::UnionAxes(axes, AxesOf(loop->operand(i)));
      wider = ir::UnionAxes(wider, AxesOf(region->terminator()->operand(i)));
      wider = ir::UnionAxes(wider, known_[region->param(0)]);
      if (!loop->result(i)->uses().empty()) wider = ir::UnionAxes(wider, all);
      grown = grown || wider != axes;
      axes = wider;
    }
  }
  for (size_t i = 0; i < loop->results().size(); ++i)
    known_[loop->result(i)] = known_[region->param(i)];
}

}  // namespace kdl::passes
