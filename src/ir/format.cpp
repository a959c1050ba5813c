#include "ir/format.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "ir/op_info.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

std::optional<AttrKey> AttrFromKeyName(std::string_view name) {
  static constexpr std::string_view kNames[] = {
#define KDL_ATTR(key, spelling, type, role) #key,
#include "ir/attrs.def"
  };
  auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<AttrKey>(found - std::begin(kNames));
}

size_t OperandNumber(const OpInfo& info, std::string_view name) {
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].name == name) return i;
  }
  KDL_UNREACHABLE("the format of '{}' names an unknown operand '{}'", info.spelling, name);
}

bool IsNamePart(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)); }

/// Removes the name at the front of `text` and returns it.
std::string_view TakeName(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && IsNamePart(text[end])) ++end;
  std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

std::vector<FormatPiece> Pieces(const OpInfo& info, std::string_view text) {
  std::vector<FormatPiece> pieces;
  while (!text.empty()) {
    FormatPiece piece;
    if (text.starts_with("[ ")) {
      size_t end = text.find(']');
      piece.kind = FormatPiece::Kind::Optional;
      piece.pieces = Pieces(info, text.substr(1, end - 1));
      for (const FormatPiece& inner : piece.pieces) {
        if (inner.kind == FormatPiece::Kind::Operand) piece.operand = inner.operand;
      }
      text.remove_prefix(end + 1);
    } else if (text[0] == '$') {
      text.remove_prefix(1);
      piece.kind = FormatPiece::Kind::Operand;
      piece.operand = OperandNumber(info, TakeName(text));
    } else if (text[0] == '@') {
      text.remove_prefix(1);
      std::string_view name = TakeName(text);
      std::optional<AttrKey> key = AttrFromKeyName(name);
      KDL_CHECK(key, "the format of '{}' names an unknown attribute '{}'", info.spelling, name);
      piece.kind = FormatPiece::Kind::Attribute;
      piece.key = *key;
    } else {
      size_t end = std::min({text.find('$'), text.find('@'), text.find("[ "), text.size()});
      piece.kind = FormatPiece::Kind::Literal;
      piece.literal = text.substr(0, end);
      text.remove_prefix(end);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

bool NamesKey(const std::vector<FormatPiece>& pieces, AttrKey key) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const FormatPiece& piece) {
    return (piece.kind == FormatPiece::Kind::Attribute && piece.key == key) ||
           NamesKey(piece.pieces, key);
  });
}

}  // namespace

const std::vector<FormatPiece>& FormatOf(OpKind kind) {
  static const auto formats = [] {
    std::vector<std::vector<FormatPiece>> all;
    for (size_t i = 0; i < kOpCount; ++i) {
      const OpInfo& info = Info(static_cast<OpKind>(i));
      all.push_back(Pieces(info, info.format));
    }
    return all;
  }();
  return formats[static_cast<size_t>(kind)];
}

bool FormatNames(OpKind kind, AttrKey key) { return NamesKey(FormatOf(kind), key); }

std::optional<AttrValue> DefaultOf(AttrKey key, Type first_result) {
  if (key == AttrKey::Distribute)
    return MakeAttr<AttrKey::Distribute>(DistributionKind::Static).value;
  if (key == AttrKey::Acc && first_result)
    return MakeAttr<AttrKey::Acc>(first_result->scalar).value;
  return std::nullopt;
}

size_t AccessOperands(OpKind kind) { return OperandWith(kind, Effect::Index); }

}  // namespace kdl::ir
