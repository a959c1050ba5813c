#pragma once

#include <cstdint>
#include <vector>

#include "syntax/ast_base.h"
#include "syntax/ast_expr.h"

namespace kdl::syntax {

struct Stmt : Node {
  StmtKind kind;
  uint32_t id = 0;  ///< statements are numbered consecutively within the module, from 0
  std::vector<Attribute> attributes;
  explicit Stmt(StmtKind k) : kind(k) {}
};
template <StmtKind K>
struct StmtOf : Stmt {
  static constexpr StmtKind kKind = K;
  StmtOf() : Stmt(K) {}
};

struct BlockStmt : StmtOf<StmtKind::Block> {
  /// Whether the block represents a loop over a list. If so, it contains one copy of the loop's body for each
  /// element.
  bool unrolled = false;
  /// Whether the block is written after `fuse`: its launches become one launch.
  bool fused = false;
  std::vector<const Stmt*> stmts;
};
/// A declaration with `let` or `var`. A `var` has an initial value; a `let` has a type, a value or both.
struct LetStmt : StmtOf<StmtKind::Let> {
  bool is_var = false;
  Ident name;
  const TypeRef* type = nullptr;  ///< may be null
  Placement on;                   ///< may be empty
  const Expr* value = nullptr;    ///< may be null
};
enum class AssignMode : uint8_t { Plain, Atomic, Reduce };
/// An assignment `target op value where condition;`, possibly after `atomic` or `reduce`. The target is a
/// NameExpr, or an IndexExpr whose base is a NameExpr. The operator is one that `mode` allows.
struct AssignStmt : StmtOf<StmtKind::Assign> {
  AssignMode mode = AssignMode::Plain;
  AssignOp op = AssignOp::Set;
  const Expr* target = nullptr;
  const Expr* value = nullptr;
  const Expr* condition = nullptr;  ///< the condition after `where`; may be null
  /// Whether an `append` was replaced by this statement, which then never writes an element twice.
  bool appends = false;
};
struct CallStmt : StmtOf<StmtKind::Call> {
  const CallExpr* call = nullptr;
};
/// An assertion: `assert(c, "…")` or `static_assert(c, "…")`.
struct AssertStmt : StmtOf<StmtKind::Assert> {
  bool is_static = false;
  const Expr* condition = nullptr;
  const StringLit* message = nullptr;  ///< may be null
};
struct PrintStmt : StmtOf<StmtKind::Print> {
  std::vector<const Expr*> values;  ///< strings among the values are StringLit nodes
};
/// A launch: `spmd(core_num = n) on d.queues(0, 2) kernel<…>(args);`
struct LaunchStmt : StmtOf<StmtKind::Launch> {
  std::vector<Arg> config;
  Ident device;                     ///< may be empty
  std::vector<const Expr*> queues;  ///< the arguments of `.queue(n)` or `.queues(a, b)`
  const CallExpr* call = nullptr;
};
struct IfStmt : StmtOf<StmtKind::If> {
  const Expr* condition = nullptr;
  const BlockStmt* then_block = nullptr;
  const Stmt* else_stmt = nullptr;  ///< a BlockStmt or IfStmt; may be null
};
struct Binder : Node {
  Ident name;
  Extent extent;  ///< empty if the loop iterates over a domain
};
/// A loop with `for` or `spmd for`. In `for i, j in blocks`, the loop has two or more binders (loop
/// variables) and a domain. In `for i in blocks`, it has one binder with an extent, which may be the name of
/// a domain.
struct ForStmt : StmtOf<StmtKind::For> {
  bool is_spmd = false;
  std::vector<Binder> binders;
  const Expr* domain = nullptr;  ///< may be null
  const BlockStmt* body = nullptr;
};
struct WhileStmt : StmtOf<StmtKind::While> {
  const Expr* condition = nullptr;
  const BlockStmt* body = nullptr;
};
struct BreakStmt : StmtOf<StmtKind::Break> {};
struct ContinueStmt : StmtOf<StmtKind::Continue> {};
struct ReturnStmt : StmtOf<StmtKind::Return> {
  const Expr* value = nullptr;  ///< may be null
};
/// A range declaration: `range d in D max m;` or `range p over i + r in H;`
struct RangeStmt : StmtOf<StmtKind::Range> {
  Ident name;
  const Expr* window = nullptr;  ///< the sum after `over`, or null
  const Expr* extent = nullptr;  ///< null only if there is a window
  const Expr* max = nullptr;     ///< may be null
};
/// A domain declaration: `domain blocks = (M by BM, N by BN);`
struct DomainStmt : StmtOf<StmtKind::Domain> {
  Ident name;
  std::vector<Extent> dims;
};
struct PipeStmt : StmtOf<StmtKind::Pipe> {
  Ident name;
  const TypeRef* type = nullptr;
};
struct StageStmt : StmtOf<StmtKind::Stage> {
  Ident name;
  const BlockStmt* body = nullptr;
};
struct ViewStmt : StmtOf<StmtKind::View> {
  Ident name;
  const TypeRef* type = nullptr;
  const Expr* source = nullptr;
};
struct SyncStmt : StmtOf<StmtKind::Sync> {};
/// An expectation of a test: `expect c[i] ~ e;` or `expect condition;`. The equation of the latter has only
/// a left side.
struct ExpectStmt : StmtOf<StmtKind::Expect> {
  Equation equation;
};

}  // namespace kdl::syntax
