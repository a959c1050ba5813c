#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/builder.h"

namespace kdl::syntax {

/// Makes nodes that are not in the source. All of them have the same place.
class TreeMaker {
 public:
  TreeMaker(Builder& builder, Span span) : builder_(builder), span_(span) {}

  Ident Id(std::string_view text) const;
  TypeName Type(std::string_view text) const;
  const Expr* Name(const Ident& name) const;
  const Expr* Int(uint64_t value) const;
  /// Returns `value as i64`.
  const Expr* I64(uint64_t value) const;
  const Expr* As(const Expr* value, const TypeName& type) const;
  const Expr* Binary(BinaryOp op, const Expr* lhs, const Expr* rhs) const;
  const Expr* Call(std::string_view callee, std::initializer_list<const Expr*> args) const;
  /// Returns `op(value over range)`, possibly with `exclusive`, which numbers the elements of an `append`.
  const Expr* Reduce(std::string_view op, const Expr* value, const Ident& range,
                     bool exclusive = false) const;
  /// Returns `if condition then 1 as i64 else 0`.
  const Expr* OneIf(const Expr* condition) const;
  const Expr* Field(const Ident& base, std::string_view field) const;
  const Expr* Element(const Ident& tensor, const std::vector<const Expr*>& indices) const;

  const LetStmt* Let(const Ident& name, const Expr* value, bool is_var = false) const;
  /// Returns `let name: i64[dims];`.
  const LetStmt* LocalTensor(const Ident& name, const std::vector<const Expr*>& dims) const;
  const AssignStmt* Assign(const Expr* target, AssignOp op, const Expr* value) const;
  /// Returns `for name in 0..hi { body }`.
  const ForStmt* ForEach(const Ident& name, const Expr* hi, std::vector<const Stmt*> body) const;
  const ForStmt* For(std::vector<Binder> binders, std::vector<const Stmt*> body,
                     bool is_spmd) const;
  /// Returns a loop variable for `name in hi by 256`.
  Binder Blocks(const Ident& name, const Expr* hi) const;
  const BlockStmt* Block(std::vector<const Stmt*> stmts) const;
  const Stmt* Assert(const Expr* condition, std::string message) const;
  const Stmt* Sync() const { return builder_.MakeStmt<SyncStmt>(span_); }

 private:
  Builder& builder_;
  Span span_;
};

}  // namespace kdl::syntax
