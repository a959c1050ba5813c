#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns what -D gives for a generic parameter of a function, or null.
const Define* FindDefine(const ModuleState& module, const syntax::FunctionItem& function,
                         Name name);

/// Returns whether the header declares the function, so that it is needed for all of its types.
bool IsHeaderItem(const ModuleState& module, const FunctionGroup& group);

}  // namespace kdl::sema
