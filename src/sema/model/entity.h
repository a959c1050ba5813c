#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

namespace kdl::sema {

// Enumerator, what a message calls it.
// clang-format off
#define KDL_ENTITIES(X)                                                                         \
  X(Const, "a constant") X(TypeGeneric, "a type parameter") X(IntGeneric, "an integer parameter") \
  X(SizeName, "a size") X(TensorParam, "a tensor") X(ScalarParam, "a scalar parameter")         \
  X(TileParam, "a tile parameter")                                                              \
  X(Let, "a let") X(Var, "a var") X(Range, "a range") X(ScalarBinder, "a loop index")           \
  X(LocalTensor, "a tensor") X(Domain, "a domain") X(Pipe, "a pipe") X(Stage, "a stage")        \
  X(Device, "a device") X(Fn, "a fn") X(Kernel, "a kernel") X(Program, "a program")             \
  X(Auxiliary, "an equation's name") X(Import, "an imported file")
// clang-format on
#define KDL_KIND(name, text) name,
enum class EntityKind : uint8_t { KDL_ENTITIES(KDL_KIND) };
#undef KDL_KIND
std::string_view Describe(EntityKind kind);

struct Entity;
struct FileState;

enum class TypeKind : uint8_t {
  Error,         ///< reported already: goes with everything, silently
  IntLiteral,    ///< never a final type
  FloatLiteral,  ///< never a final type
  Value,         ///< a scalar where `ranges` is empty, else a tile
  Tensor,
  Range,    ///< of a Range entity
  Pipe,     ///< of a Pipe entity
  Tuple,    ///< of `parts`; its ranges are those of all
  Nothing,  ///< of a call that has no result
  String,
};

struct Type {
  TypeKind kind = TypeKind::Error;
  Scalar scalar = Scalar::I32;        ///< Value, Tensor, Pipe
  std::vector<const Entity*> ranges;  ///< Value: each once, ascending by Entity::number
  std::vector<Size> dims;             ///< Tensor: outermost first; Pipe: by position
  std::vector<Type> parts;            ///< Tuple: values, or literals until they have types

  bool operator==(const Type&) const = default;
  bool is_error() const { return kind == TypeKind::Error; }
  bool is_literal() const { return kind == TypeKind::IntLiteral || kind == TypeKind::FloatLiteral; }
  bool is_value() const { return kind == TypeKind::Value; }
  bool is_scalar() const { return is_value() && ranges.empty(); }
  bool is_tuple() const { return kind == TypeKind::Tuple; }
  bool is_tensor() const { return kind == TypeKind::Tensor; }
};

/// `f32`, `f32[i, j]`, `i32 literal`: as a message shows it.
std::string ToString(const Type& type);

/// What a Range walks. `domain` is there where it is a whole dimension 0..domain; else `lo` and
/// `hi` bound it (lo null: 0), or `parent` is split. In a contract only `domain` is there.
struct RangeFacts {
  /// Of a block: made of constants and integer parameters. Of a fn's range: that of the pipe whose
  /// position it stands for; null: any.
  Size extent = nullptr;
  Size domain = nullptr;
  const syntax::Expr* lo = nullptr;
  const syntax::Expr* hi = nullptr;
  const Entity* parent = nullptr;
  /// `range d in D max m`: one block is all; a domain above `extent` is a launch error.
  bool whole = false;
};

/// What a binder, or a dimension of a domain, walks: the blocks of a range, or single indices.
struct WalkFacts {
  bool blocked = false;
  RangeFacts range;                  ///< where blocked
  const syntax::Expr* lo = nullptr;  ///< else, as hi
  const syntax::Expr* hi = nullptr;
  const syntax::Expr* step = nullptr;  ///< may be null: 1
};

enum class DeviceForm : uint8_t { Promise, Target, Select, Fallback, Alias };
struct DeviceOption {
  Name key;
  std::string value;
};
/// `target("dsp", seed = "7")[1]`, `select(…)`, `fallback(cpu)`, `cpu`.
struct DeviceSpec {
  DeviceForm form = DeviceForm::Promise;
  std::string target;
  std::vector<DeviceOption> options;
  uint32_t ordinal = 0;
  std::vector<DeviceSpec> alternatives;  ///< Select
  const Entity* of = nullptr;            ///< Fallback, Alias
};

/// Something that has a name. Arena-owned, never null, compared by address.
struct Entity {
  EntityKind kind;
  Name name;
  Span span;
  uint32_t number = 0;  ///< dense within its function, in source order; of items: within the module
  Type type;            ///< Auxiliary: a Tensor of f64, i64 or bool
  /// The value as a size: of a SizeName and IntGeneric its symbol, of an integer Const its value, of
  /// a Let whose value is a size that size.
  Size size = nullptr;
  /// Const that is a table, whose type is a Tensor: the bits of its elements, the last dimension fastest.
  std::vector<uint64_t> elements;
  RangeFacts range;                  ///< Range
  const syntax::Expr* lo = nullptr;  ///< ScalarBinder, as hi
  const syntax::Expr* hi = nullptr;
  const syntax::Expr* step = nullptr;  ///< ScalarBinder; may be null: 1
  /// Range, ScalarBinder: the Domain that it walks, if any. TensorParam, LocalTensor: the tensor whose memory a view shows;
  /// null: it is none.
  const Entity* of = nullptr;
  uint32_t position = 0;         ///< which dimension of that
  std::vector<WalkFacts> walks;  ///< Domain: its dimensions
  int64_t depth = 1;             ///< Pipe: what `@depth` asks for
  /// Pipe: the end that a fn takes, Push or Pop; In: both, it is a kernel's own.
  syntax::Direction end = syntax::Direction::In;
  uint32_t param =
      0;  ///< TensorParam, ScalarParam, TileParam, Pipe: which; of a view that of its memory
  const Entity* on = nullptr;  ///< TensorParam, LocalTensor: a Device; may be null
  bool in_spmd = false;        ///< Range, ScalarBinder: a binder of `spmd for`
  /// Let, Var: the declaration, where a literal alone gave it its type.
  const syntax::LetStmt* of_literal = nullptr;
  const syntax::FunctionItem* function = nullptr;  ///< Fn, Kernel, Program
  DeviceSpec device;                               ///< Device
  std::string_view prefix;                         ///< Device: its file's, as that of a function
  const FileState* file = nullptr;                 ///< Import: what it names
};

/// The tensor that a view shows, through views between; of another tensor itself.
inline const Entity* MemoryOf(const Entity* tensor) {
  auto is_tensor = [&] {
    return tensor->kind == EntityKind::TensorParam || tensor->kind == EntityKind::LocalTensor;
  };
  while (is_tensor() && tensor->of != nullptr) tensor = tensor->of;
  return tensor;
}

}  // namespace kdl::sema
