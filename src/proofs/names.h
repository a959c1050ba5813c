#pragma once

#include "ir/op.h"
#include "support/contains.h"

namespace kdl::proofs {

// Names that all proofs use.
using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

}  // namespace kdl::proofs
