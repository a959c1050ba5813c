#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/arena.h"        // IWYU pragma: export
#include "support/check.h"        // IWYU pragma: export
#include "support/diagnostics.h"  // IWYU pragma: export
#include "support/names.h"        // IWYU pragma: export
#include "support/source.h"       // IWYU pragma: export
#include "syntax/antlr.h"         // IWYU pragma: export
#include "syntax/ast.h"           // IWYU pragma: export

namespace kdl::syntax {

/// The state of the functions that turn parse trees into the AST. The parse trees must not contain syntax
/// errors. Every Build… function returns a node, even after it has reported an error.
struct Builder {
  const SourceManager& sources;
  FileId file;
  Arena& arena;
  Names& names;
  DiagnosticEngine& diagnostics;
  Module& module;
  size_t depth = 0;             ///< the depth of the tree above the node that is being built
  bool has_type_tests = false;  ///< this item contains conditions such as `T is f32`
  bool too_deep = false;        ///< an error about this item's depth has been reported
  std::vector<const AssignStmt*> appends;  ///< this item's `append` statements

  template <class T>
  T* MakeExpr(Span span) {
    T* expr = arena.Make<T>();
    expr->id = module.expr_count++;
    expr->span = span;
    return expr;
  }
  template <class T>
  T* MakeStmt(Span span) {
    T* stmt = arena.Make<T>();
    stmt->id = module.stmt_count++;
    stmt->span = span;
    return stmt;
  }

  std::string_view Text(Span span) const { return sources.text(span); }
  Span NodeSpan(const antlr4::ParserRuleContext* node) const;
  Span NodeSpan(antlr4::tree::TerminalNode* node) const;
};

/// Increases the builder's depth by `levels` during its lifetime. If this exceeds the limit, it reports an
/// error (once for each item) and `ok()` returns false; the caller then builds a leaf instead.
class Deeper {
 public:
  Deeper(Builder& builder, size_t levels, Span span);
  ~Deeper() { builder_.depth -= levels_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  bool ok() const;

 private:
  Builder& builder_;
  size_t levels_;
};

using P = KdlParser;

Ident BuildIdent(Builder& builder, P::NameContext* name);

/// Returns the operator with this spelling; `last` is the last enumerator of Op.
template <class Op>
Op FindSpelled(std::string_view text, Op last) {
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    if (Spelling(static_cast<Op>(i)) == text) return static_cast<Op>(i);
  }
  KDL_UNREACHABLE("no operator '{}'", text);
}

}  // namespace kdl::syntax
