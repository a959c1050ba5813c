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

enum Token : uint8_t {
  kNamespace,
  kType,
  kTypeParameter,
  kParameter,
  kVariable,
  kProperty,
  kFunction,
  kDecorator,
  kNoToken
};
enum Modifier : uint8_t { kDeclaration = 1, kReadonly = 2, kDefaultLibrary = 4 };

Token TokenOf(NameKind kind) {
  switch (kind) {
    case NameKind::Import:
      return kNamespace;
    case NameKind::Types:
      return kType;
    case NameKind::TypeParam:
      return kTypeParameter;
    case NameKind::IntParam:
    case NameKind::Param:
      return kParameter;
    case NameKind::Fn:
    case NameKind::Kernel:
    case NameKind::Program:
    case NameKind::FnParam:
      return kFunction;
    default:
      return kVariable;
  }
}

bool IsReadonly(NameKind kind) {
  return kind != NameKind::Var && kind != NameKind::Param && TokenOf(kind) == kVariable;
}

/// Returns the token of a name without a declaration in this file.
Token TokenOf(const NameOccurrence& one) {
  if (one.role == NameRole::Attribute) return kDecorator;
  if (one.role == NameRole::Member) return one.is_call ? kFunction : kProperty;
  if (one.role == NameRole::Label) return kProperty;
  if (one.is_type || ScalarFromSpelling(one.name)) return kType;
  if (!BuiltinText(one.name).empty()) return one.is_call ? kFunction : kVariable;
  return kNoToken;
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
    if (token == kNoToken) continue;
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
    data.insert(data.end(),
                {line - last_line, column - from, one.span.end - one.span.begin, token, modifiers});
    last_line = line;
    last_column = column;
  }
  return {{"data", data}};
}

}  // namespace kdl::tools::lsp
