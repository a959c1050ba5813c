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
  /// For Operand, the number of the operand in the op table. For Optional, the number of the operand that
  /// must be present for the piece to be printed.
  size_t operand = 0;
  AttrKey key = AttrKey::Access;    ///< only for Attribute
  std::vector<FormatPiece> pieces;  ///< only for Optional
};

const std::vector<FormatPiece>& FormatOf(OpKind kind);

/// Returns whether the op's format contains the attribute. Attributes that are not in the format are
/// printed in braces after the formatted part.
bool FormatNames(OpKind kind, AttrKey key);

/// Returns the value of an attribute that is not in the text: `static` for `distribute`, and the scalar type
/// of the result for `acc`. Returns nothing if the text always contains the attribute.
std::optional<AttrValue> DefaultOf(AttrKey key, Type first_result);

/// Returns the number, in the op table, of the operand to which the terms of an access refer.
size_t AccessOperands(OpKind kind);

}  // namespace kdl::ir
