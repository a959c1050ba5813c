#include "targets/cpu/own_blocks.h"

#include <algorithm>
#include <string>

#include "passes/rewriting/structured.h"
#include "targets/cpu/walks.h"

namespace kdl::cpu {

std::optional<size_t> FreeBinderOf(const ir::Function& kernel, const ir::Op* spmd,
                                   ir::AxisId axis) {
  const auto& binders = spmd->region()->params();
  for (size_t b = 0; b < binders.size(); ++b) {
    ir::Type type = binders[b]->type();
    if (type->kind == ir::TypeKind::Block && type->axes[0] == axis && IsFree(kernel, binders[b]))
      return b;
  }
  return std::nullopt;
}

ir::Axis AxisLike(ir::Module& module, const ir::Function& kernel, ir::AxisId axis,
                  std::string_view suffix, int64_t extent) {
  ir::Axis like = kernel.axis(axis);
  like.name = module.context().names.Intern(like.name.str() + std::string(suffix));
  like.extent = module.types().sizes().Constant(extent);
  return like;
}

bool TilesStayInCache(const KernelShape& kernel, const ir::Op* spmd,
                      const std::map<ir::AxisId, int64_t>& extents,
                      const std::vector<const ir::Op*>& passing) {
  auto stays = [&](const ir::Value* tile) {
    if (!IsTileValue(tile)) return true;
    auto before = static_cast<double>(Bytes(tile->type()->scalar));
    double bytes = before;
    for (ir::AxisId axis : tile->type()->axes) {
      auto own = extents.find(axis);
      int64_t extent = kernel.Extent(axis);
      before *= static_cast<double>(extent);
      bytes *= static_cast<double>(own == extents.end() ? extent : own->second);
    }
    return bytes <= std::max(before, static_cast<double>(kernel.facts.l2_bytes));
  };
  bool all = true;
  ir::Walk(spmd->region(), [&](const ir::Op* op) {
    if (!Contains(passing, op)) all = all && std::ranges::all_of(op->results(), stays);
  });
  return all;
}

ir::Op* SplitOff(ir::Builder& b, ir::Op* spmd, ir::Value* condition,
                 const passes::OtherAxes& others) {
  ir::Op* branch = passes::MakeBranch(b, condition);
  b.SetInsertionPoint(branch->region(0)->terminator());
  ir::ValueMap map;
  ir::Op* copy = ir::Clone(spmd, b, map);
  others.Retype(b.types(), copy);
  passes::MoveInto(branch->region(1), spmd);
  return copy;
}

}  // namespace kdl::cpu
