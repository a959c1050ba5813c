#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// The affine map of an index list, and the operands to which its terms refer, each once.
struct AccessGen {
  ir::Access access;
  std::vector<ir::Value*> operands;
  std::vector<ir::AxisId> axes;  ///< of the selected elements

  uint32_t OperandNumber(ir::Value* value);
};
AccessGen GenAccess(FunctionGen& gen, const sema::IndexInfo& index);
std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, AccessGen& access, bool has_else, Span span);
/// Returns the values of an optional operand: none if `value` is null.
std::vector<ir::Value*> Optional(ir::Value* value);

/// Returns the tensor of a constant table.
ir::Value* GenTable(FunctionGen& gen, const sema::Entity* table);
/// Loads an element with the tensor's type. If the index is outside, the result is `otherwise`; if that is
/// null, it is a trap.
ir::Value* GenElement(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                      ir::Value* otherwise, Span span);
void GenElementStore(FunctionGen& gen, ir::Value* value, ir::Value* tensor,
                     const sema::IndexInfo& index);

}  // namespace kdl::irgen
