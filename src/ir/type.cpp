#include "ir/type.h"

#include "support/contains.h"

#include <fmt/format.h>

#include <algorithm>

namespace kdl::ir {

Type TypeTable::Intern(TypeNode node) {
  std::string key =
      fmt::format("{} {}", static_cast<int>(node.kind), static_cast<int>(node.scalar));
  for (AxisId axis : node.axes) key += fmt::format(" a{}", axis.value);
  for (Size size : node.dims) key += fmt::format(" {}", static_cast<const void*>(size));
  if (node.space != Space::Scratch) key += " workgroup";
  if (node.panel || node.pad) key += fmt::format(" p{} {} {}", node.panel, node.pad, node.group);
  auto [slot, is_new] = type_index_.try_emplace(std::move(key), nullptr);
  if (is_new) {
    types_.push_back(std::make_unique<TypeNode>(std::move(node)));
    slot->second = types_.back().get();
  }
  return slot->second;
}

Type TypeTable::Tile(Scalar scalar, std::vector<AxisId> axes) {
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return Intern({TypeKind::Tile, scalar, std::move(axes), {}});
}

Type TypeTable::Tensor(Scalar scalar, std::vector<Size> dims) {
  return Intern({TypeKind::Tensor, scalar, {}, std::move(dims)});
}

Type TypeTable::Block(AxisId axis) { return Intern({TypeKind::Block, Scalar::I64, {axis}, {}}); }

Type TypeTable::TileBuffer(Scalar scalar, std::vector<AxisId> axes, int64_t panel, int64_t pad,
                           int64_t group) {
  return Intern({TypeKind::TileBuffer, scalar, std::move(axes), {}, panel, pad, group});
}

Type TypeTable::Buffer(Scalar scalar, std::vector<int64_t> extents, Space space) {
  std::vector<Size> dims;
  for (int64_t extent : extents) dims.push_back(sizes_.Constant(extent));
  return Intern({TypeKind::Buffer, scalar, {}, std::move(dims), 0, 0, 1, space});
}

Type TypeTable::Vector(Scalar scalar, int64_t lanes) {
  if (lanes == 1) return ScalarOf(scalar);
  return Intern({TypeKind::Vector, scalar, {}, {sizes_.Constant(lanes)}});
}

Type TypeTable::Event() { return Intern({TypeKind::Event, Scalar::I64, {}, {}}); }

Type TypeTable::Pipe(Scalar scalar, std::vector<Size> dims) {
  return Intern({TypeKind::Pipe, scalar, {}, std::move(dims)});
}

Type TypeTable::Workspace() { return Intern({TypeKind::Workspace, Scalar::U8, {}, {}}); }

std::vector<AxisId> UnionAxes(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  std::vector<AxisId> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

std::vector<AxisId> WithoutAxes(const std::vector<AxisId>& axes,
                                const std::vector<AxisId>& others) {
  std::vector<AxisId> left;
  for (AxisId axis : axes) {
    if (!Contains(others, axis)) left.push_back(axis);
  }
  return left;
}

}  // namespace kdl::ir
