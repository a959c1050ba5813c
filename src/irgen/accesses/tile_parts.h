#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Returns an index outside of contracts: the sum of the offset and all terms, an i64 or a tile of i64.
ir::Value* GenIndexValue(FunctionGen& gen, const sema::IndexDim& dim);
/// Generates a read of `tile[k = e]`.
ir::Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr);
/// Returns a copy of the tile with `value` in the part that `target` selects.
ir::Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* tile,
                       ir::Value* value);

}  // namespace kdl::irgen
