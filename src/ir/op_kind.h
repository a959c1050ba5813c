#pragma once

#include <cstddef>
#include <cstdint>

namespace kdl::ir {

/// The ops, in the order of ops.def.
enum class OpKind : uint8_t {
#define KDL_OP_SHAPE(kind, operands) kind,
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
};

inline constexpr size_t kOpCount = 0
#define KDL_OP_SHAPE(...) +1
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
    ;

}  // namespace kdl::ir
