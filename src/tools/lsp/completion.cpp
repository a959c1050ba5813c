#include "tools/lsp/completion.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "driver/compile/stdlib.h"
#include "sema/model/builtins.h"
#include "sema/model/reduction_kinds.h"
#include "support/scalar.h"
#include "syntax/keywords.h"
#include "tools/lsp/describe.h"
#include "tools/lsp/words.h"

namespace kdl::tools::lsp {

namespace {

using syntax::NameDeclaration;
using syntax::NameKind;

// The protocol's kinds of completions.
constexpr int kFunction = 3;
constexpr int kVariable = 6;
constexpr int kModule = 9;
constexpr int kProperty = 10;
constexpr int kKeyword = 14;
constexpr int kType = 25;

/// Collects completions without repeating a name.
class Completions {
 public:
  void Add(std::string_view name, int kind, std::string detail = {}) {
    if (!known_.insert(std::string(name)).second) return;
    Json item{{"label", name}, {"kind", kind}};
    if (!detail.empty()) item["detail"] = std::move(detail);
    items_.push_back(std::move(item));
  }
  Json Take() && { return std::move(items_); }

 private:
  std::set<std::string> known_;
  Json items_ = Json::array();
};

int KindOf(NameKind kind) {
  if (kind == NameKind::Import) return kModule;
  if (kind == NameKind::Types || kind == NameKind::TypeParam) return kType;
  bool calls = kind == NameKind::Fn || kind == NameKind::Kernel || kind == NameKind::Program ||
               kind == NameKind::FnParam;
  return calls ? kFunction : kVariable;
}

void AddDeclaration(Completions& out, const Analysis& analysis,
                    const NameDeclaration& declaration) {
  bool is_item = declaration.kind <= NameKind::Test;
  std::string type = is_item ? HeadText(analysis, declaration) : TypeText(analysis, declaration);
  out.Add(declaration.name, KindOf(declaration.kind),
          type.empty() ? std::string(KindText(declaration.kind)) : type);
}

void AddMembers(Completions& out, Workspace& workspace, const Analysis& analysis,
                std::string_view base) {
  for (const NameDeclaration& one : analysis.names.declarations) {
    if (one.name != base) continue;
    if (const Analysis* imported = workspace.Imported(analysis, one)) {
      for (const NameDeclaration& item : imported->names.declarations) {
        if (item.is_exported) AddDeclaration(out, *imported, item);
      }
    }
    bool is_range = one.kind == NameKind::Loop || one.kind == NameKind::Range;
    for (std::string_view name : {"start", "size", "index"}) {
      if (is_range) out.Add(name, kProperty);
    }
    for (std::string_view name : {"push", "pop"}) {
      if (one.kind == NameKind::Pipe || one.kind == NameKind::Param) out.Add(name, kFunction);
    }
    for (std::string_view name : {"acc", "bits", "min", "max"}) {
      if (one.kind == NameKind::TypeParam) out.Add(name, kProperty);
    }
  }
}

void AddVisible(Completions& out, const Analysis& analysis, uint32_t offset) {
  for (const NameDeclaration& one : analysis.names.declarations) {
    bool is_visible =
        one.kind < NameKind::Test ||
        (one.scope.begin <= offset && offset <= one.scope.end && one.span.end < offset);
    if (is_visible) AddDeclaration(out, analysis, one);
  }
  for (const sema::Builtin& builtin : sema::AllBuiltins()) {
    bool is_name = builtin.operands == sema::Operands::None;
    out.Add(builtin.spelling, is_name ? kVariable : kFunction, std::string(builtin.meaning));
  }
  for (const sema::ReductionRow& row : sema::AllReductions())
    out.Add(row.spelling, kFunction, BuiltinText(row.spelling));
  for (const ScalarInfo& scalar : kScalars) out.Add(scalar.spelling, kType);
  for (std::string_view word : syntax::Keywords()) out.Add(word, kKeyword);
}

}  // namespace

Json Completion(Workspace& workspace, Document& document, const Json& params) {
  const Analysis& analysis = workspace.AnalysisOf(document);
  std::string_view text = analysis.text();
  uint32_t offset = analysis.positions.Offset(params.at("position"));
  size_t begin = offset;
  while (begin > 0 && IsWordPart(text[begin - 1])) --begin;
  std::string_view line = analysis.positions.Line(analysis.positions.LineOf(offset));
  Completions out;
  if (line.starts_with("import ") || line.starts_with("export import ")) {
    for (const std::string& name : driver::StdlibNames()) out.Add(name, kModule);
  } else if (begin > 0 && text[begin - 1] == '@') {
    for (std::string_view name : {"depth", "pipelined", "order", "unroll", "dynamic", "team"})
      out.Add(name, kProperty);
  } else if (begin > 0 && text[begin - 1] == '.' && (begin < 2 || text[begin - 2] != '.')) {
    size_t base = begin - 1;
    while (base > 0 && IsWordPart(text[base - 1])) --base;
    AddMembers(out, workspace, analysis, text.substr(base, begin - 1 - base));
  } else {
    AddVisible(out, analysis, offset);
  }
  return std::move(out).Take();
}

}  // namespace kdl::tools::lsp
