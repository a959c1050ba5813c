#pragma once

#include <vector>

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// An index list as an affine map, and the operands to which the terms of the map refer, without duplicates.
struct AccessGen {
  ir::Access access;
  std::vector<ir::Value*> operands;
  std::vector<ir::AxisId> axes;  ///< axes of the resulting tile

  uint32_t OperandNumber(ir::Value* value);
};
AccessGen GenAccess(FunctionGen& gen, const sema::IndexInfo& index);
std::vector<ir::Attr> AccessAttrs(FunctionGen& gen, AccessGen& access, bool has_else, Span span);
/// Returns a list with `value`, or an empty list if `value` is null.
std::vector<ir::Value*> Optional(ir::Value* value);

/// Returns the tensor that contains the elements of a constant table.
ir::Value* GenTable(FunctionGen& gen, const sema::Entity* table);
/// Loads an element. The result has the tensor's scalar type. If the index is out of bounds, the result is
/// `otherwise`; if that is null, the load traps.
ir::Value* GenElement(FunctionGen& gen, ir::Value* tensor, const sema::IndexInfo& index,
                      ir::Value* otherwise, Span span);
void GenElementStore(FunctionGen& gen, ir::Value* value, ir::Value* tensor,
                     const sema::IndexInfo& index);

}  // namespace kdl::irgen
