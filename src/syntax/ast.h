#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/source.h"
#include "syntax/ast_base.h"  // IWYU pragma: export
#include "syntax/ast_expr.h"  // IWYU pragma: export
#include "syntax/ast_stmt.h"  // IWYU pragma: export

// The tree of one .kdl file, as written: nothing is resolved, nothing is desugared. Nodes live in
// an Arena and do not change once ParseFile has returned them; later phases keep what they learn in
// side tables, by Expr::id, Stmt::id or node address. Pointers are never null unless their comment
// says so.
namespace kdl::syntax {

struct Item : Node {
  ItemKind kind;
  bool exported = false;
  std::string doc;  ///< the text of the `///` lines above, without the slashes; lines end in \n
  Ident name;       ///< of a test: empty
  explicit Item(ItemKind k) : kind(k) {}
};
template <ItemKind K>
struct ItemOf : Item {
  static constexpr ItemKind kKind = K;
  ItemOf() : Item(K) {}
};

/// `import std.nn;`: the name is the last of the path.
struct ImportItem : ItemOf<ItemKind::Import> {
  std::vector<Ident> path;
};
struct ConstItem : ItemOf<ItemKind::Const> {
  const TypeRef* type = nullptr;  ///< may be null
  const Expr* value = nullptr;
};
/// `T: f16 | f32`, `BM: int in {32, 64} = auto`.
struct GenericParam : Node {
  Ident name;
  std::vector<Ident> kinds;
  std::vector<const Expr*> choices;
  const Expr* default_value = nullptr;  ///< may be null
};
struct Param : Node {
  Ident name;
  Direction direction = Direction::In;
  const TypeRef* type = nullptr;
  Ident on;  ///< a device; may be empty
};
enum class FunctionKind : uint8_t { Fn, Kernel, Program };
struct TestItem;
struct FunctionItem : ItemOf<ItemKind::Function> {
  FunctionKind function_kind = FunctionKind::Fn;
  std::vector<GenericParam> generics;
  std::vector<Param> params;
  const TypeRef* result = nullptr;  ///< only of a fn; may be null
  std::vector<const Expr*> where;
  std::vector<Attribute> attributes;
  const BlockStmt* body = nullptr;
  std::vector<const Expr*> requirements;
  std::vector<Equation> ensures;
  const TestItem* test = nullptr;  ///< the program of a test
};
struct DeviceItem : ItemOf<ItemKind::Device> {
  const Expr* value = nullptr;  ///< null for a promise
};
struct TestItem : ItemOf<ItemKind::Test> {
  std::string title;
  const BlockStmt* body = nullptr;        ///< as written
  const FunctionItem* program = nullptr;  ///< what runs: its loops over lists are unrolled
};

/// One file. The spans of its nodes lie in `file`.
struct Module {
  FileId file;
  std::vector<const Item*> items;
  uint32_t expr_count = 0;
  uint32_t stmt_count = 0;
};

}  // namespace kdl::syntax
