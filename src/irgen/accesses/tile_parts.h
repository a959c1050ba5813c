#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// Generates `tile[k = e]`.
ir::Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr);
/// Returns the tile with `value` in the part that `target` names.
ir::Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* tile,
                       ir::Value* value);

}  // namespace kdl::irgen
