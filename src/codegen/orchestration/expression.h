#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codegen/orchestration/syntax.h"
#include "ir/module.h"

namespace kdl::codegen {

/// How a host scalar that has a variable is called; nothing for one that is written out where it is used.
using VariableName = std::function<std::optional<std::string>(const ir::Value*)>;

/// Host scalars as expressions of a language.
class Expressions {
 public:
  Expressions(const Syntax& syntax, VariableName variable)
      : syntax_(syntax), variable_(std::move(variable)) {}

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  /// The op that makes a value: the same, without the variable that the value itself may have.
  std::string Definition(const ir::Op* op) const;

 private:
  std::string Operand(const ir::Op* op, size_t i, LiteralStyle style) const;
  std::string Apply(const ir::Op* op) const;
  std::string Compared(const ir::Op* op, const Operator& row) const;

  const Syntax& syntax_;
  VariableName variable_;
};

/// A size as an expression, which fails where the size has no value.
std::string SizeExpression(Size size, const DimName& dim, ir::Loc loc, const Syntax& syntax);

/// `"m.kdl:3:9: error: division by zero in 'a / b'"`: what a trap of the op says, quoted; empty where it has none.
std::string DivisionTrap(const ir::Op* op);

/// `m.kdl:3:9`.
std::string PlaceText(ir::Loc loc);

}  // namespace kdl::codegen
