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
  /// For Operand, the number of the operand in the op's row; for Optional, the number of the operand whose
  /// presence decides.
  size_t operand = 0;
  AttrKey key = AttrKey::Access;    ///< only for Attribute
  std::vector<FormatPiece> pieces;  ///< only for Optional
};

const std::vector<FormatPiece>& FormatOf(OpKind kind);

/// Returns whether the op's format contains the attribute. Attributes that are not in the format are
/// printed in braces after the formatted part.
bool FormatNames(OpKind kind, AttrKey key);

/// Returns the value that an attribute has where the text omits it: `static` for `distribute`, and for
/// `acc` the scalar type of the result. Returns nothing if the text always writes the attribute.
std::optional<AttrValue> DefaultOf(AttrKey key, Type first_result);

/// Returns the number of the operand, in the op's row, to which the terms of an access refer.
size_t AccessOperands(OpKind kind);

}  // namespace kdl::ir
