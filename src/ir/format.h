#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/op.h"

namespace kdl::ir {

/// A piece of an op's `format` (ops.def); printer and parser walk the same pieces.
struct FormatPiece {
  enum class Kind { Literal, Operand, Attribute, Optional };
  Kind kind;
  std::string_view literal;         ///< Literal
  size_t operand = 0;               ///< Operand: the row's operand; Optional: that which decides
  AttrKey key = AttrKey::Access;    ///< Attribute
  std::vector<FormatPiece> pieces;  ///< Optional
};

const std::vector<FormatPiece>& FormatOf(OpKind kind);

/// Whether the format names the attribute; the others follow in braces.
bool FormatNames(OpKind kind, AttrKey key);

/// The value of an attribute that the text leaves out: `distribute = static`, and `acc` where it is the result's type.
/// Nothing: the text writes the attribute wherever the op has it.
std::optional<AttrValue> DefaultOf(AttrKey key, Type first_result);

/// The number of the row's operand that an access counts its terms by.
size_t AccessOperands(OpKind kind);

}  // namespace kdl::ir
