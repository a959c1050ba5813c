#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codegen/orchestration/syntax.h"
#include "ir/module.h"

namespace kdl::codegen {

/// Returns the name of a host scalar's variable, or nothing if the scalar is written out where it is used.
using VariableName = std::function<std::optional<std::string>(const ir::Value*)>;

/// Prints host scalars as expressions.
class Expressions {
 public:
  Expressions(const Syntax& syntax, VariableName variable)
      : syntax_(syntax), variable_(std::move(variable)) {}

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  /// Returns the expression that an op computes, even if its value has a variable.
  std::string Definition(const ir::Op* op) const;

 private:
  std::string Operand(const ir::Op* op, size_t i, LiteralStyle style) const;
  std::string Apply(const ir::Op* op) const;
  std::string Compared(const ir::Op* op, const Operator& row) const;

  const Syntax& syntax_;
  VariableName variable_;
};

/// Returns a size as an expression, which fails at run time if the size has no value.
std::string SizeExpression(Size size, const DimName& dim, ir::Loc loc, const Syntax& syntax);

/// Returns the op's trap message, quoted: `"m.kdl:3:9: error: division by zero in 'a / b'"`. Empty if it cannot trap.
std::string DivisionTrap(const ir::Op* op);

/// Returns text like `m.kdl:3:9`.
std::string PlaceText(ir::Loc loc);

}  // namespace kdl::codegen
