#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

/// `tile[k = e]`.
ir::Value* GenTilePart(FunctionGen& gen, const syntax::IndexExpr& expr);
/// The tile with `value` in the part that `target` names.
ir::Value* GenWithPart(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* tile,
                       ir::Value* value);

}  // namespace kdl::irgen
