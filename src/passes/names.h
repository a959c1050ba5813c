#pragma once

#include "ir/op.h"
#include "support/contains.h"

namespace kdl::passes {

// What all passes speak of.
using ir::AttrKey;
using ir::AxisId;
using ir::AxisList;
using ir::Op;
using ir::OpKind;
using ir::Value;

}  // namespace kdl::passes
