#pragma once

#include "ir/op.h"
#include "support/contains.h"

namespace kdl::proofs {

// What all proofs speak of.
using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

}  // namespace kdl::proofs
