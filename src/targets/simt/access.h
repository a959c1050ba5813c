#pragma once

#include <vector>

#include "ir/builder.h"
#include "passes/structured.h"

namespace kdl::simt {

/// A load, store or update of one element, whose operands stand for themselves: guards, masks and `else` become checks
/// and branches around an access that is inside.
struct ElementAccess {
  const ir::Op* op;
  ir::Value* tensor;
  passes::Values index;
  ir::Value* otherwise = nullptr;
  ir::Value* mask = nullptr;
};

ir::Value* ExpandLoad(ir::Builder& b, ElementAccess access);
void ExpandStore(ir::Builder& b, ElementAccess access, ir::Value* value);
void ExpandUpdate(ir::Builder& b, ElementAccess access, ir::Value* value);

}  // namespace kdl::simt
