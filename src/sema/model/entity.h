#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

namespace kdl::sema {

// Each row contains the enumerator of a kind and its name in messages.
// clang-format off
#define KDL_ENTITIES(X)                                                                         \
  X(Const, "a constant") X(TypeList, "a list of types")                                          \
  X(TypeGeneric, "a type parameter") X(IntGeneric, "an integer parameter") \
  X(FnGeneric, "a function parameter")                                                          \
  X(SizeName, "a size") X(TensorParam, "a tensor") X(ScalarParam, "a scalar parameter")         \
  X(TileParam, "a tile parameter")                                                              \
  X(Let, "a `let` value") X(Var, "a variable") X(Range, "a range")                              \
  X(ScalarBinder, "a loop index")                                                               \
  X(LocalTensor, "a tensor") X(Domain, "a domain") X(Pipe, "a pipe") X(Stage, "a stage")        \
  X(Device, "a device") X(Fn, "a fn") X(Kernel, "a kernel") X(Program, "a program")             \
  X(Auxiliary, "a name that a contract defines") X(Import, "an imported file")
// clang-format on
#define KDL_KIND(name, text) name,
enum class EntityKind : uint8_t { KDL_ENTITIES(KDL_KIND) };
#undef KDL_KIND
std::string_view Describe(EntityKind kind);

struct Entity;
struct FileState;
struct IndexDim;

enum class TypeKind : uint8_t {
  Error,  ///< an error that has been reported; compatible with every type, so that nothing more is
          ///< reported
  IntLiteral,    ///< never a final type
  FloatLiteral,  ///< never a final type
  Value,         ///< a scalar if `ranges` is empty, otherwise a tile
  Tensor,
  Range,    ///< the type of a Range entity
  Pipe,     ///< the type of a Pipe entity
  Tuple,    ///< a tuple of `parts`; its ranges are the ranges of all elements
  Nothing,  ///< the type of a call without a result
  String,
};

struct Type {
  TypeKind kind = TypeKind::Error;
  Scalar scalar = Scalar::I32;        ///< only for Value, Tensor and Pipe
  std::vector<const Entity*> ranges;  ///< Value: ascending by Entity::number, without duplicates
  std::vector<Size> dims;             ///< Tensor: outermost first; Pipe: in the order of
                                      ///< declaration
  /// Tensor: if its elements have 4 bits, their type; `scalar` and `dims` are those of its bytes.
  std::optional<syntax::FourBitType> four_bit{};
  Size elements_in_row = nullptr;  ///< the number of these elements in the last dimension
  std::vector<Type> parts;         ///< Tuple: values, or literals that have no final type yet

