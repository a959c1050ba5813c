#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace kdl::ir {

/// A piece of an op's `format` (ops.def). The printer and the parser both follow these pieces.
struct FormatPiece {
  enum class Kind { Literal, Operand, Attribute, Optional };
  Kind kind;
  std::string_view literal;  ///< only for Literal
  /// For Operand, its number in the row; for Optional, the number of the operand that decides.
  size_t operand = 0;
  AttrKey key = AttrKey::Access;    ///< only for Attribute
  std::vector<FormatPiece> pieces;  ///< only for Optional
};

const std::vector<FormatPiece>& FormatOf(OpKind kind);

/// Returns whether the format contains the attribute; all other attributes follow in braces.
bool FormatNames(OpKind kind, AttrKey key);

/// The value of an attribute that the text leaves out: `distribute = static`, and `acc` where it is the result's type.
/// Nothing: the text writes the attribute wherever the op has it.
std::optional<AttrValue> DefaultOf(AttrKey key, Type first_result);

/// Returns the number of the row's operand to which the terms of an access refer.
size_t AccessOperands(OpKind kind);

}  // namespace kdl::ir
