#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// The affine map of an index list and the operands that its terms name, each once.
struct AccessGen {
  ir::Access access;
  std::vector<ir::Value*> operands;
  std::vector<ir::AxisId> axes;  ///< of the elements that it selects

  uint32_t OperandNumber(ir::Value* value);
};
AccessGen GenAccess(FunctionGen& gen, const sema::IndexInfo& index);
std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, AccessGen& access, bool has_else, Span span);
/// Of what an op may lack.
std::vector<ir::Value*> Optional(ir::Value* value);

/// The tensor of a constant table.
ir::Value* GenTable(FunctionGen& gen, const sema::Entity* table);
/// The element, as it lies in memory; an index outside gives `otherwise`, or a trap where that is null.
ir::Value* GenElement(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                      ir::Value* otherwise, Span span);
void GenElementStore(FunctionGen& gen, ir::Value* value, ir::Value* tensor,
                     const sema::IndexInfo& index);

}  // namespace kdl::irgen
