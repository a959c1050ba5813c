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
  Tile,  ///< a value on a core, with one element for each point of its axes; a scalar if it has no axes
  Tensor,  ///< device memory, row-major, innermost stride 1
  Block,   ///< the run-time properties of one block of an axis: start, size, index
  TileBuffer,  ///< between tile and loop level: scratch memory of a core that stores tiles over its axes
  Buffer,     ///< loop level: scratch memory, row-major, with constant extents
  Vector,     ///< loop level: a fixed number of lanes, each a scalar
  Event,      ///< programs: the completion of a launch or a transfer
  Pipe,       ///< a queue of tiles between two stages of a core
  Workspace,  ///< the memory of one instance of a kernel, which contains the ring buffers of its pipes
};

/// Says which threads can access a buffer.
enum class Space : uint8_t {
  Scratch,    ///< one GPU thread only
  Workgroup,  ///< all GPU threads of a workgroup
};

struct TypeNode {
  TypeKind kind;
  Scalar scalar = Scalar::I64;
  /// For Tile: in ascending order, because the order of dimensions cannot be observed. For Block: exactly one
  /// axis. For TileBuffer: outermost first.
  std::vector<AxisId> axes;
  /// For Tensor, Buffer and Pipe: the extents, outermost first. For Vector: only the number of lanes.
  std::vector<Size> dims;
  /// For TileBuffer: the last axis is divided into panels of this number of elements, which is a power of
  /// two. Panels are stored one after another. If 0, the axis is not divided.
  int64_t panel = 0;
  /// For TileBuffer: the number of unused elements after each row of the last axis. With panels, it is the
  /// number of unused rows in each panel, which follow the rows of the second-to-last axis.
  int64_t pad = 0;
  /// For TileBuffer: the number of neighbors that form a group; a power of two. They are neighbors along the
  /// last axis or, with panels, along the second-to-last axis; in the latter case, they are adjacent in
  /// memory. The group that contains a block's last element is filled up with +0.
  int64_t group = 1;
  Space space = Space::Scratch;  ///< only for Buffer
};
/// Interned: equal types have equal addresses.
using Type = const TypeNode*;

inline bool IsScalar(Type type) { return type->kind == TypeKind::Tile && type->axes.empty(); }
inline bool IsTile(Type type) { return type->kind == TypeKind::Tile; }
inline bool IsVector(Type type) { return type->kind == TypeKind::Vector; }
/// Returns the number of scalars in a value of this type: 1 for a scalar, the number of lanes for a vector.
inline int64_t Lanes(Type type) { return IsVector(type) ? type->dims[0]->value : 1; }

/// Owns and interns types and the sizes in them. Each compilation has one table. Types and sizes exist as
/// long as the table that created them.
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
  /// Returns the type of a pipe. `dims` are the extents of its tiles, which are constants after the pass
  /// select-tiles.
  Type Pipe(Scalar scalar, std::vector<Size> dims);
  Type Workspace();
  /// Returns the type of a vector of `lanes` elements, or the scalar type if `lanes` is 1.
  Type Vector(Scalar scalar, int64_t lanes);

 private:
  Type Intern(TypeNode node);

  SizeTable sizes_;
  std::vector<std::unique_ptr<TypeNode>> types_;
  std::unordered_map<std::string, Type> type_index_;
};

/// Returns the axes that are in either list, in ascending order and without duplicates. These are the axes
/// of an elementwise result.
std::vector<AxisId> UnionAxes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

/// Returns the axes in `axes` that are not in `others`, in the order of `axes`.
std::vector<AxisId> WithoutAxes(const std::vector<AxisId>& axes, const std::vector<AxisId>& others);

}  // namespace kdl::ir
