#pragma once

#include <memory>

#include "ir/module.h"

namespace kdl::interp {

/// Returns a module with a copy of the kernel, and of the fns that it calls, in which every float is an f64. The copy has
/// the same regions and ops in the same order, except that a call of a function such as `exp` is one op. It is only for
/// the interpreter.
std::unique_ptr<ir::Module> Widen(const ir::Module& module, const ir::Function& kernel);

/// Returns whether the op calls a function of the language, such as `exp`, that `Widen` replaces by one op.
bool CallsMath(const ir::Op& op);

}  // namespace kdl::interp
