#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/id.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::ir {

/// An axis of one function: its number in Function::axes.
using AxisId = Id<struct AxisTag>;

using kdl::Scalar;
using kdl::Size;
using kdl::SizeKind;

enum class TypeKind : uint8_t {
  Tile,  ///< a value on a core: one element for each point of its axes; without axes it is a scalar
  Tensor,      ///< memory of a device, row-major, innermost stride 1
  Block,       ///< the run-time facts of one block of an axis: start, size, index
  TileBuffer,  ///< schedule level: per-core scratch where tiles over its axes live
  Buffer,      ///< loop level: per-core scratch, row-major, constant extents
  Vector,      ///< loop level: a fixed number of lanes, each a scalar
  Event,       ///< programs: the end of a launch or a transfer
  Pipe,        ///< a queue of tiles between two stages of a core
  Workspace,   ///< memory of one instance of a kernel, where the rings of its pipes lie
};

/// Whose a buffer is.
enum class Space : uint8_t {
  Scratch,    ///< a worker's own
  Workgroup,  ///< one for all workers of a core
};

struct TypeNode {
  TypeKind kind;
  Scalar scalar = Scalar::I64;
  std::vector<AxisId>
      axes;  ///< Tile: ascending, the order of dimensions cannot be observed; Block: one; TileBuffer: outermost first
  std::vector<Size>
      dims;  ///< Tensor, Buffer, Pipe: outermost first; Vector: one, the number of lanes
  /// TileBuffer: so many elements of the last axis stand together, and these panels one after the other, a power of two; 0: the
  /// axis is in one piece.
  int64_t panel = 0;
  /// TileBuffer: elements that are nobody's, after each row of the last axis; in panels whole rows of one, after those of the axis
  /// before it.
  int64_t pad = 0;
  /// TileBuffer: a power of two. So many neighbours along the last axis, in panels along the one before it, which stand side by side
  /// then, make a group; after the block's last element its group is filled with +0.
  int64_t group = 1;
  Space space = Space::Scratch;  ///< Buffer
};
/// Interned: equal means same pointer.
using Type = const TypeNode*;

inline bool IsScalar(Type type) { return type->kind == TypeKind::Tile && type->axes.empty(); }
inline bool IsTile(Type type) { return type->kind == TypeKind::Tile; }
inline bool IsVector(Type type) { return type->kind == TypeKind::Vector; }
/// How many scalars a scalar (1) or a vector holds.
inline int64_t Lanes(Type type) { return IsVector(type) ? type->dims[0]->value : 1; }

/// Owns and interns types, and the sizes in them. One table a compile; everything made from it lives as long.
class TypeTable {
 public:
  TypeTable() = default;
  TypeTable(const TypeTable&) = delete;
  TypeTable& operator=(const TypeTable&) = delete;

  SizeTable& sizes() { return sizes_; }
  Type ScalarOf(Scalar scalar) { return Tile(scalar, {}); }
  Type Tile(Scalar scalar, std::vector<AxisId> axes);
  Type Tensor(Scalar scalar, std::vector<Size> dims);
  Type Block(AxisId axis);
  Type TileBuffer(Scalar scalar, std::vector<AxisId> axes, int64_t panel, int64_t pad,
                  int64_t group = 1);
  Type Buffer(Scalar scalar, std::vector<int64_t> extents, Space space = Space::Scratch);
  Type Event();
  /// Its extents are those of a tile that travels: constants once tiles are selected.
  Type Pipe(Scalar scalar, std::vector<Size> dims);
  Type Workspace();
  /// `lanes` of a scalar; the scalar's own type where that is 1.
  Type Vector(Scalar scalar, int64_t lanes);

 private:
  Type Intern(TypeNode node);

  SizeTable sizes_;
  std::vector<std::unique_ptr<TypeNode>> types_;
  std::unordered_map<std::string, Type> type_index_;
};

/// The axes of both, ascending, each once: the axes of an elementwise result.
std::vector<AxisId> UnionAxes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

/// The axes that are not among the others, in their order.
std::vector<AxisId> WithoutAxes(const std::vector<AxisId>& axes, const std::vector<AxisId>& others);

}  // namespace kdl::ir
