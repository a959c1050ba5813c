#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/check.h"
#include "support/names.h"
#include "support/source.h"
#include "syntax/four_bit_types.h"

namespace kdl::syntax {

// clang-format off
#define KDL_EXPRS(X)                                                                          \
  X(IntLit) X(FloatLit) X(BoolLit) X(StringLit) X(AutoLit) X(Name) X(Unary) X(Binary) X(If)   \
  X(Cast) X(Call) X(Reduce) X(Index) X(Field) X(Tuple) X(List) X(Type) X(TypeTest) \
  X(Move)
#define KDL_STMTS(X)                                                                          \
  X(Let) X(Assign) X(Call) X(Assert) X(Print) X(Launch) X(Block) X(If) X(For) X(While)        \
  X(Break) X(Continue) X(Return) X(Range) X(Domain) X(Pipe) X(Stage) X(View) X(Sync) X(Expect)
#define KDL_ITEMS(X)                                                                          \
  X(Import) X(Const) X(Types) X(Function) X(Device) X(Test)

// The operators, each with its enumerator and its spelling.
#define KDL_UNARY_OPS(X)                                                                      \
  X(Neg, "-") X(Not, "!") X(BitNot, "~")
#define KDL_BINARY_OPS(X)                                                                     \
  X(Mul, "*") X(Div, "/") X(Rem, "%") X(Add, "+") X(Sub, "-") X(Shl, "<<") X(Shr, ">>")       \
  X(BitAnd, "&") X(BitXor, "^") X(BitOr, "|") X(Eq, "==") X(Ne, "!=") X(Lt, "<") X(Le, "<=")  \
  X(Gt, ">") X(Ge, ">=") X(And, "&&") X(Or, "||")
#define KDL_ASSIGN_OPS(X)                                                                     \
  X(Set, "=") X(Add, "+=") X(Sub, "-=") X(Mul, "*=") X(Div, "/=") X(Rem, "%=")                \
  X(BitAnd, "&=") X(BitOr, "|=") X(BitXor, "^=") X(Max, "max=") X(Min, "min=")
#define KDL_DIRECTIONS(X)                                                                     \
  X(In, "in") X(Out, "out") X(InOut, "inout") X(Push, "push") X(Pop, "pop")
// clang-format on

#define KDL_FIRST(name, ...) name,
#define KDL_KIND(name) name,
enum class ExprKind : uint8_t { KDL_EXPRS(KDL_KIND) };
enum class StmtKind : uint8_t { KDL_STMTS(KDL_KIND) };
enum class ItemKind : uint8_t { KDL_ITEMS(KDL_KIND) };
enum class UnaryOp : uint8_t { KDL_UNARY_OPS(KDL_FIRST) };
enum class BinaryOp : uint8_t { KDL_BINARY_OPS(KDL_FIRST) };
enum class AssignOp : uint8_t { KDL_ASSIGN_OPS(KDL_FIRST) };
enum class Direction : uint8_t { KDL_DIRECTIONS(KDL_FIRST) };
#undef KDL_KIND
#undef KDL_FIRST

std::string_view Spelling(UnaryOp op);
std::string_view Spelling(BinaryOp op);
std::string_view Spelling(AssignOp op);
std::string_view Spelling(Direction direction);

struct Node {
  Span span;
};

/// An identifier in the source. It is empty (and converts to false) if an optional identifier is absent.
struct Ident : Node {
  Name name;
  explicit operator bool() const { return !name.empty(); }
};

/// The name of a type or of a list of types: `f32`, `T`, or `T.acc` and `lib.Float`, which have a member.
/// `name` is the first word, and the span covers both words.
struct TypeName : Ident {
  Ident member;  ///< may be empty
};
/// Returns the name of a type without a member; otherwise an empty name.
inline Name PlainName(const TypeName& type) { return type.member ? Name() : type.name; }
std::string ToString(const TypeName& type);

struct Expr : Node {
  ExprKind kind;
  uint32_t id = 0;  ///< expressions are numbered consecutively within the module, from 0
  explicit Expr(ExprKind k) : kind(k) {}
};

/// An argument, a generic argument or an argument of an attribute: `e` or `name = e`.
struct Arg : Node {
  Ident name;  ///< may be empty
  const Expr* value = nullptr;
};

/// One index of `base[…]`: `e`, `k = e`, or a slice `e..hi`.
struct Index : Arg {
  const Expr* hi = nullptr;  ///< only for a slice; otherwise null
};

/// An attribute: `@name(args)`.
struct Attribute : Node {
  Ident name;
  std::vector<Arg> args;
};

/// An entry of `by (M: 64, _)`: the size of a dimension, or `_` for a dimension that is not distributed.
struct DistributedDim : Node {
  const Expr* size = nullptr;
  const Expr* block = nullptr;  ///< may be null
};
/// The name of a device after `on`, and the distribution over its ranks: `on grid by (M, _)`.
struct Placement : Ident {
  std::vector<DistributedDim> by;  ///< empty if there is no `by`
};

/// A type: `f32`, `T.acc`, `T[M, K]`, or a tuple such as `(f32, i64)`, which has elements but no name.
struct TypeRef : Node {
  TypeName name;
  bool has_brackets = false;  ///< `f32[]` is a tensor without dimensions, `f32` a number
  std::vector<const Expr*> dims;
  std::vector<const TypeRef*> elements;
  /// If the elements of a parameter have 4 bits, their type. `name` and `dims` are those of its bytes (lower_four_bits.h).
  std::optional<FourBitType> four_bit;
  const Expr* elements_in_row = nullptr;  ///< the number of these elements in the last dimension
};

/// The values of a loop variable, or of one dimension of a domain: `hi`, `lo..hi`, `… by e` or `… step e`.
struct Extent : Node {
  /// Null if only `hi` is written. In this case, `hi` may also name a range or a list.
  const Expr* lo = nullptr;
  const Expr* hi = nullptr;
  const Expr* by = nullptr;    ///< may be null
  const Expr* step = nullptr;  ///< may be null
};

/// An equation `lhs = rhs`, a comparison `lhs ~(rtol = r, atol = a) rhs`, or the comparison of a counted output with a
/// list, `lhs ~ [rhs where condition over i, j]` or `lhs == […]`.
struct Equation : Node {
  const Expr* lhs = nullptr;
  const Expr* rhs = nullptr;
  bool compared = false;       ///< the operator is ~: the sides are compared within a tolerance
  const Expr* rtol = nullptr;  ///< may be null
  const Expr* atol = nullptr;  ///< may be null
  /// For a list: the names after `over`, of which the last one varies fastest. Empty for other equations.
  std::vector<Ident> over;
  const Expr* condition = nullptr;  ///< for a list: the condition after `where`; may be null
  bool exact = false;               ///< for a list: the operator is ==
};

/// Returns the node as a T, or null if the node is null or of another kind.
template <class T, class Base>
const T* DynAs(const Base* node) {
  return node != nullptr && node->kind == T::kKind ? static_cast<const T*>(node) : nullptr;
}

/// Returns the node as a T. The node must be of that kind.
template <class T, class Base>
const T& As(const Base* node) {
  KDL_CHECK(node != nullptr && node->kind == T::kKind);
  return *static_cast<const T*>(node);
}

}  // namespace kdl::syntax
