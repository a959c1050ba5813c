#pragma once

#include "irgen/walk/function_gen.h"

namespace kdl::irgen {

ir::Value* GenLoad(FunctionGen& gen, const syntax::IndexExpr& expr);
/// Returns the store; in programs, null.
ir::Op* GenStore(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value,
                 ir::Value* mask);
/// Generates `atomic t[…] op value` or `reduce t[…] op value`, depending on `scope`.
void GenUpdateOf(FunctionGen& gen, const syntax::IndexExpr& target, ir::Value* value,
                 ir::Value* mask, ir::UpdateKind how, ir::ScopeKind scope);

}  // namespace kdl::irgen
