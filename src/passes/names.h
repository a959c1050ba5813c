#pragma once

#include "ir/op.h"
#include "support/contains.h"

namespace kdl::passes {

// Names from `ir` that all passes use.
using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

}  // namespace kdl::passes
