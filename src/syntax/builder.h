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

/// What the functions that turn parse trees into the AST share. Parse trees given to them are
/// whole: without errors of syntax. Every Build… returns a node also after it reported an error.
struct Builder {
  const SourceManager& sources;
  FileId file;
  Arena& arena;
  Names& names;
  DiagnosticEngine& diagnostics;
  Module& module;
  size_t depth = 0;       ///< of the tree above the node that is being built
  bool too_deep = false;  ///< reported in this item

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
  Span SpanOf(const antlr4::ParserRuleContext* node) const;
  Span SpanOf(antlr4::tree::TerminalNode* node) const;
};

/// Holds the builder `levels` deeper. Where that is too deep it says so, once an item, and `ok()`
/// is false: the caller then makes a leaf.
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

/// The operator with this spelling; `last` is the last of its kind.
template <class Op>
Op FindSpelled(std::string_view text, Op last) {
  for (size_t i = 0; i <= static_cast<size_t>(last); ++i) {
    if (Spelling(static_cast<Op>(i)) == text) return static_cast<Op>(i);
  }
  KDL_UNREACHABLE("no operator '{}'", text);
}

}  // namespace kdl::syntax
