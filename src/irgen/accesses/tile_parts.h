#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates a read of `tile[k = e]`.
ir::Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr);
/// Returns a copy of the tile with `value` in the part that `target` selects.
ir::Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* tile,
                       ir::Value* value);

}  // namespace kdl::irgen
