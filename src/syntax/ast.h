#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/source.h"
#include "syntax/ast_base.h"  // IWYU pragma: export
#include "syntax/ast_expr.h"  // IWYU pragma: export
#include "syntax/ast_stmt.h"  // IWYU pragma: export

// The syntax tree of one .kdl file. It reflects the source exactly: names are not resolved, and nothing is
// desugared. Nodes are allocated in an Arena and do not change after ParseFile has returned them. Later
// phases store their results in side tables, whose key is Expr::id, Stmt::id or the node's address. A pointer
// is never null unless a comment says that it may be.
namespace kdl::syntax {

struct Item : Node {
  ItemKind kind;
  bool exported = false;
  std::string doc;  ///< the `///` lines before the item, without the slashes; each line ends in \n
  Ident name;       ///< empty for a test
  explicit Item(ItemKind k) : kind(k) {}
};
template <ItemKind K>
struct ItemOf : Item {
  static constexpr ItemKind kKind = K;
  ItemOf() : Item(K) {}
};

/// An import such as `import std.nn;`. Its name is the last component of the path.
struct ImportItem : ItemOf<ItemKind::Import> {
  std::vector<Ident> path;
};
struct ConstItem : ItemOf<ItemKind::Const> {
  const TypeRef* type = nullptr;  ///< may be null
  const Expr* value = nullptr;
};
/// A list of types: `types Float = f16 | f32;`
struct TypesItem : ItemOf<ItemKind::Types> {
  std::vector<TypeName> types;
};
/// The type of a function parameter: `fn(T, T) -> T`.
struct FunctionType : Node {
  std::vector<const TypeRef*> params;
  const TypeRef* result = nullptr;
};
/// A generic parameter: `T: f16 | f32`, `BM: int in {32, 64} = auto` or `F: fn(T) -> T = relu`.
struct GenericParam : Node {
  Ident name;
  std::vector<TypeName> kinds;             ///< empty for a function parameter
  const FunctionType* function = nullptr;  ///< only for a function parameter
  std::vector<const Expr*> choices;
  const Expr* default_value = nullptr;  ///< may be null
};
/// The tensors that a launch may pass for a parameter.
enum class ParamStrides : uint8_t {
  Dense,      ///< those without gaps inside of packs
  Any,        ///< `in strided T[A..]`: those with any strides
  Broadcast,  ///< `in broadcast T[A..]`: also those whose dimensions are 1 or missing, as in NumPy
};
struct Param : Node {
  Ident name;
  Direction direction = Direction::In;
  const TypeRef* type = nullptr;
  ParamStrides strides = ParamStrides::Dense;
  bool is_optional = false;  ///< `T[N]?`: calls may pass nothing
  Placement on;              ///< may be empty
};
enum class FunctionKind : uint8_t { Fn, Kernel, Program };
struct TestItem;
struct FunctionItem : ItemOf<ItemKind::Function> {
  FunctionKind function_kind = FunctionKind::Fn;
  std::vector<GenericParam> generics;
  std::vector<Param> params;
  const TypeRef* result = nullptr;  ///< only for a fn; may be null
  std::vector<const Expr*> where;
  std::vector<Attribute> attributes;
  const BlockStmt* body = nullptr;
  std::vector<const Expr*> requirements;
  std::vector<Equation> ensures;
  /// It contains conditions that are decided for each instance: `T is f32`, or `bias` for an optional parameter.
  bool has_type_tests = false;
  /// If the program was made from a test, that test; otherwise null.
  const TestItem* test = nullptr;
};
struct DeviceItem : ItemOf<ItemKind::Device> {
  const Expr* value = nullptr;  ///< null if the device is only declared, as in `device d;`
};
struct TestItem : ItemOf<ItemKind::Test> {
  std::string title;
  const BlockStmt* body = nullptr;  ///< the body as it is written
  /// The program that runs for the test: `body`, in which loops over lists are unrolled.
  const FunctionItem* program = nullptr;
};

/// The tree of one file. All spans in it are in `file`.
struct Module {
  FileId file;
  std::vector<const Item*> items;
  uint32_t expr_count = 0;
  uint32_t stmt_count = 0;
};

}  // namespace kdl::syntax
