#include "tools/lsp/semantic_tokens.h"

#include <cstdint>

#include "sema/model/builtins.h"
#include "support/scalar.h"
#include "tools/lsp/describe.h"

namespace kdl::tools::lsp {

namespace {

using syntax::NameKind;
using syntax::NameOccurrence;
using syntax::NameRole;

enum class Token : uint8_t {
  Namespace,
  Type,
  TypeParameter,
  Parameter,
  Variable,
  Property,
  Function,
  Decorator,
  None
};
enum Modifier : uint8_t { kDeclaration = 1, kReadonly = 2, kDefaultLibrary = 4 };

Token TokenOf(NameKind kind) {
  switch (kind) {
    case NameKind::Import:
      return Token::Namespace;
    case NameKind::Types:
      return Token::Type;
    case NameKind::TypeParam:
      return Token::TypeParameter;
    case NameKind::IntParam:
    case NameKind::Param:
      return Token::Parameter;
    case NameKind::Fn:
    case NameKind::Kernel:
    case NameKind::Program:
    case NameKind::FnParam:
      return Token::Function;
    default:
      return Token::Variable;
  }
}

bool IsReadonly(NameKind kind) {
  return kind != NameKind::Var && kind != NameKind::Param && TokenOf(kind) == Token::Variable;
}

/// Returns the token of a name without a declaration in this file.
Token TokenOf(const NameOccurrence& one) {
  if (one.role == NameRole::Attribute) return Token::Decorator;
  if (one.role == NameRole::Member) return one.is_call ? Token::Function : Token::Property;
  if (one.role == NameRole::Label) return Token::Property;
  if (one.is_type || ScalarFromSpelling(one.name)) return Token::Type;
  if (!BuiltinText(one.name).empty()) return one.is_call ? Token::Function : Token::Variable;
  return Token::None;
}

}  // namespace

Json TokenLegend() {
  return {{"tokenTypes",
           {"namespace", "type", "typeParameter", "parameter", "variable", "property", "function",
            "decorator"}},
          {"tokenModifiers", {"declaration", "readonly", "defaultLibrary"}}};
}

Json SemanticTokens(Workspace& workspace, Document& document, const Json&) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  std::vector<uint32_t> data;
  uint32_t last_line = 0;
  uint32_t last_column = 0;
  for (const NameOccurrence& one : analysis.names.occurrences) {
    bool is_known = one.declaration != syntax::kNoName;
    Token token = is_known ? TokenOf(analysis.Declaration(one.declaration).kind) : TokenOf(one);
    if (token == Token::None) continue;
    uint32_t modifiers = is_known ? 0 : one.role == NameRole::Use ? kDefaultLibrary : 0;
    if (is_known) {
      const syntax::NameDeclaration& declaration = analysis.Declaration(one.declaration);
      if (declaration.span == one.span) modifiers |= kDeclaration;
      if (IsReadonly(declaration.kind)) modifiers |= kReadonly;
    }
    Json at = analysis.positions.Position(one.span.begin);
    auto line = at["line"].get<uint32_t>();
    auto column = at["character"].get<uint32_t>();
    uint32_t from = line == last_line ? last_column : 0;
    data.insert(data.end(), {line - last_line, column - from, one.span.end - one.span.begin,
                             static_cast<uint32_t>(token), modifiers});
    last_line = line;
    last_column = column;
  }
  return {{"data", data}};
}

}  // namespace kdl::tools::lsp
