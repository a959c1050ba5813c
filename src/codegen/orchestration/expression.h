#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/module.h"

namespace kdl::codegen {

/// How a host scalar that has a variable is called; nothing for one that is written out where it is used.
using VariableName = std::function<std::optional<std::string>(const ir::Value*)>;

/// The op that makes `value` as a C++ expression. `Typed` has exactly the value's type, also for a literal.
enum class LiteralStyle : uint8_t { Plain, Typed };
std::string Expression(const ir::Value* value, const VariableName& variable, LiteralStyle style);
/// The same, without the variable that `value` itself may have.
std::string Definition(const ir::Op* op, const VariableName& variable);

/// A size as an std::int64_t expression, which throws where the size has no value.
std::string SizeExpression(Size size, const std::function<std::string(Name)>& dim, ir::Loc loc);

/// `m.kdl:3:9`.
std::string PlaceText(ir::Loc loc);

/// `"m.kdl:3:9: error: division by zero in 'a / b'"`: what a trap of the op says.
std::string DivisionTrap(const ir::Op* op);

}  // namespace kdl::codegen