  bool operator==(const Type&) const = default;
  bool is_error() const { return kind == TypeKind::Error; }
  bool is_literal() const { return kind == TypeKind::IntLiteral || kind == TypeKind::FloatLiteral; }
  bool is_value() const { return kind == TypeKind::Value; }
  bool is_scalar() const { return is_value() && ranges.empty(); }
  bool is_tuple() const { return kind == TypeKind::Tuple; }
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  /// Returns the number of elements of a tensor along a dimension.
  Size SizeOf(size_t dim) const {
    return four_bit && dim + 1 == dims.size() ? elements_in_row : dims[dim];
  }
};

/// Returns the type as messages show it: `f32`, `f32[i, j]`, `i32 literal`.
std::string ToString(const Type& type);

/// The indices of a Range. If the range covers a whole dimension 0..domain, `domain` is set. Otherwise, it
/// has the bounds `lo` (0 if null) and `hi`, or it splits `parent`. In a contract, only `domain` is set.
struct RangeFacts {
  /// For blocks: their size, which consists of constants and integer parameters. For a range of a fn: the
  /// extent of the pipe dimension for which it is used, or null if any extent is allowed.
  Size extent = nullptr;
  Size domain = nullptr;
  const syntax::Expr* lo = nullptr;
  const syntax::Expr* hi = nullptr;
  const Entity* parent = nullptr;
  /// For `range d in D max m`: one block covers the whole range, and the launch fails if domain > `extent`.
  bool whole = false;
  /// For `range p over i + r in H`: the sum after `over`, which consists of ranges and sizes. The range has
  /// the values of this sum for the current blocks. If `hi` is set, only those from 0 to hi - 1 exist.
  const IndexDim* window = nullptr;
};

/// What a loop variable or a dimension of a domain iterates over: the blocks of a range, or single indices.
struct WalkFacts {
  bool blocked = false;
  RangeFacts range;                  ///< only if blocked
  const syntax::Expr* lo = nullptr;  ///< the lower bound, if not blocked
  const syntax::Expr* hi = nullptr;
  const syntax::Expr* step = nullptr;  ///< null means 1
};

/// How a dimension of a tensor is distributed over the ranks of a device.
struct DistributedDim {
  int64_t axis = -1;  ///< the axis of the grid of ranks, or -1 if the dimension is not distributed
  int64_t block =
      0;  ///< the length of the blocks that the ranks own in turn; 0: they own adjacent indices
};
/// The dimensions of a tensor; empty if it is not distributed.
using Distribution = std::vector<DistributedDim>;

enum class DeviceForm : uint8_t { Promise, Target, Select, Fallback, Alias, Ranks };
struct DeviceOption {
  Name key;
  std::string value;
};
/// A description of a device: `target("dsp", seed = "7")[1]`, `select(…)`, `fallback(cpu)`, `cpu` or `ranks(2, 4)`.
struct DeviceSpec {
  DeviceForm form = DeviceForm::Promise;
  std::string target;
  std::vector<DeviceOption> options;
  uint32_t ordinal = 0;
  std::vector<DeviceSpec> alternatives;  ///< for Select
  const Entity* of = nullptr;            ///< for Fallback and Alias: the other device
  /// For Ranks: the number of ranks along each axis of their grid. Empty if there is one axis with all ranks.
  std::vector<int64_t> shape;
};

/// Something that has a name. Entities are owned by an arena and compared by address. If only some kinds of
/// entities use a member, its comment begins with these kinds.
struct Entity {
  EntityKind kind;
  Name name;
  Span span;
  /// Entities are numbered consecutively in source order: items within the module, all others within their
  /// function.
  uint32_t number = 0;
  Type type;  ///< for an Auxiliary, a Tensor of f64, i64 or bool
  /// The value as a size: the symbol of a SizeName or IntGeneric, the value of an integer Const, or the
  /// value of a Let that is a size.
  Size size = nullptr;
  /// Const: if its type is a Tensor, the entity is a table, and these are the bits of its elements. LocalTensor: the
  /// bits of the elements that its declaration lists; otherwise empty. The last dimension varies fastest.
  std::vector<uint64_t> elements;
  RangeFacts range;                  ///< only for a Range
  const syntax::Expr* lo = nullptr;  ///< ScalarBinder: the lower bound
  const syntax::Expr* hi = nullptr;
  const syntax::Expr* step = nullptr;  ///< ScalarBinder; null means 1
  /// Range, ScalarBinder: the Domain over which the loop iterates, or null. TensorParam, LocalTensor: if
  /// the entity is a view, the tensor whose memory it shares; otherwise null.
  const Entity* of = nullptr;
  uint32_t position = 0;         ///< Range, ScalarBinder: the index of the dimension of that Domain
  std::vector<WalkFacts> walks;  ///< Domain: one for each of its dimensions
  int64_t depth = 1;             ///< Pipe: the value of `@depth`
  /// Pipe: the end that a fn accepts, Push or Pop. For a kernel's own pipe, which has both ends, it
  /// is `In`.
  syntax::Direction end = syntax::Direction::In;
  /// TensorParam, ScalarParam, TileParam, Pipe: the index of the parameter. For a view, the index of the
  /// parameter whose memory the view shares.
  uint32_t param = 0;
  /// TensorParam: it is optional, and absent in this instance. SizeName: only absent parameters have this size,
  /// which is 0. LocalTensor: the argument `none` of a launch.
  bool is_absent = false;
  bool is_pack = false;  ///< SizeName: the product of the sizes of a pack of dimensions, `A..`
  const Entity* on = nullptr;  ///< TensorParam, LocalTensor: its Device, or null
  Distribution distribution;   ///< TensorParam, LocalTensor: over the ranks of `on`
  bool in_spmd = false;        ///< Range, ScalarBinder: it is the variable of an `spmd for`
  /// Let, Var: its declaration, if only a literal determines its type.
  const syntax::LetStmt* of_literal = nullptr;
  const syntax::FunctionItem* function = nullptr;  ///< only for a Fn, Kernel or Program
  DeviceSpec device;                               ///< only for a Device
  /// Device, Fn: the prefix of its file, such as `std::nn::`.
  std::string_view prefix;
  const FileState* file = nullptr;  ///< Import: the imported file
};

struct TypeBinding {
  const Entity* generic = nullptr;  ///< a TypeGeneric
  Scalar scalar = Scalar::F32;
};
/// A function parameter, the fn that it is in this instance, and the types that its declaration states.
struct FunctionBinding {
  const Entity* generic = nullptr;   ///< a FnGeneric
  const Entity* function = nullptr;  ///< a Fn
  std::vector<Scalar> params;
  Scalar result = Scalar::F32;
  /// Returns the name of the fn with the prefix of its file.
  std::string Text() const;
};

/// Returns the tensor whose memory a view shares. Follows views of views. Returns the tensor itself if it
/// is not a view.
inline const Entity* ShownTensor(const Entity* tensor) {
  auto is_tensor = [&] {
    return tensor->kind == EntityKind::TensorParam || tensor->kind == EntityKind::LocalTensor;
  };
  while (is_tensor() && tensor->of != nullptr) tensor = tensor->of;
  return tensor;
}

}  // namespace kdl::sema
