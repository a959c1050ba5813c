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

/// An axis of one function: its index in Function::axes.
using AxisId = Id<struct AxisTag>;

using kdl::Scalar;
using kdl::Size;
using kdl::SizeKind;

enum class TypeKind : uint8_t {
  Tile,  ///< a value on a core: one element for each point of its axes; a scalar if it has no axes
  Tensor,      ///< memory of a device, row-major, innermost stride 1
  Block,       ///< the run-time properties of one block of an axis: start, size, index
  TileBuffer,  ///< schedule level: per-core scratch that stores tiles over its axes
  Buffer,      ///< loop level: per-core scratch, row-major, constant extents
  Vector,      ///< loop level: a fixed number of lanes, each a scalar
  Event,       ///< programs: the end of a launch or a transfer
  Pipe,        ///< a queue of tiles between two stages of a core
  Workspace,   ///< memory of one instance of a kernel, which contains the rings of its pipes
};

/// Who can access a buffer.
enum class Space : uint8_t {
  Scratch,    ///< only one GPU thread
  Workgroup,  ///< all GPU threads of a workgroup
};

struct TypeNode {
  TypeKind kind;
  Scalar scalar = Scalar::I64;
  /// For Tile: ascending, because the order of dimensions cannot be observed. For Block: one. For TileBuffer: outermost
  /// first.
  std::vector<AxisId> axes;
  /// For Tensor, Buffer and Pipe: outermost first. For Vector: one, which is the number of lanes.
  std::vector<Size> dims;
  /// TileBuffer: the last axis is divided into panels of this many elements, a power of two, which are stored one
  /// after the other. 0: it is not divided.
  int64_t panel = 0;
  /// TileBuffer: the number of unused elements after each row of the last axis. With panels: the number of unused
  /// rows of a panel, after those of the axis before the last.
  int64_t pad = 0;
  /// TileBuffer: a power of two. This many neighbours along the last axis form a group; with panels, along the axis
  /// before it, whose neighbours are then adjacent in memory. The group of a block's last element is filled
  /// with +0.
  int64_t group = 1;
  Space space = Space::Scratch;  ///< only for Buffer
};
/// Interned: equal types have equal addresses.
using Type = const TypeNode*;

inline bool IsScalar(Type type) { return type->kind == TypeKind::Tile && type->axes.empty(); }
inline bool IsTile(Type type) { return type->kind == TypeKind::Tile; }
inline bool IsVector(Type type) { return type->kind == TypeKind::Vector; }
/// Returns the number of scalars in a scalar (1) or a vector.
inline int64_t Lanes(Type type) { return IsVector(type) ? type->dims[0]->value : 1; }

/// Owns and interns types and the sizes in them. There is one table for each compilation; everything made
/// from it lives as long as the table.
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
  /// The dims are the extents of the tiles in the pipe: constants after tiles have been selected.
  Type Pipe(Scalar scalar, std::vector<Size> dims);
  Type Workspace();
  /// A vector of `lanes` elements, or the scalar type if that is 1.
  Type Vector(Scalar scalar, int64_t lanes);

 private:
  Type Intern(TypeNode node);

  SizeTable sizes_;
  std::vector<std::unique_ptr<TypeNode>> types_;
  std::unordered_map<std::string, Type> type_index_;
};

/// Returns the axes of both lists, ascending and each once: the axes of an elementwise result.
std::vector<AxisId> UnionAxes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

/// Returns the elements of `axes` that are not in `others`, in their order.
std::vector<AxisId> WithoutAxes(const std::vector<AxisId>& axes, const std::vector<AxisId>& others);

}  // namespace kdl::ir
