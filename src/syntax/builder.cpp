#include "syntax/builder.h"

#include <cstddef>

#include "syntax/diagnostics.h"
#include "syntax/limits.h"
#include "syntax/tokens.h"

namespace kdl::syntax {

Span Builder::NodeSpan(const antlr4::ParserRuleContext* node) const {
  return Cover(TokenSpan(file, *node->start), TokenSpan(file, *node->stop));
}

Span Builder::NodeSpan(antlr4::tree::TerminalNode* node) const {
  return TokenSpan(file, *node->getSymbol());
}

Deeper::Deeper(Builder& builder, size_t levels, Span span) : builder_(builder), levels_(levels) {
  builder_.depth += levels_;
  if (ok() || builder_.too_deep) return;
  builder_.too_deep = true;
  builder_.diagnostics.Report(diag::TooComplex, span, kMaxDepth)
      .Help("give some parts a name with `let`, or move them into a `fn`");
}

bool Deeper::ok() const { return builder_.depth <= kMaxDepth; }

Ident BuildIdent(Builder& builder, P::NameContext* name) {
  Ident ident;
  if (name == nullptr) return ident;
  ident.span = builder.NodeSpan(name);
  ident.name = builder.names.Intern(builder.Text(ident.span));
  return ident;
}

}  // namespace kdl::syntax
