#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codegen/orchestration/syntax.h"
#include "ir/module.h"

namespace kdl::codegen {

/// Returns the name of the variable for a host scalar, or nullopt if the scalar's expression is printed where
/// it is used.
using VariableName = std::function<std::optional<std::string>(const ir::Value*)>;

/// Prints scalars that a program computes on the host as C or C++ expressions.
class Expressions {
 public:
  Expressions(const Syntax& syntax, VariableName variable)
      : syntax_(syntax), variable_(std::move(variable)) {}

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  /// Returns an expression that computes the op's result, even if a variable contains the result.
  std::string Definition(const ir::Op* op) const;

 private:
  std::string Operand(const ir::Op* op, size_t i, LiteralStyle style) const;
  std::string Apply(const ir::Op* op) const;
  std::string Compared(const ir::Op* op, const Operator& row) const;

  const Syntax& syntax_;
  VariableName variable_;
};

/// Returns an expression for a size. The expression fails at run time if the size is undefined, for example
/// because it divides by zero.
std::string SizeExpression(Size size, const DimName& dim, ir::Loc loc, const Syntax& syntax);

/// Returns the op's trap message in quotes, such as `"m.kdl:3:9: error: division by zero in 'a / b'"`.
/// Returns an empty string if the op cannot trap.
std::string DivisionTrap(const ir::Op* op);

/// Returns text like `m.kdl:3:9`.
std::string PlaceText(ir::Loc loc);

}  // namespace kdl::codegen
